"""JUnit XML: a test case per case and channel, for CI that shows nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from harness.result import Run, Status
from reports.cases import ALARMS

# Characters that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def junit(channels: Sequence[tuple[str, Run, bool]]) -> bytes:
    """A test suite for each (name, run, gating). What is unexpected fails in a gating one, and
    is skipped with its reason in another."""
    root = ElementTree.Element("testsuites")
    for name, run, gating in channels:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(name))
        bad = 0
        for result in run.results:
            seconds = sum(side.seconds for side in result.compilations.values())
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=_xml(f"{name}.{result.case.kernel.replace('/', '.')}"),
                name=_xml(result.case.id),
                time=f"{seconds:.3f}",
            )
            lines = [
                f"{judgement.stage}: {judgement.verdict}: {judgement.reason}"
                for judgement in result.judgements
                if judgement.status in ALARMS
            ]
            if lines or result.status() is Status.BROKEN:
                bad += 1
                _unexpected(case, gating, result.status().value, lines)
        outside = [f"ledger {p.expectation}: {p.kind}: {p.message}" for p in run.ledger_problems]
        outside += [*run.broken, *([f"void: {run.void}"] if run.void else [])]
        for number, text in enumerate(outside):
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(f"{name}.run"), name=f"problem {number + 1}"
            )
            bad += 1
            _unexpected(case, gating, "problem", [text])
        suite.set("tests", str(len(suite)))
        suite.set("failures" if gating else "skipped", str(bad))
        suite.set("time", f"{run.seconds:.3f}")
        suite.set("timestamp", _xml(run.started))
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml


def _unexpected(case: ElementTree.Element, gating: bool, status: str, lines: Sequence[str]) -> None:
    tag = "failure" if gating else "skipped"
    found = ElementTree.SubElement(case, tag, message=_xml(f"{status}: {(*lines, '')[0]}"[:500]))
    found.text = _xml("\n".join(lines))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
