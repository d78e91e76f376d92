r"""Comparison of artifacts: bytes first, then normal forms after named rules.

>>> from harness.compare import compare
>>> compare("ptx", b".version 8.8\n.target sm_90a\n", b".version 9.0\n.target sm_90a\n").rules
('ptx.version',)
"""

from harness.compare.comparison import (
    compare,
    difference_size,
    equivalent,
    hunks,
    normalise,
)
from harness.compare.locate import Disassemble
from harness.compare.rules import RULES, Rule, rules_for
from harness.compare.text import CannotParse, Text

__all__ = [
    "RULES",
    "CannotParse",
    "Disassemble",
    "Rule",
    "Text",
    "compare",
    "difference_size",
    "equivalent",
    "hunks",
    "normalise",
    "rules_for",
]
