"""Checking the checker: differences are planted, and each must be caught and located.

``artifacts`` plants in what compilers made, ``pipelines`` in what they do, ``toolchains`` in what
they are, and ``evidence`` in what the harness keeps of it; ``twins`` compares each toolchain with
a second one made from the same pins. All return ``Finding`` records, and ``table`` counts them.
"""

from harness.selfcheck.table import Finding, Row, misses, rows

__all__ = ["Finding", "Row", "misses", "rows"]
