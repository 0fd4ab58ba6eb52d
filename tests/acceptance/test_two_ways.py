"""Clients on different ways to one server in a process of its own, in the same moment."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.admissions import ROUNDS, exactly_one_begins, said_by_user, steered, words
from tests.support.homes import provider_config
from tests.support.methods import said
from tests.support.owner_process import START_S, Way, ended, owner_serving, spawned
from tests.support.responses_server import Recorded, Reply, ResponsesServer, says
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
PAIRS: tuple[tuple[Way, Way], ...] = (
    ("stdio", "relay"),
    ("websocket", "unix"),
    ("relay", "websocket"),
    ("unix", "relay"),
)
CHANGES = 100
STEERS = 40
NOTHING = json.dumps({"rollout_summary": "", "rollout_slug": "", "raw_memory": ""})


async def _attached(ways: tuple[Way, ...], home: Path, stack: AsyncExitStack) -> list[WireClient]:
    """A client of each way to one server; the one on stdio, if any, has spawned the owner."""
    if ways[0] == "stdio":
        process, link = await spawned(home)
        stack.push_async_callback(ended, process)
        clients = [WireClient(link)]
        await clients[0].initialize()
        for _ in ways[1:]:
            process, link = await spawned(home)
            stack.push_async_callback(ended, process)
            clients.append(WireClient(link))
            await clients[-1].initialize()
        return clients
    owner = await stack.enter_async_context(owner_serving(home, home.parent))
    return [await stack.enter_async_context(owner.client(way)) for way in ways]


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T9")
@pytest.mark.parametrize("ways", PAIRS)
async def test_of_two_starts_for_an_idle_thread_exactly_one_begins(
    ways: tuple[Way, Way], tmp_path: Path
) -> None:
    """Whichever way each comes, five hundred times together."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model, AsyncExitStack() as stack:
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        first, second = await _attached(ways, home, stack)
        rounds = -(-ROUNDS // len(PAIRS))
        await exactly_one_begins(first, second, model, str(tmp_path), rounds=rounds)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T10")
@pytest.mark.parametrize("ways", PAIRS)
async def test_a_client_that_steers_by_an_old_id_needs_one_retry(
    ways: tuple[Way, Way], tmp_path: Path
) -> None:
    """The thread is idle, or the other client has begun the next turn meanwhile."""
    home, gate = tmp_path / "home", asyncio.Event()
    home.mkdir()
    async with ResponsesServer() as model, AsyncExitStack() as stack:
        model.choose = lambda request: (
            says("in two halves", gate=gate) if "held" in request.user_texts[-1] else None
        )
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        first, second = await _attached(ways, home, stack)
        thread = (await first.request("thread/start", {"cwd": str(tmp_path)}))["thread"]["id"]
        old, wanted = (await said(first, thread, "hello"))["id"], ["hello"]
        await second.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        for number in range(STEERS):
            gate.clear()
            expected = None
            if number % 2:
                start = {"threadId": thread, "input": words(f"held {number}")}
                expected = (await first.request("turn/start", start))["turn"]["id"]
                wanted.append(f"held {number}")
            taken, retries = await steered(second, thread, old, f"and {number}")
            assert retries == 1 and expected in (None, taken)
            wanted.append(f"and {number}")
            gate.set()
            for client in (first, second):
                assert (await client.notification("turn/completed"))["turn"]["id"] == taken
            old = old if number % 4 else taken
        assert await said_by_user(first, thread) == wanted


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T15")
@pytest.mark.parametrize("ways", [("stdio", "relay"), ("websocket", "unix")])
async def test_a_hundred_changes_of_a_mode_are_answered_while_extractions_hang(
    ways: tuple[Way, Way], tmp_path: Path
) -> None:
    """Of a thread that is in use, of each client's own; learning ends when the model answers."""
    home, gate = tmp_path / "home", asyncio.Event()
    home.mkdir()

    def choose(request: Recorded) -> Reply | None:
        return says(NOTHING, gate=gate) if request.structured else None

    async with ResponsesServer() as model, AsyncExitStack() as stack:
        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        clients = await _attached(ways, home, stack)
        await clients[0].request("thread/import", {"path": str(SAMPLES)})
        order = {"wait": True}
        learning = asyncio.create_task(clients[0].reply("memory/consolidate/start", order))
        await model.wait_for_requests(5, seconds_max=START_S)

        async def change(client: WireClient) -> None:
            given = {"cwd": str(tmp_path), "memoryMode": "disabled"}
            thread = (await client.request("thread/start", given))["thread"]["id"]
            await said(client, thread, "hello")
            told = await client.request("thread/memory/report", {"threadId": thread})
            assert told["memoryMode"] == "disabled"
            for number in range(CHANGES):
                mode = "disabled" if number % 2 else "enabled"
                asked = {"threadId": thread, "mode": mode}
                assert await client.request("thread/memoryMode/set", asked) == {}
                told = await client.request("thread/memory/report", {"threadId": thread})
                assert told["memoryMode"] == mode

        await asyncio.gather(*(change(client) for client in clients))
        view = await clients[1].request("memory/overview", {})
        assert view["jobs"]["running"] == 5 and not learning.done()
        gate.set()
        done = (await learning)["result"]
        assert (done["status"], done["extraction"]["claimed"]) == ("finished", 5)
