"""Ranked search at growing sizes of memory, beside ripgrep over the same folder in the same run.

Questions of five to fifteen words and of two are asked by turns. ripgrep is asked as a user would,
for the telling words of the same question (`rg -i -c 'one|other'`), and for a single word. Printed
too: time and size of the index, what a changed file costs, how often the line that a question was
made from is among the first ten hits, and processor time, which a busy machine distorts less.
"""

import argparse
import asyncio
import gc
import itertools
import json
import os
import pickle
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from memory_read.wording import asked_stems
from state.clock import SystemClock
from state.home import Home
from state.recovery import open_state
from tests.bench.memory_text import Question, Written, write

SIZES = (1_000, 10_000, 100_000)
WARM = 100
GREPS = 60
VERSION = "v1"


async def measure(units: int, rounds: int, place: Path) -> dict[str, Any]:
    """The figures of one size; a memory that an earlier run left at the place is taken."""
    home = Home(place / f"home-{units}")
    written = await asyncio.to_thread(_memory, home, units)
    folder = home.memories(VERSION)
    state = await open_state(home, SystemClock(), "bench")
    index = SearchIndex(state)
    search = MemorySearch(state, index)
    try:
        begun, spent = time.perf_counter(), time.process_time()
        while (await index.look(VERSION)).missing:
            await index.finished(VERSION)
        figures: dict[str, Any] = {
            "units": (await index.look(VERSION)).units,
            "files": written.files,
            "text_mb": round(_bytes_below(folder) / 1e6, 1),
            "index_s": round(time.perf_counter() - begun, 1),
            "index_cpu_s": round(time.process_time() - spent, 1),
            "database_mb": round(home.database.stat().st_size / 1e6, 1),
        }
        asked = _by_turns(written.questions, written.pairs)
        figures["first_search_ms"] = await _one(search, asked[-1])
        for question in asked[:WARM]:
            await search.search(question.text, version=VERSION)
        gc.collect()
        figures["search_ms"] = await _searches(search, asked, rounds)
        figures["questions_ms"] = await _searches(search, written.questions, rounds // 3)
        figures["pairs_ms"] = await _searches(search, written.pairs, rounds // 3)
        figures["ripgrep_words_ms"] = await asyncio.to_thread(_greps, folder, asked, _words)
        figures["ripgrep_word_ms"] = await asyncio.to_thread(_greps, folder, asked, _word)
        figures["ripgrep_word_p50_over_search_p99"] = round(
            figures["ripgrep_word_ms"]["p50"] / figures["search_ms"]["p99"], 1
        )
        figures["changed_file_ms"] = await _changed(search, index, folder)
        return figures
    finally:
        await index.close()
        await state.close()


def _memory(home: Home, units: int) -> Written:
    noted = home.root / "bench-questions"
    if noted.exists():
        made: Written = pickle.loads(noted.read_bytes())
        return made
    home.prepare()
    written = write(home.memories(VERSION), units)
    noted.write_bytes(pickle.dumps(written))
    return written


def _by_turns(*kinds: Sequence[Question]) -> list[Question]:
    return list(itertools.chain.from_iterable(zip(*kinds, strict=False)))


async def _one(search: MemorySearch, question: Question) -> float:
    begun = time.perf_counter()
    await search.search(question.text, version=VERSION)
    return round((time.perf_counter() - begun) * 1e3, 1)


async def _searches(
    search: MemorySearch, questions: Sequence[Question], rounds: int
) -> dict[str, float]:
    taken = []
    answered = found = 0
    spent = time.process_time()
    for question in itertools.islice(itertools.cycle(questions), rounds):
        begun = time.perf_counter()
        reply = await search.search(question.text, version=VERSION)
        taken.append(time.perf_counter() - begun)
        answered += bool(reply.hits)
        found += any((h.path, h.start_line) == (question.path, question.line) for h in reply.hits)
    cpu_ms = round((time.process_time() - spent) / rounds * 1e3, 2)
    shares = {"answered": round(answered / rounds, 3), "found": round(found / rounds, 3)}
    return _spread(taken) | {"cpu": cpu_ms} | shares


def _words(question: Question) -> str:
    """Any of the words that tell something."""
    telling = [word for word in question.text.split() if asked_stems(f"{word} zzz") != ("zzz",)]
    return "|".join(telling)


def _word(question: Question) -> str:
    return max(question.text.split(), key=len)


def _greps(folder: Path, questions: Sequence[Question], of: Any) -> dict[str, float]:
    taken = []
    before = os.times()
    for question in questions[:GREPS]:
        begun = time.perf_counter()
        subprocess.run(
            ["rg", "-i", "-c", of(question), str(folder)], stdout=subprocess.DEVNULL, check=False
        )
        taken.append(time.perf_counter() - begun)
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return _spread(taken) | {"cpu": round(spent / len(taken) * 1e3, 2)}


async def _changed(search: MemorySearch, index: SearchIndex, folder: Path) -> float:
    """From the change of one file until an answer from the index holds it."""
    path = sorted((folder / "rollout_summaries").iterdir())[0]
    before = path.read_text()
    path.write_text(before + "\n- the heliotrope was added\n")
    begun = time.perf_counter()
    try:
        while True:
            reply = await search.search("heliotrope", version=VERSION)
            assert reply.hits
            if not reply.indexing:
                return round((time.perf_counter() - begun) * 1e3, 1)
            await index.finished(VERSION)
    finally:
        path.write_text(before)


def _spread(taken: list[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {
        "p50": round(statistics.median(ordered) * 1e3, 2),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3, 2),
    }


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.md"))


@contextmanager
def _place(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as made:
        yield Path(made)


def main() -> None:
    """Print the figures of all sizes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest size")
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--units", type=int, help="one size in place of all")
    parser.add_argument("--keep", type=Path, help="keep the memories here, for the next run")
    given = parser.parse_args()
    if shutil.which("rg") is None:
        raise SystemExit("ripgrep (rg) is needed for the comparison")
    sizes = (given.units,) if given.units else SIZES[:2] if given.quick else SIZES
    with _place(given.keep) as place:
        found = [asyncio.run(measure(size, given.rounds, place)) for size in sizes]
    print(json.dumps({"search": found, "cpus": os.cpu_count(), "load": os.getloadavg()}, indent=2))


if __name__ == "__main__":
    main()
