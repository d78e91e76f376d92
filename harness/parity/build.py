"""Bundles from compiled cases: arguments, hashes of inputs, and float64 references.

This is the side with the toolchains; it needs no GPU. The references of a case are computed
here, at its checking size, so that the GPU host needs neither the corpus nor its arithmetic.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from harness.case import Descriptor, Expected, Input, Kernel, Launch, Output, Scalar, Spec
from harness.errors import HarnessError
from harness.model import Case, Compilation, Outcome, ToolchainIdentity
from harness.parity import bundle, formats, inputs, manifest, truth
from harness.store import Store

SEED = 20_261_201
_T = TypeVar("_T")

Compiled = tuple[Case, Spec, Kernel, Mapping[str, Compilation]]


def write_bundle(
    cases: Sequence[Compiled],
    store: Store,
    path: Path,
    toolchains: Mapping[str, ToolchainIdentity],
    *,
    progress: Callable[[int, int, str], None] = lambda done, total, case: None,
) -> manifest.Manifest:
    """Write the bundle of ``cases`` (each with its compilation per role) to ``path``.

    A case that cannot be launched or whose ``case.py`` fails is left out, and the manifest's
    ``skipped`` says why. Raises HarnessError if nothing is left or ``path`` cannot be written.
    """
    objects: dict[str, bytes] = {}
    bundled: list[manifest.BundledCase] = []
    skipped: dict[str, str] = {}
    for done, (case, spec, kernel, compilations) in enumerate(cases):
        progress(done, len(cases), case.id)
        mine: dict[str, bytes] = {}
        try:
            bundled.append(_bundle_case(case, spec, kernel, compilations, store, mine))
            objects |= mine
        except HarnessError as problem:
            skipped[case.id] = f"{problem.thing}: {problem.cause}"
    if not bundled:
        why = next(iter(skipped.values()), "no case was selected")
        raise HarnessError(
            f"bundle {path}", f"no case can be launched ({why})", "select runnable cases"
        )
    contents = manifest.Manifest(
        version=manifest.VERSION,
        toolchains={
            role: manifest.ToolchainStamp(identity.fingerprint, identity.distributions)
            for role, identity in toolchains.items()
        },
        cases=tuple(bundled),
        objects={sha: len(data) for sha, data in sorted(objects.items())},
        skipped=skipped,
    )
    bundle.write(path, contents, objects)
    return contents


def _bundle_case(
    case: Case,
    spec: Spec,
    kernel: Kernel,
    compilations: Mapping[str, Compilation],
    store: Store,
    objects: dict[str, bytes],
) -> manifest.BundledCase:
    if kernel.launch is None or kernel.reference is None:
        raise HarnessError(f"case {case.id}", "states no launch and reference", "add both")
    if len(compilations) != 2:
        raise HarnessError(
            f"case {case.id}", f"is compiled by {sorted(compilations)}", "give it two toolchains"
        )
    sides = tuple(_side(role, c, case, store, objects) for role, c in compilations.items())
    check = _problem(case, kernel, spec, spec.problem)
    speed = _problem(case, kernel, spec, spec.speed) if spec.speed is not None else check
    trials, omitted = [], {}
    for distribution in inputs.DISTRIBUTIONS:
        if why := inputs.applicable(check, distribution):
            omitted[distribution] = why
        else:
            trials.append(_trial(case, spec, kernel, check, distribution, objects))
    return manifest.BundledCase(
        case.id, str(case.target), check, speed, sides, tuple(trials), omitted
    )


def _side(
    role: str, compilation: Compilation, case: Case, store: Store, objects: dict[str, bytes]
) -> manifest.Side:
    stage = case.target.stages[-1]
    binary = store.read(compilation.artifacts.get(stage))
    metadata = store.read(compilation.artifacts.get("metadata"))
    if compilation.outcome is not Outcome.OK or binary is None or metadata is None:
        raise HarnessError(
            f"case {case.id}",
            f"{role} gave no binary ({compilation.outcome.value})",
            "parity needs a binary of both sides",
        )
    sha = hashlib.sha256(binary).hexdigest()
    objects[sha] = binary
    try:
        launch = msgspec.json.decode(metadata, type=manifest.LaunchMetadata)
    except msgspec.MsgspecError as error:
        raise HarnessError(
            f"case {case.id}", f"launch metadata of {role}: {error}", "compile it again"
        ) from error
    return manifest.Side(role, sha, launch)


def _problem(case: Case, kernel: Kernel, spec: Spec, sizes: Mapping[str, int]) -> manifest.Problem:
    """The launch at these sizes, its arguments in the order of the kernel's parameters."""
    assert kernel.launch is not None
    launch: Launch = _authored(case, "launch", kernel.launch, spec, sizes)
    order = [name for name in _parameters(case) if name in case.signature]
    if set(order) != set(launch.arguments):
        raise HarnessError(
            f"case {case.id}",
            f"launch gives arguments {sorted(launch.arguments)}, the kernel takes {order}",
            "name every non-constexpr parameter in launch",
        )
    arguments = {name: _argument(launch.arguments[name], case.signature[name]) for name in order}
    problem = {"grid": _plain(launch.grid), "arguments": arguments}
    try:
        converted = msgspec.convert(msgspec.to_builtins(problem), manifest.Problem)
    except msgspec.ValidationError as error:
        raise HarnessError(f"case {case.id}, launch", str(error), "mend its launch") from error
    for tensor in converted.tensors().values():
        formats.find(tensor.dtype)
    return converted


