"""What background runs and hidden threads open is closed again: counted, not guessed."""

import asyncio
import gc
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from state.ids import uuid7
from tests.support.homes import provider_config, serving
from tests.support.methods import said, started
from tests.support.model_consolidator import well
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls, says_json
from tests.support.rollout_files import legacy_turn, session_meta, write_rollout
from tests.support.wire import WireClient

SESSIONS = 100
WARM_UP = 10
HIDDEN_EACH = 5
"""One hidden thread for so many sessions."""
GOOD = {
    "rollout_summary": "# The person wants small commits\n\nRollout context: webshop",
    "rollout_slug": "small_commits",
    "raw_memory": "---\ndescription: commits\n---\n\n### Task 1: commits\n\n- small commits",
}


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds."""

    threads: int
    descriptors: int
    children: int
    tasks: int

    @classmethod
    def now(cls) -> "Held":
        """Count."""
        gc.collect()
        folders = [Path(f"/proc/self/task/{one}/children") for one in os.listdir("/proc/self/task")]
        return cls(
            threads=threading.active_count(),
            descriptors=len(os.listdir("/proc/self/fd")),
            children=sum(len(_text(one).split()) for one in folders),
            tasks=len(asyncio.all_tasks()),
        )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # that thread has ended
        return ""


def _chosen(request: Recorded) -> Reply | None:
    """Extracts, consolidates, and lets each turn of a hidden thread run one command."""
    if request.structured:
        return says_json(GOOD)
    if "write" in request.tool_names:
        return well(request)
    if any(one["type"] == "function_call_output" for one in request.body["input"]):
        return None
    return calls(Call(name="exec_command", arguments={"cmd": "echo hidden"}))


async def _sessions(client: WireClient, folder: Path) -> list[str]:
    ids = [str(uuid7(1_795_976_000_000 + number)) for number in range(SESSIONS)]
    for number, thread_id in enumerate(ids):
        said_ = f"I prefer small commits in project {number}, always; please remember that."
        meta = session_meta(thread_id, cwd=f"/home/ann/project{number}")
        write_rollout(
            folder / f"{number}", meta, *legacy_turn(said_, "I will."), thread_id=thread_id
        )
    for number in range(SESSIONS):
        await client.request("thread/import", {"path": str(folder / f"{number}")})
    return ids


async def _learned(client: WireClient, thread_id: str) -> Any:
    return await client.request("memory/consolidate/start", {"threadId": thread_id, "wait": True})


async def _hidden(client: WireClient, cwd: Path) -> None:
    """A thread that leaves nothing, with a command in its one turn."""
    thread_id = await started(
        client, ephemeral=True, cwd=str(cwd), sandbox="danger-full-access", approvalPolicy="never"
    )
    await said(client, thread_id, "look")
    await client.request("thread/unsubscribe", {"threadId": thread_id})


@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
@pytest.mark.requirement("FR-T22")
async def test_two_hundred_background_runs_leave_nothing_open(tmp_path: Path) -> None:
    """A hundred extractions and as many consolidations, and hidden threads with commands."""
    async with ResponsesServer() as model:
        model.choose = _chosen
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            sessions = await _sessions(client, tmp_path / "sessions")
            counted: list[Held] = []
            outcomes: list[Any] = []
            for number, thread_id in enumerate(sessions):
                outcomes.append(await _learned(client, thread_id))
                if number % HIDDEN_EACH == 0:
                    await _hidden(client, tmp_path)
                if number in (WARM_UP, SESSIONS - 1):
                    counted.append(Held.now())
            extracted = sum(one["extraction"]["succeeded"] for one in outcomes)
            statuses = [one["consolidation"]["status"] for one in outcomes]
    assert extracted == SESSIONS, outcomes[-1]
    assert statuses.count("published") == SESSIONS, statuses
    before, after = counted
    # One that rules of another test computed in may end meanwhile.
    assert after.children <= before.children, (before, after)
    assert after.threads <= before.threads + 1, (before, after)
    assert after.descriptors <= before.descriptors + 2, (before, after)
    # A hidden thread stays loaded until it was idle for long, with a task; some work at any moment.
    assert after.tasks <= before.tasks + SESSIONS // HIDDEN_EACH + 5, (before, after)
