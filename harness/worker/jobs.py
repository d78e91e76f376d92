"""The jobs a worker can do, each in a forked child of its own, results left as files."""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from typing import Any, Callable

from harness.worker import hooks, printing, source, stepping, surface, usage

LAUNCH_METADATA = (
    "name",
    "num_warps",
    "num_ctas",
    "cluster_dims",
    "warp_size",
    "shared",
    "tmem_size",
    "global_scratch_size",
    "global_scratch_align",
    "profile_scratch_size",
    "profile_scratch_align",
    "tensordesc_meta",
    "launch_cooperative_grid",
    "launch_pdl",
)
SNAPSHOT_LIMIT = 8 << 20
MODULES = 2  # of the last grafts, kept: two inputs are grafted in turn
HERE = "/proc/self/cwd"  # a child's own folder, under a name that is the same for all


def compile_case(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Compile one case, leaving stages in ``cache/`` and what the Recorder keeps."""
    limit = SNAPSHOT_LIMIT if request["snapshots"] else -1
    recorder = stepping.Recorder(folder, request["step"], limit)
    recorder.entering("import", "")
    if request["step"]:  # a second opinion is left as alone as possible
        usage.watch(os.path.join(folder, "names"))
    case = request["case"]
    kernel = source.load_kernel(
        case["source"], case["virtual_path"], case["folder"], case["function"]
    )
    os.chdir(folder)  # a kernel's file may have gone elsewhere
    from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found]
    from triton.compiler import compile  # type: ignore[import-not-found]

    target = GPUTarget(*request["target"])
    pretend(target)
    ast_source = make_source(kernel, case)
    recorder.entering("frontend", "")
    stepping.observe(recorder)
    try:
        compiled = compile(ast_source, target=target, options=options_of(request))
    finally:
        stepping.observe(None)
    metadata = compiled.metadata._asdict()
    return {"metadata": {key: metadata[key] for key in LAUNCH_METADATA if key in metadata}}


def pretend(target: Any) -> None:
    """Let code that asks for the current GPU hear the target, on a machine without one.

    The fork's front end asks (``is_hip``) where a launch would have a GPU; compiling alone has
    none, and would fail for want of a driver.
    """
    from triton.runtime.driver import driver  # type: ignore[import-not-found]

    class Absent:
        """A driver that only knows what its GPU would be."""

        def get_current_target(self) -> Any:
            return target

    driver.set_active(Absent())


def make_source(kernel: Any, case: dict[str, Any]) -> Any:
    """Triton's ASTSource of a case; raises LookupError if case.py and kernel.py disagree."""
    from triton.compiler import ASTSource

    given = set(case["signature"]) | set(case["constexprs"])
    missing = [name for name in kernel.arg_names if name not in given]
    extra = sorted(given - set(kernel.arg_names))
    if missing or extra:
        raise LookupError(
            f"{case['function']} takes {list(kernel.arg_names)}; case.py"
            f" leaves out {missing} and names {extra} besides"
        )
    signature = {name: case["signature"].get(name, "constexpr") for name in kernel.arg_names}
    constexprs = {name: _decode(value) for name, value in case["constexprs"].items()}
    hints = (
        (["tt.divisibility", 16], case["divisible_by_16"]),
        (["tt.pointer_range", 32], case.get("within_2gb", ())),
    )
    attributes: dict[tuple[int], list[list[Any]]] = {}
    for hint, names in hints:
        for index, name in enumerate(kernel.arg_names):
            if name in names:
                attributes.setdefault((index,), []).append(hint)
    return ASTSource(kernel, signature, constexprs, attributes)


def cross(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run this side's back end on the module left as ``input.ttgir``, up to assembly: both
    sides' assemblers are the same tool, or their difference is not the back end's."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import compile

    hooks.chain(_without_assembler, "")
    compile(
        os.path.join(folder, "input.ttgir"),
        target=GPUTarget(*request["target"]),
        options=options_of(request),
    )
    return {}


def _without_assembler(backend: Any, stages: Any, *_: Any) -> None:
    stages[backend.binary_ext] = lambda source, metadata: b""


def graft(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run single passes of this side on given IR, one after the other.

    ``items`` hold an ``id``, an ``adder`` with its ``arguments``, and an ``input`` file whose
    text has the hash ``sha256``. Each leaves ``grafts/<id>`` (the IR after it) or
    ``grafts/<id>.error``; an item whose result exists already is skipped, so that a crash costs
    one item only. Where an item's input is what an item before it made, that module is used as
    it is: most passes do the same on both sides, and reading the text again costs as much as
    the pass.
    """
    from triton._C import libtriton  # type: ignore[import-not-found]
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend  # type: ignore[import-not-found]

    backend = make_backend(GPUTarget(*request["target"]))
    output = os.path.join(folder, "grafts")
    os.makedirs(output, exist_ok=True)
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    printing.assume_verified()
    made: dict[str, Any] = {}
    for item in request["items"]:
        path = os.path.join(output, item["id"])
        if os.path.exists(path) or os.path.exists(path + ".error"):
            continue
        with open(path + ".error", "w") as file:
            file.write("crashed the process")
        try:
            module = made.pop(item["sha256"], None)
            if module is None:
                module = libtriton.ir.parse_mlir_module(item["input"], context)
                module.context = context
            manager = libtriton.ir.pass_manager(context)
            adder = libtriton
            for name in item["adder"].strip(".").split("."):
                adder = getattr(adder, name)
            arguments, keywords = json.loads(item["arguments"])
            adder(manager, *arguments, **keywords)
            manager.run(module, "graft")
        except (RuntimeError, AttributeError, TypeError, ValueError) as error:
            with open(path + ".error", "w") as file:
                file.write(f"{type(error).__name__}: {str(error)[:500]}")
            continue
        data = module.str_nodebug().encode()
        with open(path, "wb") as file:
            file.write(data)
        os.remove(path + ".error")
        made[hashlib.sha256(data).hexdigest()] = module
        if len(made) > MODULES:
            del made[next(iter(made))]
    return {}


JOBS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "compile": compile_case,
    "cross": cross,
    "graft": graft,
    "surface": lambda request, folder: {"surface": surface.read()},
}


def run(request: dict[str, Any], folder: str) -> None:
    """Do the job and leave ``result.json``; every exception becomes part of the result.

    Compilers are given the same paths wherever ``folder`` is: ptxas-blackwell 13.3 makes other
    code of the same PTX when its file lies at another path.
    """
    os.makedirs(os.path.join(folder, "cache"))
    os.makedirs(os.path.join(folder, "tmp"))
    os.environ.update(
        request["env"],
        TRITON_CACHE_DIR=f"{HERE}/cache",
        TMPDIR=f"{HERE}/tmp",
        HOME=HERE,
    )
    os.chdir(folder)
    try:
        result = {"ok": True, **JOBS[request["job"]](request, folder)}
    except BaseException as error:  # noqa: BLE001  a kernel may raise anything, SystemExit too
        result = {
            "ok": False,
            "exception": type(error).__name__,
            "message": str(error) or repr(error),
            "chain": [type(e).__name__ + ": " + str(e) for e in _chain(error)],
            "traceback": traceback.format_exc()[-8000:],
        }
    temporary = os.path.join(folder, "result.tmp")
    with open(temporary, "w") as file:
        json.dump(result, file, default=str)
    os.replace(temporary, os.path.join(folder, "result.json"))


def options_of(request: dict[str, Any]) -> dict[str, Any]:
    """The compile options of a request, as ``triton.compile`` takes them."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in request["options"].items()}


def _decode(value: Any) -> Any:
    import triton.language as tl  # type: ignore[import-not-found]

    if isinstance(value, dict):
        return getattr(tl, value["$dtype"])
    return value


def _chain(error: BaseException) -> list[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) and cause not in found:
        found.append(cause)
    return found