def _argument(
    argument: Input | Output | Scalar | Descriptor, triton_type: str
) -> manifest.Argument:
    match argument:
        case Input(shape, dtype, fill, modulo, specials, offset):
            return manifest.InputTensor(_plain(shape), dtype, fill, modulo, specials, offset)
        case Output(shape, dtype, initial):
            return manifest.OutputTensor(_plain(shape), dtype, initial)
        case Descriptor(tensor, _):
            inner = _argument(tensor, triton_type)
            assert isinstance(inner, manifest.InputTensor | manifest.OutputTensor)
            return manifest.TensorDescriptor(inner)
        case Scalar(value):
            floating = triton_type.startswith(("fp", "bf"))
            return manifest.Value(triton_type, float(value) if floating else int(value))


def _plain(extents: Iterable[int]) -> tuple[int, ...]:
    """Without numpy's integers, which case.py may well have computed with."""
    return tuple(int(extent) for extent in extents)


def _parameters(case: Case) -> list[str]:
    for node in ast.walk(ast.parse(case.source)):
        if isinstance(node, ast.FunctionDef) and node.name == case.function:
            return [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    raise HarnessError(
        f"case {case.id}", f"kernel.py defines no {case.function}", "mend case.py's function"
    )


def _trial(
    case: Case,
    spec: Spec,
    kernel: Kernel,
    problem: manifest.Problem,
    distribution: str,
    objects: dict[str, bytes],
) -> manifest.Trial:
    bits = inputs.generate_all(case.id, problem, distribution, SEED)
    exact = {
        name: formats.decode(bits[name], formats.find(tensor.dtype))
        for name, tensor in problem.inputs().items()
    }
    assert kernel.reference is not None
    with np.errstate(all="ignore"):
        expected: Mapping[str, Expected] = _authored(
            case, f"reference ({distribution})", kernel.reference, spec, spec.problem, exact
        )
    outputs = problem.outputs()
    if set(expected) != set(outputs):
        raise HarnessError(
            f"case {case.id}, reference",
            f"gives {sorted(expected)}, the outputs are {sorted(outputs)}",
            "give an Expected for every Output",
        )
    references = {}
    for name, output in outputs.items():
        value = np.asarray(expected[name].value, np.float64)
        if value.shape != output.shape:
            raise HarnessError(
                f"case {case.id}, reference",
                f"{name} has the shape {value.shape}, the output {output.shape}",
                "give one value per element",
            )
        bound = np.broadcast_to(np.asarray(expected[name].bound, np.float64), value.shape)
        settled = truth.settle(
            value, bound, formats.find(output.dtype), exact=distribution == "integers"
        )
        if distribution != inputs.DISTRIBUTIONS[0]:
            settled = truth.thin(*settled)
        stored = [bundle.array_bytes(array) for array in settled]
        hashes = [hashlib.sha256(data).hexdigest() for data in stored]
        objects |= dict(zip(hashes, stored, strict=True))
        references[name] = manifest.Reference(*hashes)
    return manifest.Trial(
        distribution,
        SEED,
        {name: inputs.digest(array) for name, array in bits.items()},
        references,
    )


def _authored(case: Case, what: str, function: Callable[..., _T], *arguments: object) -> _T:
    """Call a function of a ``case.py``; whatever it raises becomes one HarnessError."""
    try:
        return function(*arguments)
    except Exception as error:  # the function is the user's: it may raise anything
        raise HarnessError(
            f"case {case.id}, {what}",
            f"raised {type(error).__name__}: {error}",
            "mend case.py; the other cases are not affected",
        ) from error
