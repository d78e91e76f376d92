"""The table counts what it is given, and a miss is a miss."""

import subprocess
import sys

import msgspec
import pytest

from harness.selfcheck import Finding, Row, document, misses, rows

GOOD = Finding("pipelines", "pass: remove", "case", "what", caught=True, located=True)
BENIGN = Finding("benign: ptx", "labels", "case", "what", caught=True, located=True, benign=True)


def but(finding: Finding, **fields: bool) -> Finding:
    return msgspec.structs.replace(finding, **fields)


@pytest.mark.parametrize(
    ("finding", "missed"),
    [
        (GOOD, False),
        (but(GOOD, caught=False), True),
        (but(GOOD, located=False), True),
        (BENIGN, False),
        (but(BENIGN, flagged=True), True),
        (but(BENIGN, caught=False), True),
    ],
)
def test_a_miss_is_a_miss(finding: Finding, missed: bool) -> None:
    assert misses([finding]) == ([finding] if missed else [])


def test_rows_and_document() -> None:
    found = [GOOD, but(GOOD, located=False), BENIGN, but(BENIGN, flagged=True)]
    assert rows(found) == [
        Row("pipelines", "pass: remove", 2, 2, 1, None),
        Row("benign: ptx", "labels", 2, 2, 2, 1),
    ]
    text = document.write(rows(found), {})
    assert "| pass: remove | 2 | 2 | 1 |  |" in text
    assert "| labels | 2 | 2 | 2 | 1 |" in text
    assert "| **all** | 4 | 4 | 3 | 1 |" in text


def test_an_unknown_part_is_one_clear_error() -> None:
    command = [sys.executable, "-m", "harness.cli", "selfcheck", "everything"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "way out:" in done.stderr
