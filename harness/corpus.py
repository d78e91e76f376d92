"""A corpus: a folder of kernel folders, each with ``kernel.py`` and ``case.py``.

``case.py`` is plain Python without ``triton``; ``kernel.py`` is read as text and imported only
inside a toolchain. A folder that cannot be used is reported, and the others go on.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from harness.case import Kernel, Spec
from harness.errors import HarnessError
from harness.model import Case, Target

DEFAULT = Path(__file__).resolve().parent.parent / "corpus"
LEDGER = "expected.toml"


class Corpus(msgspec.Struct, frozen=True):
    """The cases of one or more folders, and the folders that could not be used.

    ``kernels`` maps a case id to the Kernel and Spec that it came from, ``folders`` to where
    they lie.
    """

    cases: tuple[Case, ...]
    problems: tuple[HarnessError, ...]
    kernels: dict[str, tuple[Kernel, Spec]]
    folders: dict[str, Path]
    roots: tuple[Path, ...]

    def select(self, patterns: Sequence[str], targets: Sequence[str] = ()) -> tuple[Case, ...]:
        """The cases whose id matches any glob in ``patterns`` (all if none) and any target.

        A pattern without ``@`` also matches the part before the target; one that names a
        folder takes everything below it. Raises HarnessError for a pattern that matches
        nothing, naming what comes closest.
        """
        wanted = [case for case in self.cases if not targets or str(case.target) in targets]
        for text in targets:
            Target.parse(text)
            if all(str(case.target) != text for case in self.cases):
                known = sorted({str(case.target) for case in self.cases})
                raise HarnessError(f"target {text}", "no case has it", f"use one of {known}")
        chosen = list(wanted) if not patterns else []
        for pattern in patterns:
            hits = [case for case in wanted if matches(case.id, pattern)]
            if not hits:
                raise HarnessError(
                    f"pattern {pattern!r}",
                    f"matches none of {len(wanted)} cases{self._closest(pattern)}",
                    "list them with `tlx-equiv cases`; a pattern is a glob on case ids",
                )
            chosen += [case for case in hits if case not in chosen]
        return tuple(chosen)

    def _closest(self, pattern: str) -> str:
        import difflib

        names = sorted({case.id for case in self.cases} | {case.kernel for case in self.cases})
        close = difflib.get_close_matches(pattern.strip("*"), names, 1, 0.5)
        return f" (did you mean {close[0]!r}?)" if close else ""


def matches(case_id: str, pattern: str) -> bool:
    """Whether a glob selects a case id: whole, without its target, or by its folder."""
    before_target = case_id.rpartition("@")[0]
    kernel = before_target.rpartition("/")[0]
    candidates = [case_id, before_target, kernel]
    parts = kernel.split("/")
    candidates += ["/".join(parts[:n]) for n in range(1, len(parts))]
    return any(fnmatch.fnmatchcase(text, pattern.rstrip("/")) for text in candidates)


def contents(case: Case) -> bytes:
    """All of a case but where it lies, the same on every machine and after a trip through JSON."""
    return msgspec.json.encode(msgspec.structs.replace(case, folder=""))


def load(roots: Iterable[Path]) -> Corpus:
    """Read every kernel folder below ``roots``; raises HarnessError for a root that is none."""
    cases: list[Case] = []
    problems: list[HarnessError] = []
    kernels: dict[str, tuple[Kernel, Spec]] = {}
    folders: dict[str, Path] = {}
    resolved = tuple(Path(root).resolve() for root in roots)
    for root in resolved:
        if not root.is_dir():
            raise HarnessError(
                f"corpus {root}", "no such folder", "give --corpus a folder of kernel folders"
            )
        found = sorted({*root.rglob("case.py"), *root.rglob("kernel.py")})
        if not found:
            raise HarnessError(
                f"corpus {root}",
                "holds no kernel folder (a folder with kernel.py and case.py)",
                "write one with `tlx-equiv new-kernel NAME --corpus DIR`",
            )
        for folder in sorted({path.parent for path in found}):
            try:
                kernel = load_kernel(folder)
                for case, spec in _cases(root, folder, kernel):
                    if case.id in folders:
                        raise HarnessError(
                            f"case {case.id}",
                            f"defined in {folders[case.id]} and in {folder}",
                            "rename one of the folders",
                        )
                    cases.append(case)
                    kernels[case.id] = (kernel, spec)
                    folders[case.id] = folder
            except HarnessError as problem:
                problems.append(problem)
    return Corpus(tuple(cases), tuple(problems), kernels, folders, resolved)


def load_kernel(folder: Path) -> Kernel:
    """The ``KERNEL`` of a kernel folder's ``case.py``.

    Raises HarnessError if either file is missing, ``case.py`` does not import, or ``KERNEL``
    is not a Kernel.
    """
    for name, what in (("case.py", "specialisations"), ("kernel.py", "TLX source")):
        if not (folder / name).is_file():
            raise HarnessError(
                f"kernel folder {folder}",
                f"has no {name} (its {what})",
                f"add {name}, or remove the folder; `tlx-equiv new-kernel` writes a template",
            )
    path = folder / "case.py"
    spec = importlib.util.spec_from_file_location(f"tlx_equiv_case_{abs(hash(path))}", path)
    assert spec is not None and spec.loader is not None  # a .py path always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's: it may raise anything
        where = traceback.extract_tb(error.__traceback__)
        lines = [f":{frame.lineno}" for frame in where if frame.filename == str(path)]
        raise HarnessError(
            f"{path}{lines[-1] if lines else ''}",
            f"does not import: {type(error).__name__}: {error}",
            "mend the file; the other kernels are not affected",
        ) from error
    finally:
        del sys.modules[spec.name]
    kernel = getattr(module, "KERNEL", None)
    if not isinstance(kernel, Kernel):
        raise HarnessError(
            str(path),
            f"KERNEL is {'missing' if kernel is None else type(kernel).__name__},"
            " not a harness.case.Kernel",
            "define KERNEL = Kernel(...); `tlx-equiv new-kernel` writes a template",
        )
    return kernel


def _cases(root: Path, folder: Path, kernel: Kernel) -> Iterable[tuple[Case, Spec]]:
    name = folder.relative_to(root).as_posix() if folder != root else folder.name
    source = (folder / "kernel.py").read_text()
    for spec in kernel.specs:
        for target in kernel.targets_of(spec):
            case = {
                "id": f"{name}/{spec.name}@{target}",
                "kernel": name,
                "family": name.rpartition("/")[0],
                "spec": spec.name,
                "target": msgspec.to_builtins(Target.parse(target)),
                "function": kernel.function,
                "folder": str(folder),
                "virtual_path": f"{name}/kernel.py",
                "source": source,
                "signature": dict(spec.signature),
                "constexprs": dict(spec.constexprs),
                "divisible_by_16": tuple(spec.divisible_by_16),
                "options": dict(spec.options),
                "within_2gb": _within_2gb(spec, target),
                "expect": kernel.expect,
                "baseline": kernel.baseline,
                "runnable": kernel.launch is not None,
            }
            try:
                yield msgspec.convert(case, Case), spec
            except msgspec.ValidationError as error:
                raise HarnessError(
                    f"{folder / 'case.py'}, specialisation {spec.name}",
                    str(error),
                    "use plain values: numbers, strings, booleans, None or dtype(...)",
                ) from error


def _within_2gb(spec: Spec, target: str) -> tuple[str, ...]:
    """The pointers that a launch through ``@triton.jit`` hints as ranging over 32 bits."""
    if not target.startswith("hip:"):
        return ()
    pointers = (name for name, kind in spec.signature.items() if kind.startswith("*"))
    return tuple(name for name in pointers if name not in spec.over_2gb)
