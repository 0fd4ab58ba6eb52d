"""Every bench, one after the other: `python -m tests.bench.all [--reference PATH] [--quick]`."""

import json

from tests.bench import (
    backlog,
    extraction,
    listing,
    load,
    memory,
    modes,
    reads,
    startup,
    threads,
    turns,
)
from tests.bench.figures import options, result

BENCHES = (startup, memory, threads, turns, reads, modes, listing, extraction, backlog, load)

if __name__ == "__main__":
    given = options(__doc__)
    results = []
    for bench in BENCHES:
        measured = bench.main(given.reference, quick=given.quick)
        results.append(result(bench.__name__.rpartition(".")[2], measured))
    print(json.dumps(results, indent=2, ensure_ascii=False))
