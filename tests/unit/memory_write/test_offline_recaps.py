"""The offline rules for a version with recaps alone: what is written is read back."""

import json
from dataclasses import replace

import pytest

from memory_write.hand_lines import HandLine
from memory_write.offline.compact import BYTES_MAX, render_compact
from memory_write.offline.extraction import OfflineExtraction
from memory_write.offline.folder import gather
from memory_write.offline.gathered import Note, ThreadInput
from memory_write.offline.hand_edits import HandEdits, called, carried
from memory_write.offline.recaps import threads_of_recaps
from memory_write.offline.summary import HAND_HEADING
from memory_write.phase1.output import parse_v2
from memory_write.phase2.sources import cited_in
from memory_write.phase2.verify import summary_findings
from memory_write.recipes import V2
from tests.support.transcripts import extraction_request, typed

NAME = "2026-11-02T09-14-05-VxSL-tabs.md"
SAID = ("I prefer small commits.", "From now on run the linter before you commit.")


def header(thread_id: str, *, cwd: str = "/home/u/shop", day: str = "2026-11-02") -> str:
    """The first lines of a recap's file."""
    return (
        f"thread_id: {thread_id}\nupdated_at: {day}T09:00:00+00:00\n"
        f"rollout_path: sessions/x.jsonl\ncwd: {cwd}\ngit_branch: main\n\n"
    )


async def recap(*said: str) -> str:
    """What the rules write about a session in which this was typed."""
    request = replace(extraction_request(typed(*said)), version="v2")
    reply = await OfflineExtraction().extract(request)
    assert set(json.loads(reply.text)) == {"rollout_summary", "rollout_slug"}
    return parse_v2(reply.text, bytes_max=100_000).rollout_summary


def uuid(number: int) -> str:
    """The id of a thread."""
    return f"01a22885-a84d-73b3-9289-{number:012d}"


async def test_a_recap_stands_alone_and_is_read_back() -> None:
    """Each statement with the user's words, its kind and its scope."""
    text = await recap(*SAID)
    assert text.startswith("# The user stated 2 things worth keeping while working in proj_a\n")
    assert "- Place: /home/user/proj_a" in text
    [thread] = threads_of_recaps([(NAME, header(uuid(1)) + text)])
    assert (thread.thread_id, thread.cwd) == (uuid(1), "/home/u/shop")
    assert (thread.recap_name, thread.updated_at[:10]) == (NAME, "2026-11-02")
    assert [entry.quote for entry in thread.entries] == [one.rstrip(".") + "." for one in SAID]
    assert all(entry.sources == (uuid(1),) for entry in thread.entries)


async def test_a_session_without_a_standing_word_leaves_nothing() -> None:
    """Both fields are empty."""
    request = replace(extraction_request(typed("Run the tests")), version="v2")
    reply = await OfflineExtraction().extract(request)
    assert json.loads(reply.text) == {"rollout_summary": "", "rollout_slug": ""}


async def test_the_summary_points_to_every_recent_recap() -> None:
    """By its exact name and the full id of its thread, statements above."""
    recaps = [
        (f"{number}.md", header(uuid(number), day=f"2026-11-{number:02}") + await recap(said))
        for number, said in enumerate(SAID, 1)
    ]
    recaps.append(("4.md", header(uuid(4), day="2026-11-09") + "# A model wrote this\n\nProse.\n"))
    recaps.append(("5.md", header(uuid(5), day="2026-10-01") + "# Long ago\n"))
    text = render_compact(gather(threads_of_recaps(recaps), (), HandEdits()))
    assert list(summary_findings(text, V2)) == []
    assert cited_in(text).thread_ids == {uuid(number) for number in (1, 2, 4, 5)}
    assert "\n#### 2026-11-09\n\n- rollout_summaries/4.md — A model wrote this; thread_id=" in text
    assert text.index("#### 2026-11-09") < text.index("#### 2026-11-02")
    older = text.index("### Older Memory Topics")
    assert text.index("Long ago") > older > text.index("#### 2026-11-01")
    assert "small commits" in text[: text.index("## What's in Memory")]
    assert "MEMORY.md" not in text


@pytest.mark.parametrize("count", [1, 40, 400])
def test_the_summary_stays_below_its_bound(count: int) -> None:
    """However much there is; its form holds as well when there is nothing."""
    words = " ".join(f"word{number}" for number in range(30))
    heard = tuple(
        ThreadInput(
            thread_id=uuid(number),
            updated_at=f"2026-{1 + number % 12:02}-11T09:00:00+00:00",
            cwd=f"/home/u/project{number % 7}",
            rollout_path="",
            recap_name=f"{number}.md",
            task=f"{words} thread_id={uuid(9)}" if number % 2 else words,
            outcome="success",
            entries=(),
        )
        for number in range(count)
    )
    notes = tuple(Note(name=f"2026-01-01T00-00-{n % 60:02}-n.md", text=words) for n in range(count))
    hand = HandEdits(
        kept=tuple(HandLine(f"{words} {n}") for n in range(count)),
        removed=tuple(f"{n:012x}" for n in range(count)),
    )
    text = render_compact(gather(heard, notes, hand))
    assert len(text.encode()) <= BYTES_MAX + 200
    assert list(summary_findings(text, V2)) == []
    assert cited_in(text).thread_ids <= {one.thread_id for one in heard}


def test_without_inputs_the_smallest_valid_summary_is_written() -> None:
    """The first line and the four headings."""
    text = render_compact(gather((), (), HandEdits()))
    assert list(summary_findings(text, V2)) == []


def test_edits_by_hand_are_carried_in_the_summary_itself() -> None:
    """There is no handbook to carry them; what was taken out is remembered by its digest."""
    lines = (HandLine("The office closes at five."), HandLine("Use pnpm.", "/w/shop"))
    hand = HandEdits(kept=lines, removed=("0123456789ab",))
    text = render_compact(gather((), (), hand))
    assert carried(text, called(["/w/shop", "/w/blog"]), heading=HAND_HEADING) == hand
    assert "- Use pnpm. (in shop)" in text


def test_a_project_that_nobody_knows_any_more_stays_behind_its_line() -> None:
    """Neither does the line hold anywhere then, nor is its name lost from one time to the next."""
    kept = (HandLine("Use pnpm. (in shop)"),)
    text = render_compact(gather((), (), HandEdits(kept=kept)))
    for folders in ({}, called(["/w/shop", "/v/shop"])):
        assert carried(text, folders, heading=HAND_HEADING).kept == kept
