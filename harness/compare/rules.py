"""Named rules: what a comparison may ignore, and why it cannot change what the GPU executes.

A rule is applied identically to both sides. Rules of a stage are applied in the order in which
they were registered; any subset may be applied, and applying more rules never makes two equal
forms unequal. That lets the smallest sufficient subset be found without trying them all.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.compare.text import CannotParse, Text
from harness.errors import HarnessError


@dataclasses.dataclass(frozen=True)
class Rule:
    """One named normalisation: ``apply`` maps a form to a form, ``why`` says what it ignores
    and why that cannot change what the GPU executes."""

    name: str
    stages: tuple[str, ...]
    apply: Callable[[Text], Text]
    why: str


class Registry(Mapping[str, Rule]):
    """Rules by name, in order of application. Two rules of one name are an error."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, rule: Rule) -> None:
        """Append ``rule``; raises HarnessError, naming both, if its name is taken."""
        other = self._rules.get(rule.name)
        if other is not None:
            raise HarnessError(
                f"rule {rule.name}",
                f"defined twice, by {_place(other)} and by {_place(rule)}",
                "give one of them another name",
            )
        self._rules[rule.name] = rule


RULES = Registry()
"""Every rule; filled when the format modules are imported."""


def rule(name: str, *stages: str) -> Callable[[Callable[[Text], Text]], Callable[[Text], Text]]:
    """Register a function as the rule ``name``; its docstring becomes the rule's ``why``."""

    def register(apply: Callable[[Text], Text]) -> Callable[[Text], Text]:
        RULES.add(Rule(name, stages, apply, inspect.cleandoc(apply.__doc__ or "")))
        return apply

    return register


def rules_for(stage: str) -> tuple[Rule, ...]:
    """The rules of ``stage``, in order of application."""
    return tuple(rule for rule in RULES.values() if stage in rule.stages)


def apply_rules(form: Text, rules: Sequence[Rule]) -> tuple[Text, tuple[Rule, ...]]:
    """``form`` after ``rules``, and those of them that changed something.

    Raises CannotParse, naming the rule, when one cannot read its input.
    """
    changed = []
    for each in rules:
        try:
            after = each.apply(form)
        except CannotParse as error:
            raise CannotParse(f"{each.name}: {error}") from error
        if after.lines != form.lines:
            changed.append(each)
        form = after
    return form, tuple(changed)


def smallest_sufficient(left: Text, right: Text, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The smallest subset of ``rules`` after which two forms are equal; all of them must suffice.

    A rule without which the others do not suffice is in every sufficient subset, so only the
    rest is searched, by increasing size.
    """

    def suffices(subset: Sequence[Rule]) -> bool:
        return apply_rules(left, subset)[0].lines == apply_rules(right, subset)[0].lines

    needed = {
        each.name for each in rules if not suffices([other for other in rules if other != each])
    }
    rest = [each.name for each in rules if each.name not in needed]
    for size in range(len(rest) + 1):
        for extra in itertools.combinations(rest, size):
            subset = tuple(each for each in rules if each.name in needed.union(extra))
            if suffices(subset):
                return subset
    raise AssertionError("all rules together were said to suffice, and do not")


def _place(rule: Rule) -> str:
    return f"{inspect.getmodule(rule.apply).__name__}.{rule.apply.__qualname__}"  # type: ignore[union-attr]
