"""Ranked search at growing sizes of memory, beside ripgrep over the same folder in the same run.

The text is made up, with words as often as in real prose (Zipf); questions are words of a piece of
it. Printed too: time and size of the index, what one changed file costs, and processor time, which
a busy machine distorts less.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state

SIZES = (1_000, 10_000, 100_000)
UNITS_A_FILE = 400
WORDS_A_UNIT = 125
VOCABULARY = 40_000
WARM = 20


def _vocabulary(chance: random.Random) -> list[str]:
    parts = ["ba", "cor", "di", "fen", "gul", "hap", "jo", "kem", "lis", "mun", "nor", "pel", "qua"]
    parts += ["ris", "sol", "tav", "ur", "vex", "wim", "yon", "zet"]
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        made[
            "".join(chance.choices(parts, k=chance.choice((1, 2, 2, 3, 3, 4))))
            + chance.choice(("", "", "er", "ing", "s", "ed"))
        ] = None
        if len(made) % 7 == 0:
            made[f"x{len(made)}"] = None
    return list(made)


def write(folder: Path, units: int) -> list[str]:
    """A memory of so many bullets; questions that it can answer."""
    chance = random.Random(7)
    words = _vocabulary(chance)
    weights = list(itertools.accumulate(1 / (rank + 2.7) ** 1.05 for rank in range(len(words))))
    (folder / "rollout_summaries").mkdir(parents=True)
    questions: list[str] = []
    for number in range(0, units, UNITS_A_FILE):
        lines = []
        for unit in range(min(UNITS_A_FILE, units - number)):
            if unit % 20 == 0:
                lines.append(
                    "\n## " + " ".join(chance.choices(words, cum_weights=weights, k=4)) + "\n"
                )
            said = chance.choices(words, cum_weights=weights, k=WORDS_A_UNIT)
            lines.append("- " + " ".join(said))
            if chance.random() < 300 / units:
                questions.append(" ".join(chance.sample(said, chance.choice((2, 3, 5, 8)))))
        path = folder / "rollout_summaries" / f"{number // UNITS_A_FILE:05d}.md"
        path.write_text("\n".join(lines) + "\n")
    return questions


async def measure(units: int, rounds: int) -> dict[str, Any]:
    """The figures of one size."""
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as place:
        home = Home(Path(place) / "home")
        home.prepare()
        folder = home.memories("v1")
        questions = write(folder, units)
        state = await open_state(home, SystemClock(), "bench")
        index = SearchIndex(state)
        search = MemorySearch(state, index)
        try:
            figures: dict[str, Any] = {
                "units": units,
                "text_mb": round(_bytes_below(folder) / 1e6, 1),
            }
            begun = time.perf_counter()
            while (await index.look("v1")).missing:
                await index.finished("v1")
            figures["index_s"] = round(time.perf_counter() - begun, 1)
            figures["database_mb"] = round(home.database.stat().st_size / 1e6, 1)
            for question in questions[:WARM]:
                await search.search(question, version="v1")
            figures["search_ms"] = await _searches(search, questions, rounds)
            figures["ripgrep_ms"] = await asyncio.to_thread(_greps, folder, questions, rounds)
            figures["ripgrep_over_search_p50"] = round(
                figures["ripgrep_ms"]["p50"] / figures["search_ms"]["p50"], 1
            )
            figures["changed_file_ms"] = await _changed(search, index, folder)
            return figures
        finally:
            await index.close()
            await state.close()


async def _searches(search: MemorySearch, questions: list[str], rounds: int) -> dict[str, float]:
    taken = []
    found = 0
    spent = time.process_time()
    for question in itertools.islice(itertools.cycle(questions), rounds):
        begun = time.perf_counter()
        reply = await search.search(question, version="v1")
        taken.append(time.perf_counter() - begun)
        found += bool(reply.hits)
    cpu_ms = round((time.process_time() - spent) / rounds * 1e3, 2)
    return _spread(taken) | {"cpu": cpu_ms, "answered": round(found / rounds, 3)}


def _greps(folder: Path, questions: list[str], rounds: int) -> dict[str, float]:
    """One call for a question, for any of its words, as an agent with a shell would ask."""
    taken = []
    before = os.times()
    for question in itertools.islice(itertools.cycle(questions), min(rounds, 40)):
        words = [part for word in question.split() for part in ("-e", word)]
        begun = time.perf_counter()
        subprocess.run(
            ["rg", "-i", "-n", "-w", "--max-count", "10", *words, str(folder)],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        taken.append(time.perf_counter() - begun)
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return _spread(taken) | {"cpu": round(spent / len(taken) * 1e3, 2)}


async def _changed(search: MemorySearch, index: SearchIndex, folder: Path) -> float:
    """From the change of one file until an answer from the index holds it."""
    path = folder / "rollout_summaries" / "00000.md"
    path.write_text(path.read_text() + "- the heliotrope was added\n")
    begun = time.perf_counter()
    while True:
        reply = await search.search("heliotrope", version="v1")
        assert reply.hits
        if not reply.indexing:
            return round((time.perf_counter() - begun) * 1e3, 1)
        await index.finished("v1")


def _spread(taken: list[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {
        "p50": round(statistics.median(ordered) * 1e3, 2),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3, 2),
    }


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.md"))


def main() -> None:
    """Print the figures of all sizes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest size")
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    if shutil.which("rg") is None:
        raise SystemExit("ripgrep (rg) is needed for the comparison")
    sizes = SIZES[:2] if given.quick else SIZES
    found = [asyncio.run(measure(size, given.rounds)) for size in sizes]
    print(json.dumps({"search": found, "cpus": os.cpu_count(), "load": os.getloadavg()}, indent=2))


if __name__ == "__main__":
    main()
