"""Corpora: what is read, what is refused and how clearly, and what a pattern selects."""

from pathlib import Path

import pytest

from harness import corpus
from harness.errors import HarnessError
from harness.template import write_template


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write_template(tmp_path, "family/good")
    return tmp_path


def test_the_template_gives_cases_named_after_their_folder(good: Path):
    ids = [case.id for case in corpus.load([good]).cases]
    assert ids == ["family/good/fp32-256@cuda:90", "family/good/fp32-256@hip:gfx950"]


def test_a_case_does_not_depend_on_where_its_corpus_lies(tmp_path: Path):
    for name in ("a", "b"):
        write_template(tmp_path / name, "good")
    (first, *_), (second, *_) = (corpus.load([tmp_path / n]).cases for n in ("a", "b"))
    assert first.virtual_path == second.virtual_path == "good/kernel.py"
    assert first.source == second.source


@pytest.mark.parametrize(
    ("case_py", "cause"),
    [
        ("KERNEL = 3", "KERNEL is int"),
        ("", "KERNEL is missing"),
        ("import nonsense_module", "does not import: ModuleNotFoundError"),
        ("def f(:", "does not import: SyntaxError"),
        ("raise SystemExit(3)", "does not import: SystemExit: 3"),
        (
            "from harness.case import Kernel\nKERNEL = Kernel(function='f', targets=(), specs=[])",
            "a kernel needs at least one",
        ),
        (
            "from harness.case import Kernel, Spec\n"
            "KERNEL = Kernel(function='f', targets=('cuda:90',), specs=[Spec('a/b', {})])",
            "may hold letters",
        ),
        (
            "from harness.case import Kernel, Spec\n"
            "KERNEL = Kernel(function='f', targets=('gpu',), specs=[Spec('a', {})])",
            "not a target",
        ),
        (
            "from harness.case import Kernel, Spec\n"
            "KERNEL = Kernel(function='f', targets=('cuda:90',),"
            " specs=[Spec('a', {'x': 'i32'}, {'y': object()})])",
            "constexprs",
        ),
    ],
)
def test_a_bad_case_file_is_named_and_costs_only_itself(good: Path, case_py: str, cause: str):
    bad = good / "family" / "bad"
    bad.mkdir()
    (bad / "kernel.py").write_text("")
    (bad / "case.py").write_text(case_py)
    found = corpus.load([good])
    assert len(found.cases) == 2
    (problem,) = found.problems
    assert cause in str(problem)
    assert "bad" in problem.thing or "gpu" in problem.thing
    assert problem.way_out


@pytest.mark.parametrize("missing", ["case.py", "kernel.py"])
def test_a_missing_file_is_named(good: Path, missing: str):
    (good / "family" / "good" / missing).unlink()
    (problem,) = corpus.load([good]).problems
    assert f"has no {missing}" in problem.cause


def test_two_corpora_with_one_case_id_name_both_folders(tmp_path: Path):
    for name in ("a", "b"):
        write_template(tmp_path / name, "good")
    (problem,) = corpus.load([tmp_path / "a", tmp_path / "b"]).problems
    assert str(tmp_path / "a") in problem.cause
    assert str(tmp_path / "b") in problem.cause


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_a_folder_without_kernels_is_a_usage_error(tmp_path: Path, folder: str):
    with pytest.raises(HarnessError):
        corpus.load([tmp_path / folder])


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("family/good/fp32-256@cuda:90", 1),
        ("family/good/fp32-256", 2),
        ("family/good", 2),
        ("family", 2),
        ("family/", 2),
        ("*@cuda:*", 1),
        ("fam*", 2),
    ],
)
def test_patterns(good: Path, pattern: str, hits: int):
    assert len(corpus.load([good]).select([pattern])) == hits


def test_an_unknown_pattern_says_what_comes_closest(good: Path):
    with pytest.raises(HarnessError, match="did you mean 'family/good'"):
        corpus.load([good]).select(["family/goood"])


def test_an_unknown_target_says_which_there_are(good: Path):
    with pytest.raises(HarnessError, match="no case has it"):
        corpus.load([good]).select([], ["cuda:75"])
