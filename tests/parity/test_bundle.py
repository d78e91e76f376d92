"""Bundles: what goes in comes out; what is damaged, hostile or foreign is refused in one line."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.case import Expected, Input, Launch, Output, Scalar
from harness.errors import HarnessError
from harness.parity import bundle as bundles
from harness.parity import formats, inputs, truth
from harness.parity.build import write_bundle
from harness.parity.bundle import Bundle
from harness.parity.manifest import Manifest

Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture
def path(compiled: Callable[..., object], bundle_of: Callable[..., Path]) -> Path:
    return bundle_of(compiled("a", "add_one", "add_two"), compiled("b", "add_one", "add_one"))


def _members(path: Path) -> Members:
    with tarfile.open(path) as tar:
        found = []
        for info in tar:
            file = tar.extractfile(info)
            assert file is not None
            found.append((info, file.read()))
        return found


def _rewrite(path: Path, members: Members) -> None:
    with tarfile.open(path, "w") as tar:
        for info, data in members:
            if info.isreg():
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def _with_manifest(path: Path, change: Callable[[dict], None]) -> None:  # type: ignore[type-arg]
    """Rewrite the manifest consistently, as a hostile writer would."""
    members = _members(path)
    contents = msgspec.json.decode(members[0][1])
    change(contents)
    text = msgspec.json.encode(contents)
    sha = hashlib.sha256(text).hexdigest().encode()
    _rewrite(path, [(members[0][0], text), (members[1][0], sha), *members[2:]])


def test_round_trip_and_same_bytes_again(path, compiled, bundle_of) -> None:
    with Bundle(path) as bundle:
        assert [case.id for case in bundle.manifest.cases] == [
            "family/a/fp32@cuda:90",
            "family/b/fp32@cuda:90",
        ]
        case = bundle.case("family/a/fp32@cuda:90")
        assert [bundle.read(side.binary) for side in case.sides] == [b"add_one", b"add_two"]
        assert list(case.check.arguments) == ["x_ptr", "y_ptr", "n"]
        trial = case.trials[0]
        made = inputs.generate_all(case.id, case.check, trial.distribution, trial.seed)
        reference = trial.references["y_ptr"]
        shape = case.check.outputs()["y_ptr"].shape
        value = bundle.array(reference.value, shape)
        bound = bundle.array(reference.bound, shape)
        truth = formats.decode(made["x_ptr"], formats.find("fp32")) + 1.0
        assert np.all(np.abs(value - truth) <= bound)
        assert np.all(bound <= np.abs(truth) * 2.0**-24 * 1.01)
    before = path.read_bytes()
    bundle_of(compiled("a", "add_one", "add_two"), compiled("b", "add_one", "add_one"))
    assert path.read_bytes() == before


@given(
    st.lists(
        st.floats(width=64) | st.sampled_from([0.0, -0.0, float("nan")]), min_size=1, max_size=30
    )
)
def test_arrays_survive_bit_for_bit(values: list[float]) -> None:
    array = np.array(values)
    planes = np.frombuffer(bundles.array_bytes(array), np.uint8).reshape(8, -1)
    assert np.ascontiguousarray(planes.T).tobytes() == array.astype("<f8").tobytes()


def test_hundred_gemms_stay_small() -> None:
    """The references of a 200 x 208 output take about 4 bytes an element and distribution."""
    generator = np.random.default_rng(0)
    left, right = generator.standard_normal((200, 368)), generator.standard_normal((368, 208))
    value = left @ right
    bound = 2 * 368 * 2.0**-23 * (abs(left) @ abs(right)) + 2.0**-11 * abs(value)
    settled = truth.settle(value, bound, formats.find("fp16"), exact=False)
    packed = sum(len(zlib.compress(bundles.array_bytes(array), 9)) for array in settled)
    assert packed < 4 * value.size


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_noticed_or_harmless(path: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Flipped bytes, cut files: a HarnessError, or exactly the same contents."""
    whole = path.read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(whole)]) | st.integers(0, len(whole)))
    other = tmp_path / "damaged.tar"
    other.write_bytes(damaged[:end])
    assert _refused(other) or _same_contents(other, path)


def _refused(path: Path) -> bool:
    try:
        Bundle(path).__exit__()
    except HarnessError as problem:
        return str(path) in problem.thing and bool(problem.way_out)
    return False


def _same_contents(path: Path, original: Path) -> bool:
    with Bundle(path) as mine, Bundle(original) as other:
        return all(mine.read(sha) == other.read(sha) for sha in other.manifest.objects) and (
            mine.manifest == other.manifest
        )


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "objects/../x", "run.py"])
def test_foreign_names_are_refused(path: Path, name: str) -> None:
    _rewrite(path, [*_members(path), (tarfile.TarInfo(name), b"x")])
    with pytest.raises(HarnessError, match="which no bundle holds"):
        Bundle(path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, b"S"])
