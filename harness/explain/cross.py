"""Crossing and grafting: one side's IR through the other side's back end, or single passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.compile import options_for, target_of
from harness.explain.rewrites import candidates
from harness.model import Case, PassStep
from harness.record import Record
from harness.scratch import scratch
from harness.store import Store, digest
from harness.workers import Worker


class Crossed(Record, frozen=True):
    """What came out of a back end: stage -> sha256 of the stored artifact, or why nothing."""

    artifacts: dict[str, str] = {}
    rewrites: str = ""
    failure: str = ""


class Grafted(Record, frozen=True):
    """Output hashes of a batch of grafts by item id; ``errors`` has the others."""

    outputs: dict[str, str] = {}
    errors: dict[str, str] = {}


def cross(worker: Worker, fingerprint: str, case: Case, handover: str, store: Store) -> Crossed:
    """Feed the module ``handover`` (a stored hash) to the back end of ``worker``'s side, up to
    assembly.

    Named rewrites are tried where the text does not parse. The result is kept in the store.
    """
    key = digest(_key(fingerprint, worker, case, [handover]))
    known = store.load("cross", key, Crossed)
    if known is not None and store.whole(known.artifacts.values()):
        return known
    data = store.get(handover)
    if data is None:
        return Crossed(failure="the module was not kept")
    text = data.decode()
    result = _cross_once(worker, case, text, "", store)
    if result.failure and not result.artifacts:
        for names, rewritten in candidates(text):
            other = _cross_once(worker, case, rewritten, names, store)
            if not other.failure:
                result = other
                break
    store.save("cross", key, result)
    return result


def graft(
    worker: Worker,
    fingerprint: str,
    case: Case,
    items: Sequence[tuple[str, PassStep, str]],
    store: Store,
    read: Callable[[str], bytes | None],
) -> Grafted:
    """Run single passes of ``worker``'s side: items are (id, pass step, hash of input IR).

    ``read`` gives the IR of a hash. The outputs are kept in the store. A pass that crashes the
    process costs itself only.
    """
    if not items:
        return Grafted()
    key = digest(
        _key(fingerprint, worker, case, [f"{i} {s.adder} {s.arguments} {x}" for i, s, x in items])
    )
    known = store.load("graft", key, Grafted)
    if known is not None and store.whole(known.outputs.values()):
        return known
    outputs: dict[str, str] = {}
    errors: dict[str, str] = {}
    with scratch(store) as folder:
        requests = []
        for item, step, source in items:
            data = read(source)
            if data is None:
                errors[item] = "its input was not kept"
            elif not step.arguments:
                errors[item] = "the pass was given arguments that are no plain values"
            else:
                path = folder / f"{source}.mlir"
                path.write_bytes(data)
                requests.append(
                    {
                        "id": item,
                        "adder": step.adder,
                        "arguments": step.arguments,
                        "input": str(path),
                        "sha256": source,
                    }
                )
        done = folder / "grafts"
        done.mkdir()
        for _ in range(len(requests)):
            request = {"job": "graft", "target": target_of(case), "items": requests}
            worker.run(request, _child(folder))
            if len({path.stem for path in done.iterdir()}) == len(requests):
                break
        for request_item in requests:
            path = done / str(request_item["id"])
            error = path.with_suffix(".error")
            if error.exists():
                errors[path.name] = error.read_text()
            elif path.exists():
                outputs[path.name] = store.put(path.read_bytes()).sha256
    result = Grafted(outputs, errors)
    store.save("graft", key, result)
    return result


def _cross_once(worker: Worker, case: Case, text: str, rewrites: str, store: Store) -> Crossed:
    with scratch(store) as folder:
        (folder / "input.ttgir").write_text(text)
        request = {
            "job": "cross",
            "target": target_of(case),
            "options": options_for(worker, case),
        }
        ended = worker.run(request, folder)
        artifacts = {}
        for stage in case.target.stages[2:-1]:
            for path in (folder / "cache").glob(f"*/*.{stage}"):
                artifacts[stage] = store.put(path.read_bytes()).sha256
        result = folder / "result.json"
        message = ""
        if not result.exists():
            message = ended["signal"] or f"ended with status {ended['exit_status']}"
        elif not (outcome := json.loads(result.read_text()))["ok"]:
            message = str(outcome["message"])[:500]
        return Crossed(artifacts, rewrites, message)


def _child(folder: Path) -> Path:
    """The folder as the child of a further attempt finds it: without the last one's leftovers."""
    import shutil

    for name in ("cache", "tmp"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return folder


def _key(fingerprint: str, worker: Worker, case: Case, parts: Sequence[str]) -> bytes:
    whole = [fingerprint, worker.controls.described, worker.controls.options]
    whole += [str(case.target), case.options, list(parts)]
    return json.dumps(whole, sort_keys=True).encode()
