"""What a bundle says about itself: versioned records, validated when decoded."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

VERSION = 1

Sha = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Meta(min_length=1, max_length=400)]
Extent = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Size = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Grid = tuple[Extent, Extent, Extent]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the bundle's records: immutable, strict about unknown fields."""


class InputTensor(Record, tag="input", frozen=True):
    """A tensor that the kernel reads; see ``harness.case.Input``."""

    shape: tuple[Extent, ...]
    dtype: Name
    fill: Literal["data", "positive", "index"] = "data"
    modulo: Extent | None = None
    specials: bool = True
    offset: int = 0


class OutputTensor(Record, tag="output", frozen=True):
    """A tensor that the kernel writes; see ``harness.case.Output``."""

    shape: tuple[Extent, ...]
    dtype: Name
    initial: Literal["poison", "zero"] = "poison"


class Value(Record, tag="scalar", frozen=True):
    """A scalar, passed by value as Triton's type (``i32``, ``fp32``, ...)."""

    triton_type: Name
    value: int | float


class TensorDescriptor(Record, tag="descriptor", frozen=True):
    """A host-made TMA descriptor of a tensor of its own."""

    tensor: InputTensor | OutputTensor


Argument = InputTensor | OutputTensor | Value | TensorDescriptor


class Problem(Record, frozen=True):
    """One launch: the grid in CTAs, and the arguments in the order the kernel takes them."""

    grid: Grid
    arguments: dict[str, Argument]

    def tensors(self) -> dict[str, InputTensor | OutputTensor]:
        """The tensors behind the arguments, by argument name."""
        found: dict[str, InputTensor | OutputTensor] = {}
        for name, argument in self.arguments.items():
            if isinstance(argument, TensorDescriptor):
                found[name] = argument.tensor
            elif not isinstance(argument, Value):
                found[name] = argument
        return found

    def inputs(self) -> dict[str, InputTensor]:
        """The tensors that the kernel reads."""
        return {n: t for n, t in self.tensors().items() if isinstance(t, InputTensor)}

    def outputs(self) -> dict[str, OutputTensor]:
        """The tensors that the kernel writes."""
        return {n: t for n, t in self.tensors().items() if isinstance(t, OutputTensor)}


class DescriptorLayout(msgspec.Struct, frozen=True):
    """How the compiled code expects one TMA descriptor (``tensordesc_meta``)."""

    swizzle: Annotated[int, Meta(ge=0, le=6)]
    elem_size: Annotated[int, Meta(ge=1, le=16)]
    elem_type: Annotated[int, Meta(ge=0, le=15)]
    block_size: tuple[Extent, ...]
    fp4_padded: bool = False
    is_im2col: bool = False


class LaunchMetadata(msgspec.Struct, frozen=True):
    """What a toolchain says about launching its binary; other fields of its JSON are ignored.

    Sizes are bytes; scratch sizes are per CTA. ``num_warps`` counts the warps of all
    warp-specialised partitions.
    """

    name: Name
    num_warps: Annotated[int, Meta(ge=1, le=64)]
    shared: Size
    num_ctas: Annotated[int, Meta(ge=1, le=64)] = 1
    cluster_dims: tuple[Extent, Extent, Extent] | None = None
    warp_size: Annotated[int, Meta(ge=1, le=64)] = 32
    tmem_size: Size | None = 0
    global_scratch_size: Size = 0
    global_scratch_align: Extent = 1
    profile_scratch_size: Size = 0
    profile_scratch_align: Extent = 1
    tensordesc_meta: tuple[DescriptorLayout | None, ...] | None = None
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False

    @property
    def cluster(self) -> tuple[int, int, int]:
        """CTAs per cluster. Triton's ``num_ctas`` clusters along x; TLX states all three."""
        if self.num_ctas > 1:
            return (self.num_ctas, 1, 1)
        return self.cluster_dims or (1, 1, 1)

    def differences(self, other: LaunchMetadata) -> dict[str, tuple[str, str]]:
        """The launch properties in which two sides differ, as text of each."""
        mine, others = ({**msgspec.structs.asdict(m), "cluster": m.cluster} for m in (self, other))
        ignored = ("num_ctas", "cluster_dims")  # both are in ``cluster``
        return {
            name: (str(mine[name]), str(others[name]))
            for name in mine
            if name not in ignored and (mine[name] or None) != (others[name] or None)
        }


class Side(Record, frozen=True):
    """One toolchain's binary of a case, and how to launch it."""

    role: Name
    binary: Sha
    metadata: LaunchMetadata


class Reference(Record, frozen=True):
    """What an output must be: two float64 arrays of the output's shape (objects)."""

    value: Sha
    bound: Sha


class Trial(Record, frozen=True):
    """One input distribution: the seed, the hash of each input's bits, and the references."""

    distribution: Name
    seed: Annotated[int, Meta(ge=0)]
    inputs: dict[str, Sha]
    references: dict[str, Reference]


class BundledCase(Record, frozen=True):
    """A case to launch: the checking problem, the timing one, both sides, the trials.

    ``omitted`` says of each distribution that is not tried why not.
    """

    id: Name
    target: Name
    check: Problem
    speed: Problem
    sides: Annotated[tuple[Side, ...], Meta(min_length=2, max_length=2)]
    trials: tuple[Trial, ...]
    omitted: dict[str, str] = msgspec.field(default_factory=dict)


class ToolchainStamp(Record, frozen=True):
    """Which toolchain a role was: its fingerprint and distributions (``name==version``)."""

    fingerprint: str
    distributions: tuple[str, ...]


class Manifest(Record, frozen=True):
    """The whole bundle; ``objects`` maps the hash of each stored object to its size in bytes.

    ``skipped`` says of each case that was asked for and is not in the bundle why not.
    """

    version: int
    toolchains: dict[str, ToolchainStamp]
    cases: tuple[BundledCase, ...]
    objects: dict[Sha, Annotated[int, Meta(ge=0, le=256 << 20)]]
    skipped: dict[str, str] = msgspec.field(default_factory=dict)
