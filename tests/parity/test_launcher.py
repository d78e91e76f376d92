"""Arguments as bytes, and launch metadata."""

from __future__ import annotations

import ctypes
import struct

import host_launcher
import msgspec
import pytest

from harness.errors import HarnessError
from harness.parity import launcher
from harness.parity.manifest import (
    DescriptorLayout,
    InputTensor,
    LaunchMetadata,
    OutputTensor,
    Problem,
    TensorDescriptor,
    Value,
)

LAYOUT = DescriptorLayout(swizzle=3, elem_size=2, elem_type=6, block_size=(64, 64))


def _metadata(**more: object) -> LaunchMetadata:
    plain = {"name": "k", "num_warps": 4, "shared": 0, **more}
    return msgspec.convert(plain, LaunchMetadata)


def _bind(arguments: dict[str, object], metadata: LaunchMetadata) -> list[bytes]:
    problem = Problem((1, 1, 1), arguments)  # type: ignore[arg-type]
    addresses = {name: 0x1000 * (n + 1) for n, name in enumerate(problem.tensors())}
    return launcher.bind(problem, metadata, addresses, (0, 0x99), host_launcher.HostLauncher())


def test_pointers_scalars_and_scratch_in_order() -> None:
    packed = _bind(
        {
            "x": InputTensor((4,), "fp16"),
            "n": Value("i32", -5),
            "big": Value("i64", 2**40),
            "flag": Value("i1", 1),
            "unsigned": Value("u32", 2**32 - 1),
            "scale": Value("fp32", 0.5),
            "brain": Value("bf16", 1.0),
            "y": OutputTensor((4,), "fp16"),
        },
        _metadata(),
    )
    assert packed == [
        struct.pack("<Q", 0x1000),
        struct.pack("<i", -5),
        struct.pack("<q", 2**40),
        b"\x01",
        b"\xff\xff\xff\xff",
        struct.pack("<f", 0.5),
        b"\x80\x3f",
        struct.pack("<Q", 0x2000),
        struct.pack("<Q", 0),
        struct.pack("<Q", 0x99),
    ]


def test_a_descriptor_is_followed_by_its_shape_and_strides() -> None:
    tensor = InputTensor((3, 200, 456), "fp16")
    layout = msgspec.structs.replace(LAYOUT, block_size=(1, 64, 64))
    packed = _bind({"d": TensorDescriptor(tensor)}, _metadata(tensordesc_meta=[layout]))
    assert [len(p) for p in packed] == [128, 4, 4, 4, 8, 8, 8, 8, 8]
    assert [struct.unpack("<i", p)[0] for p in packed[1:4]] == [3, 200, 456]
    assert [struct.unpack("<q", p)[0] for p in packed[4:7]] == [200 * 456, 456, 1]


@pytest.mark.parametrize(
    "layouts",
    [
        None,
        [],
        [None],
        [msgspec.structs.replace(LAYOUT, is_im2col=True)],
        [msgspec.structs.replace(LAYOUT, block_size=(64,))],
    ],
)
def test_a_descriptor_that_the_metadata_does_not_describe(layouts: object) -> None:
    with pytest.raises(HarnessError, match="describes no tiled 2-D descriptor"):
        _bind(
            {"d": TensorDescriptor(InputTensor((8, 8), "fp16"))}, _metadata(tensordesc_meta=layouts)
        )


@pytest.mark.parametrize("scalar", [Value("i32", 2**31), Value("void", 1), Value("i8", 1.5)])
def test_a_scalar_that_does_not_fit_is_an_error(scalar: Value) -> None:
    with pytest.raises(HarnessError, match="argument n = "):
        _bind({"n": scalar}, _metadata())


def test_parameters_are_aligned_and_pointed_to() -> None:
    from harness.parity.cuda import parameter_pointers

    arguments = [b"abcd", bytes(range(128)), b"x", b"12345678"]
    _keep, pointers = parameter_pointers(arguments)
    assert all(pointer % 64 == 0 for pointer in pointers)
    assert [
        ctypes.string_at(pointer, len(argument))
        for pointer, argument in zip(pointers, arguments, strict=True)
    ] == arguments


def test_scratch_is_per_cta() -> None:
    metadata = _metadata(global_scratch_size=128, profile_scratch_size=8)
    assert launcher.scratch_bytes(metadata, (4, 3, 2)) == (24 * 128, 24 * 8)


def test_metadata_of_both_toolchains_is_understood() -> None:
    """Fields as the two write them; what is not about launching is ignored."""
    text = (
        b'{"name":"k","num_warps":12,"num_ctas":1,"cluster_dims":null,"warp_size":32,'
        b'"shared":164024,"tmem_size":0,"global_scratch_size":0,"global_scratch_align":1,'
        b'"profile_scratch_size":0,"profile_scratch_align":1,"launch_pdl":false,"other":[1],'
        b'"launch_cooperative_grid":false,"tensordesc_meta":[{"swizzle":3,"elem_size":2,'
        b'"elem_type":6,"block_size":[64,64],"fp4_padded":false,"is_im2col":false}]}'
    )
    metadata = msgspec.json.decode(text, type=LaunchMetadata)
    assert metadata.cluster == (1, 1, 1)
    assert metadata.tensordesc_meta == (LAYOUT,)
    other = msgspec.structs.replace(metadata, cluster_dims=(1, 1, 1), shared=164016)
    assert metadata.differences(other) == {"shared": ("164024", "164016")}
    clustered = msgspec.structs.replace(metadata, num_ctas=2)
    assert metadata.differences(clustered) == {"cluster": ("(1, 1, 1)", "(2, 1, 1)")}
