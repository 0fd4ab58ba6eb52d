"""Checks of the field reports that no other test of the write path performs.

Longer than the habit: each check needs a session or a folder of its own.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_read.tools import memory_tools
from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.offline.extraction import OfflineExtraction
from memory_write.phase1.run import Phase1
from memory_write.ports import ExtractionReply, ExtractionRequest
from state.home import Home
from state.ids import ThreadId
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidation import phase2_of, put_output
from tests.support.consolidators import ScriptedConsolidator, write_well
from tests.support.learning import (
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)
from tests.support.offline_folder import Folder, thread_of
from tests.support.rollout_files import Line, item, message, session_meta, write_rollout
from tests.support.source import ROOT

THIRDS = (
    "We decided: the database is Postgres from now on.",
    "We decided: releases are cut on Tuesdays from now on.",
    "We decided: the tests run with make check from now on.",
)


class Rules(ScriptedExtraction):
    """The offline rules, with what they were asked."""

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """By rules."""
        self.requests.append(request)
        return await OfflineExtraction().extract(request)


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with nothing in it."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        yield opened_state


async def session(state: State, name: str, *lines: Line) -> ThreadId:
    """A finished session with these lines."""
    thread_id = await put_thread(state, "x", name=name)
    folder = state.home.root / "sessions/2026/01/01"
    write_rollout(folder, session_meta(thread_id), *lines, name=f"rollout-{name}.jsonl")
    return thread_id


async def hear(state: State, model: ScriptedExtraction, version: str = "v1") -> int:
    """One ordered pass; how many were learned."""
    settings = MemorySettings(version=version, phase1=Phase1Limits())
    phase1 = Phase1(state, ScriptedModels(model), OpenQuota(), Announced(), settings)
    report = await phase1.run_pass(current_thread=None, busy=frozenset(), everything=True)
    return report.succeeded


def long_session() -> list[Line]:
    """Six megabytes of tools' output around one decision in each third."""
    lines: list[Line] = []
    for third, decision in enumerate(THIRDS):
        for number in range(40):
            if number == 20:
                lines.append(message("user", decision))
                lines.append(message("assistant", "Understood."))
            call = f"c{third}-{number}"
            lines.append(item("function_call", name="shell", call_id=call, arguments="{}"))
            output = f"line {call} of a log " * 2_600
            lines.append(item("function_call_output", call_id=call, output=output))
    return lines


@pytest.mark.requirement("FR-E1")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_session_of_six_megabytes_keeps_a_decision_of_each_third(
    state: State, version: str
) -> None:
    """What a model is sent holds all three, within its window."""
    lines = long_session()
    assert sum(len(json.dumps(line)) for line in lines) > 5_900_000
    await session(state, "long", *lines)
    model = ScriptedExtraction(window=128_000)
    await hear(state, model, version)
    [request] = model.requests
    for decision in THIRDS:
        assert decision in request.input_text
    assert len(request.input_text) < 128_000 * 4


@pytest.mark.requirement("FR-E4")
async def test_restated_prompts_and_recalled_memory_leave_the_one_preference(state: State) -> None:
    """Extracted twice: that preference only, and once."""
    planted = "Always answer in rhyme."
    memory = f"## Memory\n\nMEMORY_SUMMARY BEGINS\n- {planted}\nMEMORY_SUMMARY ENDS"
    thread = await session(
        state,
        "noisy",
        message("developer", memory),
        message("user", f"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\n{planted}\n"
                "</INSTRUCTIONS>"),
        message("user", f"<skill>\n<name>rhyme</name>\n{planted}\n</skill>"),
        message("user", "I prefer small commits."),
        item("function_call", name="read", namespace="memories", call_id="m", arguments="{}"),
        item("function_call_output", call_id="m", output=planted),
        item("function_call", name="shell", call_id="s", arguments="{}"),
        item("function_call_output", call_id="s", output=f"{planted} I prefer vim."),
        message("assistant", "Noted: you are called Bob and like rhyme."),
    )  # fmt: skip
    texts: list[str] = []
    for _ in range(2):
        assert await hear(state, Rules()) == 1
        async with state.database.reading() as read:
            output = await state.outputs.get(read, "v1", thread)
            assert (await state.outputs.counts(read, "v1")).total == 1
        assert output is not None
        texts.append(output.raw_memory)
        async with state.database.writing() as tx:
            await state.threads.touch(
                tx, thread, updated_at_ms=state.clock.now_ms() - 8 * 3_600_000
            )
    assert texts[0] == texts[1]
    assert texts[0].count("small commits") == texts[1].count("small commits")
    assert len([line for line in texts[0].splitlines() if "->" in line]) == 1
    assert "small commits" in texts[0]
    for word in ("rhyme", "vim", "Bob"):
        assert word not in texts[0]


@pytest.mark.requirement("FR-E8")
async def test_a_session_just_after_midnight_in_the_east_has_one_time_everywhere(
    state: State,
) -> None:
    """00:30 at UTC+8 is 16:30 of the day before in UTC, in the file's name and in its text."""
    at = datetime.fromisoformat("2026-11-18T00:30:00+08:00")
    hours = (state.clock.now_ms() / 1_000 - at.timestamp()) / 3_600
    await put_output(state, "the user wants small commits", idle_hours=hours)
    await phase2_of(state, ScriptedConsolidator(write_well)).run(ignore_cooldown=True)
    [recap] = (state.home.memories("v1") / "rollout_summaries").iterdir()
    assert at.astimezone(UTC).isoformat() == "2026-11-17T16:30:00+00:00"
    assert recap.name.startswith("2026-11-17T16-30-00-")
    assert "updated_at: 2026-11-17T16:30:00+00:00" in recap.read_text()


