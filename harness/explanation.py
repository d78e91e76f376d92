"""The nouns of an explanation: where a difference is born, whose it is, what and how much."""

from __future__ import annotations

from harness.record import Record


class AlignedPass(Record, frozen=True):
    """One row of the two pass sequences, aligned by name.

    ``left``/``right`` are indices into the reference's and candidate's trace, None where only
    the other side runs the pass. ``difference`` is the number of differing lines, after all
    rules, between the two sides' IR after this row; None where it could not be measured
    (``note`` says why). ``event``, on rows of both sides, is ``born``, ``grows``, ``shrinks``,
    ``vanishes`` or empty, against the last such row. ``partner`` is, for a pass that both sides
    run at different places, the row where the other side runs it. ``plugin``: the pass, its
    options or its absence are the plugin's doing. ``behaviour`` comes from grafting: ``same``,
    ``differs``, ``not grafted``, ``idle`` (the pass changed nothing on either side) or empty.
    """

    manager: str
    name: str
    left: int | None = None
    right: int | None = None
    left_options: str = ""
    right_options: str = ""
    difference: int | None = None
    event: str = ""
    behaviour: str = ""
    plugin: bool = False
    partner: int | None = None
    note: str = ""


class Birth(Record, frozen=True):
    """A place where a difference is born or grows: the pass, and what kind it is.

    ``by`` says how it is known: ``graft`` (the pass behaves differently on the same IR),
    ``only here`` (the pass runs on one side only, and the difference grows past it),
    ``moved`` (it runs at different places, and the difference has grown past both) or
    ``front end`` (it is there before any pass that both sides run).
    """

    row: int
    manager: str
    pass_name: str
    event: str
    by: str
    kinds: tuple[str, ...] = ()
    example_left: str = ""
    example_right: str = ""


class Crossing(Record, frozen=True):
    """One cell of the evidence matrix: ``front``'s TTGIR through ``back``'s remaining stages.

    ``artifacts`` maps the stages that came out (``llir``, and ``ptx`` or ``amdgcn``) to sha256;
    ``equals`` names the sides whose own assembly this is, or is equivalent to by rules.
    ``rewrites`` are the named rewrites that the text needed. ``void`` says why the cell is no
    evidence (a self-crossing that does not reproduce the side's own result, a failure).
    ``note`` says why a self-crossing, which is but a control, was not needed.
    """

    front: str
    back: str
    artifacts: dict[str, str] = {}
    equals: tuple[str, ...] = ()
    rewrites: tuple[str, ...] = ()
    void: str = ""
    note: str = ""


class Graft(Record, frozen=True):
    """One side's pass run on the other side's IR from before it.

    ``result`` is ``same`` (it gives what the other side's own pass gave), ``differs`` or
    ``not grafted`` (``note`` says why).
    """

    row: int
    name: str
    runner: str
    result: str
    note: str = ""


class Count(Record, frozen=True):
    """How often something occurs on each side, in one checkpoint or stage."""

    stage: str
    table: str
    name: str
    left: int
    right: int


class Resources(Record, frozen=True):
    """What one side's binary needs. Bytes per thread for stack and spills, per CTA for shared.

    ``occupancy`` is the theoretical share of an SM's warps (0 to 1) and ``limiter`` what
    limits it; None where the target's limits are not known. ``mix`` counts instructions.
    """

    registers: int | None = None
    spill_stores: int | None = None
    spill_loads: int | None = None
    stack: int | None = None
    shared: int | None = None
    threads: int | None = None
    occupancy: float | None = None
    limiter: str = ""
    instructions: int | None = None
    mix: dict[str, int] = {}


class Explanation(Record, frozen=True):
    """Everything known about why one case differs.

    ``attributions`` are the causes found, the first one decisive (``unresolved`` if none has
    evidence); ``evidence`` says in one sentence each what they rest on.
    ``same_back_end`` answers the headline question, whether the reference's back end turns the
    candidate's TTGIR into the reference's own assembly: ``yes``, ``no`` or ``unknown``.
    ``gaps`` are the parts that could not be done, each with its reason.
    """

    rows: tuple[AlignedPass, ...] = ()
    births: tuple[Birth, ...] = ()
    failing_pass: str = ""
    matrix: tuple[Crossing, ...] = ()
    grafts: tuple[Graft, ...] = ()
    attributions: tuple[str, ...] = ("unresolved",)
    evidence: tuple[str, ...] = ()
    same_back_end: str = "unknown"
    counts: tuple[Count, ...] = ()
    resources: dict[str, Resources] = {}
    gaps: tuple[str, ...] = ()
