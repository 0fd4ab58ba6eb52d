"""Only lines that are known to be left are read while a withdrawal is not carried out."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_read.instructions import memory_section
from memory_read.search import MemorySearch
from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import WITHDRAWN, ReadGate, left_of
from state.errors import PathRefused
from state.home import Home
from state.ids import ThreadId
from state.recovery import State
from state.stores.withheld import Withheld
from tests.support.published import SUMMARY, publish
from tests.support.searching import searching

GONE = ThreadId("00000000-0000-7000-8000-000000000001")
NOTE = "extensions/ad_hoc/notes/2026-11-29T10-00-00-a.md"


class Judge:
    """Says what is left, and how often it was asked."""

    def __init__(self, lines: Mapping[str, frozenset[str]] | None) -> None:
        self.lines = lines
        self.asked: list[frozenset[ThreadId]] = []

    def __call__(
        self, version: str, thread_ids: frozenset[ThreadId]
    ) -> Mapping[str, frozenset[str]]:
        self.asked.append(thread_ids)
        if self.lines is None:
            raise OSError("the disk does not answer")
        return self.lines


def summary_without(line: str) -> dict[str, frozenset[str]]:
    """The summary is left but for this line."""
    return {"memory_summary.md": frozenset(one.strip() for one in SUMMARY.split("\n")) - {line}}


def test_without_a_withdrawal_nobody_is_asked(home: Home, memory: Path) -> None:
    """One look for each read, and every line stands."""
    judge = Judge({})
    snapshot = MemorySnapshot(home, "v1", ReadGate(Withheld(), judge, home.memories))
    assert snapshot.summary() == SUMMARY
    assert snapshot.left() is None and snapshot.standing().says_nothing
    assert judge.asked == []


def test_it_is_judged_once_until_more_goes_or_another_edition_stands(
    home: Home, memory: Path
) -> None:
    """However many read meanwhile."""
    withheld, judge = Withheld(), Judge(summary_without("- Run `make check`."))
    snapshot = MemorySnapshot(home, "v1", ReadGate(withheld, judge, home.memories))
    withheld.add(GONE, ("v1",))
    for _ in range(3):
        assert snapshot.summary() == SUMMARY.replace("- Run `make check`.", WITHDRAWN)
    assert judge.asked == [frozenset({GONE})]
    (memory / "MEMORY.md").write_text("# Other\n")
    publish(memory)
    snapshot.summary()
    withheld.add(ThreadId("other"), ("v1", "v2"))
    snapshot.summary()
    assert judge.asked[1:] == [frozenset({GONE}), frozenset({GONE, ThreadId("other")})]
    withheld.give_back(GONE)
    withheld.give_back(ThreadId("other"))
    assert snapshot.summary() == SUMMARY


def test_what_changed_since_and_pieces_of_lines_show_too_little(home: Home, memory: Path) -> None:
    """A line by hand, a file that is new, a part of a line; but notes are a person's."""
    withheld = Withheld()
    withheld.add(GONE, ("v1",))
    gate = ReadGate(withheld, Judge(summary_without("")), home.memories)
    snapshot = MemorySnapshot(home, "v1", gate)
    (memory / "memory_summary.md").write_text(SUMMARY + "- of GONE, written now\n")
    (memory / "skills").mkdir()
    (memory / "skills" / "new.md").write_text("of GONE\n")
    note = memory / NOTE
    note.parent.mkdir(parents=True)
    note.write_text("a person says this\n")
    assert (snapshot.summary() or "").endswith(f"{WITHDRAWN}\n")
    assert [one.text for one in snapshot.notes()] == ["a person says this\n"]
    names = {str(one["path"]) for one in snapshot.list()["entries"]}  # type: ignore[attr-defined]
    assert names == {"extensions", "memory_summary.md"}
    for path in ("MEMORY.md", "./MEMORY.md", "skills/new.md", "rollout_summaries/one.md"):
        with pytest.raises(PathRefused, match="was not found"):
            snapshot.read(path)
    assert snapshot.read(f"./{NOTE}")["content"] == "a person says this\n"
    found = snapshot.search(queries=["GONE"])
    assert found["matches"] == []
    line = SUMMARY.split("\n")[2]
    left = snapshot.left()
    assert left is not None
    assert left.stands(f"  {line} ", path="memory_summary.md")
    assert not left.stands(line[:-1], path="memory_summary.md") or not line


