"""Planted pass changes: stage-hook plugins that change one pass of one side's pipeline."""

from pathlib import Path

HOOK = '''"""Planted: {kind} the call number {occurrence} of {adder}."""

from triton._C import libtriton

OWNER, _, NAME = {adder!r}.rpartition(".")
owner = libtriton
for part in filter(None, OWNER.split(".")):
    owner = getattr(owner, part)
real = getattr(owner, NAME)
calls = 0
held = []


def planted(pm, *args, **keywords):
    global calls
    calls += 1
    if calls - 1 != {occurrence}:
        return real(pm, *args, **keywords)
    {action}


def swap_after(pm, args):
    """Let the pass that is added next go first."""
    import sys

    def wrap(holder, name, function):
        def added(manager, *rest, **more):
            result = function(manager, *rest, **more)
            if held and manager is held[0][0]:
                manager, arguments = held.pop()
                real(manager, *arguments)
            return result

        setattr(holder, name, added)

    for path in {neighbours!r}:
        holder = libtriton
        *parents, name = path.strip(".").split(".")
        for part in parents:
            holder = getattr(holder, part)
        wrap(holder, name, getattr(holder, name))
    held.append((pm, args))


def inspect_stages(backend, stages, options, language, capability):
    setattr(owner, NAME, planted)
'''

ACTIONS = {
    "remove": "return None",
    "add": "real(pm, *args, **keywords); libtriton.passes.{extra}(pm)",
    "swap": "swap_after(pm, args)",
    "option": "return real(pm, *{arguments!r})",
}


def write(
    path: Path,
    kind: str,
    adder: str,
    occurrence: int,
    *,
    extra: str = "",
    neighbours: tuple[str, ...] = (),
    arguments: tuple[object, ...] = (),
) -> Path:
    """A hook that plants one change at the ``occurrence``-th call (from 0) of ``adder``."""
    action = ACTIONS[kind].format(extra=extra, arguments=arguments)
    path.write_text(
        HOOK.format(
            kind=kind,
            adder=adder.strip("."),
            occurrence=occurrence,
            action=action,
            neighbours=neighbours,
        )
    )
    return path
