"""What is compiled, by what, and what comes of it: frozen records without behaviour beyond
naming and parsing. ``harness.result`` has what a run then says.

Every record survives ``msgspec.json`` unchanged, which is how ``run.json`` and the store's
manifests are written. Hashes are lower-case sha256 hex; sizes are bytes; times are seconds.
"""

from __future__ import annotations

import enum

from harness.errors import HarnessError
from harness.record import Record

CUDA_STAGES = ("ttir", "ttgir", "llir", "ptx", "cubin")
HIP_STAGES = ("ttir", "ttgir", "llir", "amdgcn", "hsaco")
CHECKPOINTS = ("ttir", "ttgir")


# --- what is compiled ---------------------------------------------------------------------


class Target(Record, frozen=True):
    """A GPU architecture, written ``cuda:90`` or ``hip:gfx950``."""

    backend: str
    arch: str

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of this backend, in pipeline order (the ladder of a verdict)."""
        return CUDA_STAGES if self.backend == "cuda" else HIP_STAGES

    @property
    def warp_size(self) -> int:
        """Threads per warp: 32, or 64 on AMD's gfx9 (CDNA) family."""
        return 64 if self.arch.startswith("gfx9") else 32

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``cuda:90`` or ``hip:gfx950``; raises HarnessError on anything else."""
        backend, _, arch = text.partition(":")
        if (backend == "cuda" and arch.isdigit()) or (backend == "hip" and arch[:3] == "gfx"):
            return cls(backend, arch)
        raise HarnessError(
            f"target {text!r}",
            "not a target this tool knows how to name",
            "write cuda:<capability> (cuda:90) or hip:<architecture> (hip:gfx950)",
        )


class Case(Record, frozen=True):
    """A kernel with one specialisation for one target: what a toolchain is asked to compile.

    ``id`` is ``<folder>/<specialisation>@<target>``, the folder relative to its corpus.
    ``source`` is the text of ``kernel.py``; it is compiled under ``virtual_path``, so that
    line information does not depend on where a corpus lies on disk. ``within_2gb`` are the
    parameters hinted with ``tt.pointer_range = 32`` (AMD only).
    """

    id: str
    kernel: str
    family: str
    spec: str
    target: Target
    function: str
    folder: str
    virtual_path: str
    source: str
    signature: dict[str, str]
    constexprs: dict[str, int | float | bool | str | dict[str, str] | None]
    divisible_by_16: tuple[str, ...]
    options: dict[str, object]
    within_2gb: tuple[str, ...] = ()
    expect: str = "compile"
    baseline: bool = False
    runnable: bool = False


# --- toolchains ---------------------------------------------------------------------------


class PluginProof(Record, frozen=True):
    """Evidence, taken inside a worker, that a plugin was loaded dynamically.

    ``plugin`` is its descriptor's name, empty for one that nothing declares; ``way`` how its
    library reached Triton. ``passes``, ``ops`` and ``dialects`` are what the library registers;
    ``missing`` what its descriptor promises beyond that; ``ops_without_result`` the ops whose
    results Triton's own binding loses; ``module_missing`` that kernels cannot import the
    module that it should bring. ``hook`` is the file of its stage hook, and ``hook_joined``
    whether Triton's stage hook, asked for its cache key, names that file's hash.
    """

    library: str
    sha256: str
    mapped_before_import: bool
    mapped_after_import: bool
    api_version: int
    name: str
    version: str
    built_for_triton: str
    passes: tuple[str, ...]
    ops: tuple[str, ...]
    dialects: tuple[str, ...]
    missing: tuple[str, ...] = ()
    plugin: str = ""
    way: str = ""
    ops_without_result: tuple[str, ...] = ()
    module_missing: bool = False
    hook: str = ""
    hook_sha256: str = ""
    hook_joined: bool = False

    def ran(self, compilation: Compilation) -> dict[str, int]:
        """The passes that this plugin brought to a compilation, in the order of their first run,
        and how often each ran; empty if its trace has none of them, or is empty itself.

        Triton binds a library's passes under their own names, with ``add_`` before them from
        3.9 on; a hook's passes are those that its file added.
        """
        found: dict[str, int] = {}
        for step in compilation.trace:
            owner, _, adder = step.adder.rpartition(".")
            own = [name for name in (adder, adder.removeprefix("add_")) if name in self.passes]
            if owner == ".passes.plugin" and own:
                found[own[0]] = found.get(own[0], 0) + 1
            elif self.hook and _file_name(step.origin) == _file_name(self.hook):
                found[step.name or adder] = found.get(step.name or adder, 0) + 1
        return found


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


class ToolchainIdentity(Record, frozen=True):
    """What a toolchain is, measured in its environment.

    ``fingerprint`` covers distributions (``name==version``) and the hashes of ``libraries``
    (compiler, plugins, ptxas, ...; relative path -> sha256).
    """

    role: str
    fingerprint: str
    interpreter: str
    python: str
    triton_version: str
    llvm_revision: str
    distributions: tuple[str, ...]
    libraries: dict[str, str]
    plugins: tuple[PluginProof, ...] = ()


# --- what compilation gives ---------------------------------------------------------------


class Outcome(str, enum.Enum):
    """How a compilation ended."""

    OK = "OK"
    ERROR = "ERROR"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    UNSUPPORTED = "UNSUPPORTED"


class Failure(Record, frozen=True):
    """Why a compilation gave no binary, in the compiler's own words.

    ``phase`` is ``import``, ``frontend``, a pass manager's name, a stage, or ``harness``;
    ``pass_name`` the pass running at that moment. ``message`` is the compiler's diagnostic.
    """

    phase: str
    message: str
    pass_name: str = ""
    exception: str = ""
    exit_status: int | None = None
    signal: str = ""
    stderr_tail: str = ""


class Artifact(Record, frozen=True):
    """Bytes in the store."""

    sha256: str
    size: int


class PassStep(Record, frozen=True):
    """One executed pass: its name, options and adder, and the IR after it.

    ``adder`` is the function below ``triton._C.libtriton`` that adds the pass, ``arguments``
    what it was given besides the pass manager (JSON; empty if not plain values), ``origin``
    the file whose code added it. The first step, ``front end``, is no pass but the IR that the
    front end made. ``snapshot`` says that the IR text was small enough to be kept; the store keeps
    it under ``sha256`` for cases that differ.
    """

    manager: str
    name: str
    options: str
    adder: str
    sha256: str
    size: int
    seconds: float
    arguments: str = ""
    origin: str = ""
    snapshot: bool = False


class Compilation(Record, frozen=True):
    """One case compiled by one toolchain.

    ``artifacts`` maps the checkpoints ``ttir`` and ``ttgir`` (MLIR's own print without debug
    information), the raw stage files ``raw.ttir`` and ``raw.ttgir``, ``handover`` (the module
    that the back end is given, as ``make_llir`` begins, with locations), ``llir``,
    ``ptx``/``amdgcn``, ``cubin``/``hsaco``, ``metadata`` (launch metadata, JSON) and
    ``stderr`` (when not empty) to stored bytes. ``printed_errors`` holds the error lines that
    a successful compilation printed all the same: evidence, not noise. ``names`` are the public
    TLX names that its front end used before it ended (see ``harness.worker.usage``).
    """

    case: str
    key: str
    role: str
    fingerprint: str
    outcome: Outcome
    artifacts: dict[str, Artifact]
    trace: tuple[PassStep, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0
    stepped: bool = True
    printed_errors: str = ""
    names: tuple[str, ...] = ()

    def produced(self, stage: str) -> bool:
        """Whether there is an artifact to compare at ``stage`` (``sass`` comes from cubin)."""
        return ("cubin" if stage == "sass" else stage) in self.artifacts


# --- what comparison says -----------------------------------------------------------------


class Verdict(str, enum.Enum):
    """Verdict of one comparison, strongest first."""

    IDENTICAL = "IDENTICAL"
    EQUIVALENT = "EQUIVALENT"
    DIFFERENT = "DIFFERENT"
    NONDETERMINISTIC = "NONDETERMINISTIC"


class Hunk(Record, frozen=True):
    """One region of a difference, after all rules.

    ``before``/``after`` are the reference's and candidate's lines; ``context`` the lines just
    above; ``region`` names where it is (function, section). ``kind`` and ``significance``
    (``significant``, ``benign``, ``unclear``) come from ``explain``.
    """

    region: str
    left_line: int
    right_line: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    context: tuple[str, ...] = ()
    kind: str = ""
    significance: str = "unclear"


class Comparison(Record, frozen=True):
    """One stage of one case, the two sides against each other.

    ``raw`` is the verdict on bytes, ``verdict`` the one after ``rules`` (the smallest set that
    suffices; empty when raw equality held or nothing suffices). ``fingerprint`` identifies the
    remaining difference; ``note`` says why where bytes alone do not (a stage that one side did
    not produce, a rule that could not parse). ``hunks`` holds the first differences,
    ``hunks_total`` how many there are.
    """

    stage: str
    raw: Verdict
    verdict: Verdict
    rules: tuple[str, ...] = ()
    side: str = ""
    fingerprint: str = ""
    note: str = ""
    hunks: tuple[Hunk, ...] = ()
    hunks_total: int = 0