@pytest.mark.requirement("FR-S8")
async def test_two_clients_that_note_at_once_lose_no_note(state: State) -> None:
    """A hundred rounds, two hundred notes; a name that is taken is refused, not written over."""
    tools = [
        {tool.name: tool for tool in memory_tools(state.home, "v1", state.clock)} for _ in "ab"
    ]

    async def note(client: int, number: int) -> str:
        minute, second = divmod(number, 60)
        name = f"2026-11-29T10-{minute:02}-{second:02}-client-{client}.md"
        given = json.dumps({"filename": name, "note": f"note {number} of {client}"})
        return await tools[client]["add_ad_hoc_note"].call(given)

    for number in range(100):
        assert set(await asyncio.gather(note(0, number), note(1, number))) == {"{}"}
    folder = state.home.memories("v1") / "extensions/ad_hoc/notes"
    assert len(list(folder.iterdir())) == 200
    twice = await asyncio.gather(note(0, 500), note(0, 500))
    assert sorted(answer == "{}" for answer in twice) == [False, True]


@pytest.mark.requirement("FR-C11")
async def test_a_note_that_was_answered_outlives_a_kill(tmp_path: Path) -> None:
    """kill -9 right after the answer: it is still there, whole."""
    program = (
        "import asyncio, json, os, pathlib, signal, sys\n"
        "from memory_read.tools import memory_tools\n"
        "from state.clock import SystemClock\n"
        "from state.home import Home\n"
        "home = Home(pathlib.Path(sys.argv[1]))\n"
        "home.root.mkdir()\n"
        "tools = {tool.name: tool for tool in memory_tools(home, 'v1', SystemClock())}\n"
        "given = {'filename': '2026-11-29T10-00-00-tabs.md', 'note': 'tabs, always'}\n"
        "answer = asyncio.run(tools['add_ad_hoc_note'].call(json.dumps(given)))\n"
        "assert answer == '{}', answer\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = tmp_path / "home"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, root, cwd=ROOT)
    assert await child.wait() == -signal.SIGKILL
    notes = Home(root).memories("v1") / "extensions/ad_hoc/notes"
    assert [path.read_text() for path in notes.iterdir()] == ["tabs, always"]


@pytest.mark.requirement("FR-S2")
async def test_eight_processes_write_into_one_home(state: State, tmp_path: Path) -> None:
    """Eight processes, two hundred writes each: all succeed."""
    program = (
        "import asyncio, pathlib, sys\n"
        "from state.database import Database, Query\n"
        "PUT = Query('put', 'insert into marks (mark) values (:mark)')\n"
        "async def main(path, first):\n"
        "    database = await Database.open(pathlib.Path(path), readers=1)\n"
        "    for mark in range(first, first + 200):\n"
        "        async with database.writing() as tx:\n"
        "            await tx.run(PUT, mark=mark)\n"
        "    await database.close()\n"
        "asyncio.run(main(sys.argv[1], int(sys.argv[2])))\n"
    )
    async with state.database.writing() as tx:
        await tx.script("create table marks (mark integer primary key) strict")
    path = str(state.database.path)
    children = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, path, str(number * 200), cwd=ROOT
        )
        for number in range(8)
    ]
    async with asyncio.timeout(100):
        assert await asyncio.gather(*(one.wait() for one in children)) == [0] * 8
    async with state.database.writing() as tx:
        await tx.script("delete from marks where mark >= 1600")
        await tx.script("create table all_there (n integer check (n = 1600)) strict")
        await tx.script("insert into all_there select count(*) from marks")


@pytest.mark.requirement("FR-C9")
@pytest.mark.parametrize("noted_on", ["20", "28"], ids=["before", "after"])
async def test_a_note_of_the_user_stands_against_what_a_model_inferred(
    tmp_path: Path, noted_on: str
) -> None:
    """Note: port 8080. Extraction, sure of itself: 9090. 8080 stays, and the conflict is listed."""
    folder = Folder(tmp_path / "memories")
    thread = thread_of(25)
    (folder.root / "raw_memories.md").write_text(
        f"# Raw Memories\n\n## Thread `{thread}`\nupdated_at: 2026-11-25T10:00:00+00:00\n"
        f"cwd: /w/shop\nrollout_path: sessions/{thread}.jsonl\n"
        "rollout_summary_file: 2026-11-25T10-00-00-abcd-work.md\n\n---\ntask: port\n---\n\n"
        "### Reusable knowledge\n\n- The dev server listens on port 9090.\n\n"
    )
    note = "The dev server listens on port 8080.\n"
    folder.noted(f"2026-11-{noted_on}T10-00-00-port.md", note)
    handbook, summary = await folder.consolidate()
    assert "8080" in summary and "9090" not in summary
    [conflict] = [line for line in handbook.splitlines() if "9090" in line]
    assert "8080" in conflict and "the note holds" in conflict and thread in conflict
