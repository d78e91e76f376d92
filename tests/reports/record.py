"""Record a run for these tests: python tests/reports/record.py RUN-FOLDER STORE [GLOB...].

Keeps the cases that match, and of the store only what the report copies; run it again when the
records of ``harness/model.py`` and ``harness/result.py`` change.
"""

import fnmatch
import gzip
import shutil
import sys
from pathlib import Path

import msgspec

from harness.result import Run
from harness.store import Store

DATA = Path(__file__).parent / "data"


def main(run_folder: str, store_root: str, *patterns: str) -> None:
    """Write ``data/run.json.gz`` and ``data/store``."""
    run = msgspec.json.decode((Path(run_folder) / "run.json").read_bytes(), type=Run)
    results = tuple(
        result
        for result in run.results
        if not patterns or any(fnmatch.fnmatch(result.case.id, p) for p in patterns)
    )
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    kept = Store(DATA / "store")
    source = Store(Path(store_root))
    for result in results:
        for compilation in result.compilations.values():
            for artifact in compilation.artifacts.values():
                data = source.read(artifact)
                assert data is not None, f"{result.case.id}: {artifact} is not in {store_root}"
                kept.put(data)
    record = msgspec.json.encode(msgspec.structs.replace(run, results=results))
    (DATA / "run.json.gz").write_bytes(gzip.compress(record, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
