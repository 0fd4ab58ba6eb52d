"""What background runs and hidden threads open is closed again: counted, not guessed."""

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from state.ids import uuid7
from tests.support.homes import provider_config, serving
from tests.support.methods import said, started
from tests.support.model_consolidator import well
from tests.support.owner_process import owner_serving
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls, says_json
from tests.support.rollout_files import legacy_turn, session_meta, write_rollout
from tests.support.wire import WireClient

SESSIONS, FEW_SESSIONS = 100, 30
"""Each is heard and consolidated: two background runs."""
WARM_UP = 10
HIDDEN_EACH = 5
"""One hidden thread for so many sessions."""
LEFT = str(100_000 + os.getpid())
"""What a process is called by that a command leaves behind; nobody else's is called so."""
POOLED_MAX = 8
"""Threads that pools may still start after the warm-up; a run that leaves one leaves far more."""
GOOD = {
    "rollout_summary": "# The person wants small commits\n\nRollout context: webshop",
    "rollout_slug": "small_commits",
    "raw_memory": "---\ndescription: commits\n---\n\n### Task 1: commits\n\n- small commits",
}


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds; tasks only of this one."""

    threads: int
    descriptors: int
    children: int
    tasks: int = 0

    @classmethod
    def of(cls, pid: int) -> "Held":
        """Count from outside."""
        process = psutil.Process(pid)
        orphans = sum(
            ["sleep", LEFT] == one.info["cmdline"] for one in psutil.process_iter(["cmdline"])
        )
        return cls(
            threads=process.num_threads(),
            descriptors=process.num_fds(),
            children=orphans + len(process.children(recursive=True)),
        )

    @classmethod
    def now(cls) -> "Held":
        """Count in this process."""
        gc.collect()
        return replace(cls.of(os.getpid()), tasks=len(asyncio.all_tasks()))


def _chosen(request: Recorded) -> Reply | None:
    """Extracts, consolidates, and lets each turn of a hidden thread run one command."""
    if request.structured:
        return says_json(GOOD)
    if "write" in request.tool_names:
        return well(request)
    if any(one["type"] == "function_call_output" for one in request.body["input"]):
        return None
    leaves_one = f"sleep {LEFT} > /dev/null 2>&1 & echo hidden"
    return calls(Call(name="exec_command", arguments={"cmd": leaves_one}))


async def _sessions(client: WireClient, folder: Path, count: int) -> list[str]:
    ids = [str(uuid7(1_795_976_000_000 + number)) for number in range(count)]
    for number, thread_id in enumerate(ids):
        said_ = f"I prefer small commits in project {number}, always; please remember that."
        meta = session_meta(thread_id, cwd=f"/home/ann/project{number}")
        write_rollout(
            folder / f"{number}", meta, *legacy_turn(said_, "I will."), thread_id=thread_id
        )
    for number in range(count):
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


async def _ran(
    client: WireClient, folder: Path, held: Callable[[], Held], *, sessions: int
) -> tuple[Held, Held, list[Any]]:
    """All of it; what was held when it was warm and in the end, and what came of the learning."""
    counted: list[Held] = []
    outcomes: list[Any] = []
    for number, thread_id in enumerate(await _sessions(client, folder / "sessions", sessions)):
        outcomes.append(await _learned(client, thread_id))
        if number % HIDDEN_EACH == 0:
            await _hidden(client, folder)
        if number in (WARM_UP, sessions - 1):
            counted.append(held())
    before, after = counted
    return before, after, outcomes


def _is_flat(before: Held, after: Held, outcomes: list[Any]) -> None:
    extracted = sum(one["extraction"]["succeeded"] for one in outcomes)
    statuses = [one["consolidation"]["status"] for one in outcomes]
    assert extracted == len(outcomes), outcomes[-1]
    assert statuses.count("published") == len(outcomes), statuses
    # One that rules of another test computed in may end meanwhile.
    assert after.children <= before.children, (before, after)
    assert after.threads <= before.threads + POOLED_MAX, (before, after)
    assert after.descriptors <= before.descriptors + 2, (before, after)


@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
@pytest.mark.requirement("FR-T22")
async def test_background_runs_leave_no_task_behind(tmp_path: Path) -> None:
    """Nor anything else: extractions, consolidations, and hidden threads with commands."""
    async with ResponsesServer() as model:
        model.choose = _chosen
        async with (
            serving(tmp_path, config=provider_config(model.base_url)) as home,
            home.wire.client("pair") as client,
        ):
            before, after, outcomes = await _ran(client, tmp_path, Held.now, sessions=FEW_SESSIONS)
    _is_flat(before, after, outcomes)
    # A hidden thread stays loaded until it was idle for long, with a task; some work at any moment.
    assert after.tasks <= before.tasks + FEW_SESSIONS // HIDDEN_EACH + 5, (before, after)


@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
@pytest.mark.requirement("FR-T22")
async def test_a_server_of_its_own_is_as_large_after_two_hundred_background_runs(
    tmp_path: Path,
) -> None:
    """Its threads, descriptors and children, counted from outside while learning went on."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        model.choose = _chosen
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with owner_serving(home, tmp_path) as owner, owner.client("websocket") as client:
            held = partial(Held.of, owner.process.pid)
            ran = await _ran(client, tmp_path, held, sessions=SESSIONS)
    _is_flat(*ran)
