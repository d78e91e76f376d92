"""What a ``case.py`` says about its kernel: the authoring vocabulary.

A corpus folder holds ``kernel.py`` (TLX source, imported only inside a toolchain) and
``case.py``, which defines ``KERNEL = Kernel(...)`` with the names below and never imports
``triton``. Everything here is plain data that survives JSON, so that a case means the same
thing on every machine.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Constexpr = int | float | bool | str | None | dict[str, str]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")


def dtype(name: str) -> dict[str, str]:
    """A ``triton.language`` dtype as a constexpr value, e.g. ``dtype("float16")``."""
    return {"$dtype": name}


@dataclasses.dataclass(frozen=True)
class Input:
    """A tensor argument that the kernel reads.

    ``shape`` is in elements, row-major and contiguous; ``dtype`` is Triton's short name
    (``fp16``, ``bf16``, ``fp32``, ``fp8e4nv``, ``fp8e5``, ``i8``, ``i32``, ...). ``fill``
    fixes the contents where a kernel's contract needs it: ``"data"`` follows the
    distribution under test, ``"positive"`` its absolute value, ``"index"`` counts
    0, 1, 2, ... modulo ``modulo``, from ``offset`` up. ``specials`` says that NaN, Inf and
    subnormals are within the contract.
    """

    shape: tuple[int, ...]
    dtype: str
    fill: Literal["data", "positive", "index"] = "data"
    modulo: int | None = None
    specials: bool = True
    offset: int = 0

    def __post_init__(self) -> None:
        if self.offset and self.fill != "index":
            raise ValueError(f"fill {self.fill!r} takes no offset, only 'index' does")


@dataclasses.dataclass(frozen=True)
class Output:
    """A tensor argument that the kernel writes in full; poisoned before each launch.

    ``initial="zero"`` is for outputs that the kernel accumulates into.
    """

    shape: tuple[int, ...]
    dtype: str
    initial: Literal["poison", "zero"] = "poison"


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A scalar argument, passed by value with the type that the signature states."""

    value: int | float


@dataclasses.dataclass(frozen=True)
class Descriptor:
    """A host-made TMA descriptor over the tensor argument ``tensor`` (``block`` in elements).

    ``tensor`` is an Input or Output of the descriptor's own; the block shape is what the
    signature's ``tensordesc<...>`` states.
    """

    tensor: Input | Output
    block: tuple[int, ...]


Argument = Input | Output | Scalar | Descriptor


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch: the grid in programs (CTAs, not clusters) and every non-constexpr argument."""

    grid: tuple[int, int, int]
    arguments: Mapping[str, Argument]


@dataclasses.dataclass(frozen=True)
class Expected:
    """What an output must be: ``value`` in float64, and ``bound``, the largest absolute error
    that the kernel's arithmetic allows, element by element or one number for all."""

    value: FloatArray
    bound: FloatArray | float


@dataclasses.dataclass(frozen=True)
class Spec:
    """One specialisation of a kernel.

    ``signature`` maps every non-constexpr parameter to its Triton type (``"*fp16"``,
    ``"i32"``, ``"tensordesc<fp16[64,64]>"``); ``constexprs`` gives the others.
    ``divisible_by_16`` names the parameters hinted with ``tt.divisibility = 16``;
    ``over_2gb`` the pointers whose tensors exceed 2 GB: on AMD every other pointer is hinted
    with ``tt.pointer_range = 32``, as a launch through ``@triton.jit`` hints it.
    ``options`` are compile options (``num_warps``, ``num_stages``, ``ctas_per_cga``, ...).
    ``targets`` narrows the kernel's targets. ``problem`` holds the sizes that ``launch`` and
    ``reference`` use for checking results, ``speed`` those for timing (defaults to ``problem``).
    """

    name: str
    signature: Mapping[str, str]
    constexprs: Mapping[str, Constexpr] = dataclasses.field(default_factory=dict)
    divisible_by_16: Sequence[str] = ()
    over_2gb: Sequence[str] = ()
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    targets: Sequence[str] | None = None
    problem: Mapping[str, int] = dataclasses.field(default_factory=dict)
    speed: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ValueError(
                f"specialisation name {self.name!r} may hold letters, digits and . _ + - only"
            )
        both = set(self.signature) & set(self.constexprs)
        if both:
            raise ValueError(f"{sorted(both)} are both in the signature and constexprs")
        for field in ("divisible_by_16", "over_2gb"):
            unknown = set(getattr(self, field)) - set(self.signature)
            if unknown:
                raise ValueError(f"{field} names {sorted(unknown)}, not in the signature")


LaunchFunction = Callable[[Spec, Mapping[str, int]], Launch]
ReferenceFunction = Callable[
    [Spec, Mapping[str, int], Mapping[str, FloatArray]], Mapping[str, Expected]
]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of the corpus.

    ``function`` is the ``@triton.jit`` function's name in ``kernel.py``. ``targets`` are the
    targets it is meant for, e.g. ``("cuda:90", "hip:gfx950")``; where ``primary`` names some of
    them, only the first specialisation is compiled for the others too (a specialisation whose
    own ``targets`` leave out all of the primary ones is compiled for its first).
    ``launch(spec, problem)`` and ``reference(spec, problem, inputs)`` make it runnable:
    ``inputs`` maps each Input argument to float64 values already rounded to its dtype
    (integers come as exact float64), and the result maps each Output to an :class:`Expected`.
    ``expect="refuse"`` marks a kernel written to be refused by both sides. ``baseline`` marks a
    plain Triton kernel without TLX.
    """

    function: str
    targets: Sequence[str]
    specs: Sequence[Spec]
    launch: LaunchFunction | None = None
    reference: ReferenceFunction | None = None
    expect: Literal["compile", "refuse"] = "compile"
    baseline: bool = False
    primary: Sequence[str] = ()

    def targets_of(self, spec: Spec) -> Sequence[str]:
        """The targets for which a specialisation of this kernel is compiled."""
        allowed = self.targets if spec.targets is None else spec.targets
        if not self.primary or spec is self.specs[0]:
            return allowed
        return [target for target in allowed if target in self.primary] or allowed[:1]

    def __post_init__(self) -> None:
        names = [spec.name for spec in self.specs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"specialisation names repeat: {repeated}")
        if not names:
            raise ValueError("a kernel needs at least one Spec")
        if not set(self.primary) <= set(self.targets):
            raise ValueError(f"primary {list(self.primary)} is not among the targets")
        if not self.targets:
            raise ValueError("a kernel needs at least one target")
