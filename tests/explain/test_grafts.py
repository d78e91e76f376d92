"""Grafting a side's own passes on its own IR gives what its compilation gave."""

from pathlib import Path

from harness import corpus, toolchains
from harness.compile import compile_case
from harness.explain.cross import graft
from harness.store import Store
from harness.workers import Worker

CASE = "async_copy/ring_copy/*cuda:90"


def test_grafts_in_a_chain_and_alone_and_the_compilation_agree(
    fork: toolchains.Toolchain, tmp_path: Path
):
    store = Store(tmp_path / "store")
    case = corpus.load([corpus.DEFAULT]).select([CASE])[0]
    with Worker(fork, toolchains.controls("controlled", {"fork": fork})) as worker:
        side = compile_case(worker, case, "print", store, snapshots=True)
        trace = side.trace
        items = [
            (f"{at}", trace[at], trace[at - 1].sha256)
            for at in range(1, len(trace))
            if trace[at].arguments and trace[at].sha256 != trace[at - 1].sha256
        ]

        read = store.snapshots(side.key)
        chained = graft(worker, "print", case, items, store, read)
        # In the other order no graft's input is what a graft before it made.
        alone = graft(worker, "print", case, items[::-1], store, read)
        store.object_path(chained.outputs[items[0][0]]).write_bytes(b"nonsense")
        mended = graft(worker, "print", case, items, store, read)
    assert mended == chained
    assert store.whole(mended.outputs.values())
    assert len(items) > 10
    assert not chained.errors and not alone.errors
    assert chained.outputs == alone.outputs
    for name, step, _ in items:
        made, compiled = store.get(chained.outputs[name]), read(step.sha256)
        assert made is not None and compiled is not None
        assert _body(made) == _body(compiled), step.name


def _body(text: bytes) -> list[bytes]:
    """Without the module's attributes: the fork's conversion to TTGIR is told some of them apart
    from its arguments, which is why a graft that differs needs its control."""
    return [line for line in text.splitlines() if not line.startswith(b"module")]
