"""What is known of a public TLX name on a target, from what cases used and how they ended."""

import pytest

from harness import coverage
from harness.model import Case, Compilation, Failure, Outcome, Target
from harness.result import CaseResult, Check, NameCoverage

SURFACES: dict[str, coverage.Surface] = {
    "fork": {"op": ("function", "(x)"), "mine": ("function", "()")},
    "plugin": {"op": ("function", "(x, y=1)")},
}


def side(
    role: str, error: str = "", names: tuple[str, ...] = ("op",), printed: str = ""
) -> Compilation:
    return Compilation(
        case="",
        key="",
        role=role,
        fingerprint="",
        outcome=Outcome.ERROR if error else Outcome.OK,
        artifacts={},
        failure=Failure("frontend", error, exception="CompilationError") if error else None,
        printed_errors=printed,
        names=names,
    )


def result(target: str, *sides: Compilation, checks: tuple[Check, ...] = ()) -> CaseResult:
    texts = dict.fromkeys(("kernel", "family", "spec", "function", "folder", "virtual_path"), "")
    case = Case(
        id=f"a/b@{target}",
        target=Target.parse(target),
        source="",
        signature={},
        constexprs={},
        divisible_by_16=(),
        options={},
        **texts,
    )
    return CaseResult(case, "OK", "", {side.role: side for side in sides}, (), (), checks)


def measured(*results: CaseResult) -> dict[str, NameCoverage]:
    return {entry.name: entry for entry in coverage.measure(SURFACES, results)}


@pytest.mark.parametrize(
    ("sides", "state"),
    [
        ((side("fork"), side("plugin")), "compiled"),
        ((side("fork"), side("plugin", "no such op")), "partly"),
        ((side("fork"), side("plugin", names=())), "partly"),
        ((side("fork", "no"), side("plugin", "no")), "refused"),
        ((side("fork"), side("plugin", printed="error: op left out")), "partly"),
        ((side("fork", names=()), side("plugin", names=())), "untried"),
    ],
)
def test_states(sides: tuple[Compilation, Compilation], state: str):
    entry = measured(result("cuda:90", *sides))["op"]
    assert entry.state("cuda:90") == state
    assert entry.state("cuda:100") == "untried"
    assert entry.targets == (("cuda:90",) if state in ("compiled", "partly") else ())


def test_a_side_whose_check_fails_shows_nothing():
    checks = (Check("ptx.check", "ptx", "fork", True), Check("ptx.check", "ptx", "plugin", False))
    entry = measured(result("cuda:90", side("fork"), side("plugin"), checks=checks))["op"]
    assert entry.state("cuda:90") == "partly"
    assert entry.uses[0].refusals == {"plugin": "compiles, but ptx.check does not hold"}


def test_signatures_are_of_the_sides_that_have_the_name():
    found = measured(result("cuda:90", side("fork"), side("plugin")))
    assert found["op"].signatures == {"fork": "(x)", "plugin": "(x, y=1)"}
    assert found["mine"].signatures == {"fork": "()"}


def test_words_are_of_the_case_that_uses_least_and_say_why():
    busy = side("plugin", "error: of something else", names=("op", "mine"))
    alone = side("plugin", "at 3:4:\n    x = f()\n    ^\nerror: op is not for this target\nmore")
    results = [result("hip:gfx950", side("fork"), one) for one in (busy, alone)]
    (use,) = measured(*results)["op"].uses
    assert use.refusals == {"plugin": "error: op is not for this target"}


POINTED = "at 3:4:\n    x = f()\n    ^"
PTXAS = """PTXAS error: Internal Triton PTX codegen error
`ptxas` stderr:
ptxas /tmp/tmp8d.ptx, line 152; error   : Instruction 'wgmma.wait_group' not supported
ptxas fatal   : Ptx assembly aborted due to errors"""
PASS = """PassManager::run failed
k.py:9:1: error: Failures have been detected while processing an MLIR pass pipeline
LLVM ERROR: no such transfers here"""
BINDING = (
    POINTED
    + """
create_it(): incompatible function arguments. The following argument types are supported:
    1. (self: builder, arg0: int) -> value

Invoked with: <builder object at 0x7f>"""
)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (POINTED, "CompilationError at: x = f()"),
        (POINTED + "\nnot here", "not here"),
        (PTXAS, "ptxas: error   : Instruction 'wgmma.wait_group' not supported"),
        (PASS, "LLVM ERROR: no such transfers here"),
        (
            BINDING,
            "create_it(): incompatible function arguments."
            " The following argument types are supported:",
        ),
        ("PassManager::run failed", "PassManager::run failed"),
        ("died of SIGSEGV", "died of SIGSEGV"),
    ],
)
def test_the_line_that_says_why(message: str, words: str):
    (use,) = measured(result("cuda:90", side("fork"), side("plugin", message)))["op"].uses
    assert use.refusals["plugin"] == words


def test_a_case_that_compiled_says_more_than_one_that_failed():
    short = result("cuda:90", side("fork"), side("plugin", "error: no"))
    checks = (Check("ptx.check", "ptx", "plugin", False),)
    longer = result("cuda:90", side("plugin", names=("op", "mine")), checks=checks)
    (use,) = measured(short, longer)["op"].uses
    assert use.refusals["plugin"] == "compiles, but ptx.check does not hold"