def test_links_and_devices_are_refused(path: Path, kind: bytes) -> None:
    members = _members(path)
    info = tarfile.TarInfo(members[-1][0].name)
    info.type, info.linkname = kind, "/etc/passwd"
    _rewrite(path, [*members[:-1], (info, b"")])
    with pytest.raises(HarnessError, match=r"no bundle holds|truncated"):
        Bundle(path)


def test_a_member_twice_is_refused(path: Path) -> None:
    members = _members(path)
    _rewrite(path, [*members, members[-1]])
    with pytest.raises(HarnessError, match="twice"):
        Bundle(path)


def test_a_bomb_is_not_unpacked(path: Path) -> None:
    """An object that unpacks to a gigabyte is stopped at the size that it states."""
    members = _members(path)
    bomb = zlib.compress(bytes(1 << 20), 9)
    _rewrite(path, [*members[:-1], (members[-1][0], bomb)])
    with pytest.raises(HarnessError, match="not what its hash says"):
        Bundle(path)


def test_a_missing_object_is_named(path: Path) -> None:
    _rewrite(path, _members(path)[:-1])
    with pytest.raises(HarnessError, match=r"object \w+ is missing"):
        Bundle(path)


def test_another_version_is_named(path: Path) -> None:
    _with_manifest(path, lambda contents: contents.update(version=99, new_field=[1]))
    with pytest.raises(HarnessError, match="has version 99, this tool reads 1"):
        Bundle(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["cases"][0]["check"].update(grid=[0, 1, 1]),
        lambda m: m["cases"][0]["check"].update(grid=[2**40, 1, 1]),
        lambda m: m["cases"][0]["check"]["arguments"]["y_ptr"].update(shape=[-1]),
        lambda m: m["cases"][0]["sides"][0].update(binary="../../etc/passwd"),
        lambda m: m["cases"][0]["sides"][0]["metadata"].update(num_warps=10**6),
        lambda m: m["objects"].update({"0" * 64: 2**40}),
        lambda m: m.update(surprise=1),
        lambda m: m.pop("cases"),
    ],
)
def test_malformed_manifests_are_refused(path: Path, change: Callable[[dict], None]) -> None:  # type: ignore[type-arg]
    _with_manifest(path, change)
    with pytest.raises(HarnessError, match="manifest is malformed"):
        Bundle(path)


def test_references_of_the_wrong_size_are_refused(path: Path) -> None:
    def change(contents: dict) -> None:  # type: ignore[type-arg]
        case = contents["cases"][0]
        case["check"]["arguments"]["y_ptr"]["shape"] = [10**9, 10**9]

    _with_manifest(path, change)
    with pytest.raises(HarnessError, match="the reference of 'y_ptr' is off"):
        Bundle(path)


def test_objects_that_nothing_needs_are_refused(path: Path) -> None:
    _with_manifest(path, lambda contents: contents["objects"].update({"0" * 64: 1}))
    with pytest.raises(HarnessError, match="list of objects is off"):
        Bundle(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "empty file"), (b"hello", "truncated, or not a bundle"), (None, "No such file")],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.tar"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HarnessError, match=message):
        Bundle(path)


def test_a_manifest_survives_json(path: Path) -> None:
    with Bundle(path) as bundle:
        again = msgspec.json.decode(msgspec.json.encode(bundle.manifest), type=Manifest)
        assert again == bundle.manifest


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"launch": lambda s, p: 1 / 0}, "launch: raised ZeroDivisionError"),
        ({"reference": lambda s, p, i: {}}, r"gives \[\], the outputs are \['y_ptr'\]"),
        (
            {"reference": lambda s, p, i: {"y_ptr": Expected(np.zeros(3), 0.0)}},
            r"y_ptr has the shape \(3,\), the output \(6, 50\)",
        ),
        (
            {"launch": lambda s, p: Launch((1, 1, 1), {"x_ptr": Input((1,), "fp32")})},
            r"launch gives arguments \['x_ptr'\], the kernel takes \['x_ptr', 'y_ptr', 'n'\]",
        ),
        (
            {
                "launch": lambda s, p: Launch(
                    (1, 1, 1),
                    {"x_ptr": Input((1,), "fp7"), "y_ptr": Output((1,), "fp32"), "n": Scalar(1)},
                )
            },
            "dtype 'fp7'",
        ),
        ({"launch": None}, "states no launch and reference"),
    ],
)
def test_a_bad_case_is_left_out_and_says_why(compiled, store, tmp_path, change, reason) -> None:
    kernel = sample.KERNEL
    bad = type(kernel)(**{**vars(kernel), **change})
    path = tmp_path / "parity.tar"
    contents = write_bundle(
        [compiled("good", "add_one", "add_one"), compiled("bad", "add_one", "add_one", bad)],
        store,
        path,
        {},
    )
    assert [case.id for case in contents.cases] == ["family/good/fp32@cuda:90"]
    assert re.search(reason, contents.skipped["family/bad/fp32@cuda:90"])


def test_nothing_to_bundle_is_an_error(store, tmp_path) -> None:
    with pytest.raises(HarnessError, match="no case was selected"):
        write_bundle([], store, tmp_path / "parity.tar", {})