def test_a_window_that_was_found_by_a_withheld_line_is_no_match(home: Home, memory: Path) -> None:
    """Its other lines would tell that the word stands there."""
    (memory / "memory_summary.md").write_text("v1\n- alpha\n- beta of GONE\n- gamma\n")
    withheld = Withheld()
    withheld.add(GONE, ("v1",))
    lines = {"memory_summary.md": frozenset({"v1", "- alpha", "- gamma"})}
    snapshot = MemorySnapshot(home, "v1", ReadGate(withheld, Judge(lines), home.memories))
    mode = {"type": "all_within_lines", "line_count": 3}
    for queries, matches in ((["alpha", "beta"], 0), (["alpha"], 1), (["gamma", "beta"], 0)):
        found = snapshot.search(queries=queries, match_mode=mode)["matches"]
        assert len(found) == matches, queries  # type: ignore[arg-type]
    around = snapshot.search(queries=["alpha"], context_lines=2)["matches"]
    assert [one["content"] for one in around] == [  # type: ignore[attr-defined]
        f"v1\n- alpha\n{WITHDRAWN}\n- gamma"
    ]


def test_what_cannot_be_judged_shows_nothing(home: Home, memory: Path) -> None:
    """No section, no file, no line."""
    withheld = Withheld()
    withheld.add(GONE, ("v1",))
    gate = ReadGate(withheld, Judge(None), home.memories)
    snapshot = MemorySnapshot(home, "v1", gate)
    assert snapshot.summary() is None and snapshot.lines("memory_summary.md", 1, 2) is None
    section = memory_section(home, version="v1", use=True, dedicated_tools=True, gate=gate)
    assert (section.parts, section.reason) == ((), "no_summary")
    assert snapshot.list()["entries"] == []


def test_folders_are_there_as_long_as_a_file_of_them_is() -> None:
    """By whatever spelling of their path."""
    left = left_of({"skills/a/SKILL.md": frozenset({"x"})}, frozenset({GONE}))
    for path in ("", ".", "skills", "skills/", "./skills/a", "skills/a/SKILL.md", "extensions/x"):
        assert not left.hides(path), path
    for path in ("skills/b", "MEMORY.md", "skill", "extensions.md"):
        assert left.hides(path), path


async def test_of_many_readers_one_judges_and_none_keeps_a_thread(home: Home, memory: Path) -> None:
    """More of them than there are threads; who leaves does not end it for the others."""
    begun, go = threading.Event(), threading.Event()
    judge = Judge(summary_without("- Run `make check`."))

    def slowly(version: str, thread_ids: frozenset[ThreadId]) -> Mapping[str, frozenset[str]]:
        begun.set()
        assert go.wait(20)
        return judge(version, thread_ids)

    withheld = Withheld()
    gate = ReadGate(withheld, slowly, home.memories)
    await gate.ready("v1")
    assert not begun.is_set(), "where nobody is withdrawn nobody waits"
    withheld.add(GONE, ("v1",))
    readers = [asyncio.create_task(gate.ready("v1")) for _ in range(100)]
    await asyncio.to_thread(begun.wait, 20)
    readers[0].cancel()
    await asyncio.wait(readers[:1])
    assert await asyncio.to_thread(lambda: "a thread is free") and not readers[1].done()
    go.set()
    await asyncio.gather(*readers[1:])
    assert judge.asked == [frozenset({GONE})]
    assert MemorySnapshot(home, "v1", gate).summary() != SUMMARY
    assert len(judge.asked) == 1


async def test_a_hit_tells_neither_heading_nor_source_that_was_withdrawn(
    state: State, memory: Path
) -> None:
    """Though the line itself is left, and the index knows all of it."""
    kept = ThreadId("00000000-0000-7000-8000-000000000002")
    line = f"- the tests need a badge (thread_id={GONE}, thread_id={kept})"
    (memory / "MEMORY.md").write_text(f"# Work\n\n## Of the gone one\n\n{line}\n- and zanzibar\n")
    withheld, judge = Withheld(), Judge({"MEMORY.md": frozenset({"# Work", line})})
    async with searching(state) as (index, _):
        search = MemorySearch(state, index, gate=ReadGate(withheld, judge, state.home.memories))
        [hit] = (await search.search("which badge", version="v1")).hits
        assert (hit.heading, hit.thread_ids) == ("Work > Of the gone one", (GONE, kept))
        assert len((await search.search("zanzibar", version="v1")).hits) == 1
        withheld.add(GONE, ("v1",))
        [hit] = (await search.search("which badge", version="v1")).hits
        assert (hit.heading, hit.text, hit.thread_ids) == ("Work", line, (kept,))
        assert (await search.search("zanzibar", version="v1")).hits == ()
