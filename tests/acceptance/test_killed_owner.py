"""The owner is killed: while turns stream, and right behind the reply that takes a user's words."""

import asyncio
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.homes import provider_config
from tests.support.methods import error_of, said
from tests.support.owner_process import START_S, WAYS, Way, owned, owner_serving
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer
from tests.support.wire import WireClient

PLAN = Call(name="update_plan", arguments={"plan": []})
ANSWER = "one two three four five six seven eight nine ten"
TRANSPORTS: tuple[Way, ...] = ("relay", "websocket", "unix") * 2


@dataclass(slots=True)
class Acknowledged:
    """What one client was told: it must be there whatever happens to the owner."""

    thread_id: str
    empty: str
    """A thread that was begun and in which nothing was said."""
    turns: dict[str, str] = field(default_factory=dict)
    """Of each turn that was answered, what its user said."""
    items: set[str] = field(default_factory=set)


async def _begun(client: WireClient, cwd: Path) -> Acknowledged:
    """One turn that ended, and one that is in the middle of its answer."""
    started = await client.request("thread/start", {"cwd": str(cwd)})
    empty = await client.request("thread/start", {"cwd": str(cwd)})
    known = Acknowledged(started["thread"]["id"], empty["thread"]["id"])
    first = await said(client, known.thread_id, "plain")
    known.turns[first["id"]] = "plain"
    words = [{"type": "text", "text": "slow"}]
    reply = await client.request("turn/start", {"threadId": known.thread_id, "input": words})
    known.turns[reply["turn"]["id"]] = "slow"
    while (await client.notification("item/agentMessage/delta"))["turnId"] != reply["turn"]["id"]:
        """Of the first turn; the words of the second are in its file before its first delta."""
    return known


def _told(client: WireClient, known: Acknowledged) -> None:
    for frame in client.frames:
        if frame.get("method") == "item/completed":
            known.items.add(frame["params"]["item"]["id"])


async def _compared(client: WireClient, known: Acknowledged) -> None:
    """Everything that was acknowledged is there, nothing seems to run, and the thread goes on."""
    error = await error_of(client, "thread/resume", {"threadId": known.empty})
    assert error["message"] == f"no rollout found for thread id {known.empty}"
    resumed = await client.request("thread/resume", {"threadId": known.thread_id})
    turns = {turn["id"]: turn for turn in resumed["thread"]["turns"]}
    assert list(turns) == list(known.turns)
    assert [turn["status"] for turn in turns.values()] == ["completed", "interrupted"]
    for turn_id, text in known.turns.items():
        assert turns[turn_id]["items"][0]["content"][0]["text"] == text
    shown = {item["id"] for turn in turns.values() for item in turn["items"]}
    assert known.items <= shown
    assert (await said(client, known.thread_id, "plain"))["status"] == "completed"


@pytest.mark.timeout(600)
@pytest.mark.requirement("P10", "P11", "FR-T20")
async def test_a_killed_owner_loses_nothing_that_any_client_was_told(tmp_path: Path) -> None:
    """Six clients on three transports in mid-answer; the next owner has it all."""
    home = tmp_path / "home"
    home.mkdir()
    gate = asyncio.Event()

    def choose(request: Recorded) -> Reply:
        slow = request.user_texts[-1] == "slow" and not gate.is_set()
        return Reply(text=ANSWER, gate=gate) if slow else Reply(text=ANSWER)

    async with ResponsesServer() as model:
        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        acknowledged: list[Acknowledged] = []
        async with owner_serving(home, tmp_path) as owner, AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(owner.client(transport)) for transport in TRANSPORTS
            ]
            acknowledged = await asyncio.gather(*(_begun(one, tmp_path) for one in clients))
            owner.process.send_signal(signal.SIGKILL)
            for client, known in zip(clients, acknowledged, strict=True):
                async with asyncio.timeout(START_S):
                    await client.closed.wait()
                _told(client, known)
        gate.set()
        async with owner_serving(home, tmp_path) as owner:
            for transport, known in zip(reversed(TRANSPORTS), acknowledged, strict=True):
                async with owner.client(transport) as client:
                    await _compared(client, known)


async def _start(client: WireClient, thread_id: str, text: str) -> None:
    words = [{"type": "text", "text": text}]
    await client.request("turn/start", {"threadId": thread_id, "input": words})


async def _take_words(client: WireClient, model: ResponsesServer, cwd: Path) -> dict[str, str]:
    """Have words taken in every way that there is, the last of them a moment ago; by thread."""

    async def thread() -> str:
        return str((await client.request("thread/start", {"cwd": str(cwd)}))["thread"]["id"])

    joined, behind, injected, new = [await thread() for _ in range(4)]
    asked = len(model.requests)
    # An answer with a call is not cut, so what joins its turn waits for an end that never comes.
    await _start(client, joined, "call")
    while (await client.notification("item/completed"))["item"]["type"] != "reasoning":
        """The call is right behind it."""
    await _start(client, joined, "these words joined")
    await said(client, behind, "plain")
    await client.request("thread/compact/start", {"threadId": behind})
    await model.wait_for_requests(asked + 3, seconds_max=START_S)
    await _start(client, behind, "these words are behind")
    content = [{"type": "input_text", "text": "these words were injected"}]
    item = {"type": "message", "role": "user", "content": content}
    await client.request("thread/inject_items", {"threadId": injected, "items": [item]})
    await _start(client, new, "these words are new")
    return {
        joined: "these words joined",
        behind: "these words are behind",
        injected: "these words were injected",
        new: "these words are new",
    }


@pytest.mark.timeout(300)
@pytest.mark.requirement("P11")
@pytest.mark.parametrize("transport", WAYS)
async def test_words_that_were_acknowledged_outlive_a_kill_right_behind_the_reply(
    tmp_path: Path, transport: Way
) -> None:
    """In a new thread, in a turn that goes on, behind a compaction, and put in by a program."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:

        def choose(request: Recorded) -> Reply | None:
            last = request.user_texts[-1]
            if last == "call":
                return Reply(reasoning="why", calls=(PLAN,), hangs=True)
            return Reply(text="notes", hangs=True) if "colleague" in request.text else None

        model.choose = choose
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with owned(transport, home, tmp_path) as (process, client):
            taken = await _take_words(client, model, tmp_path)
            process.send_signal(signal.SIGKILL)
        model.choose = lambda _: None
        async with owned(transport, home, tmp_path) as (_, client):
            for thread_id, text in taken.items():
                shown = await client.request("thread/resume", {"threadId": thread_id})
                if "injected" not in text:
                    last = shown["thread"]["turns"][-1]
                    assert last["status"] == "interrupted"
                    assert last["items"][-1]["content"][0]["text"] == text
                await said(client, thread_id, "and now")
                assert [one for one in model.requests[-1].user_texts if one == text] == [text]
                page = await client.request("thread/items/list", {"threadId": thread_id})
                texts = [
                    row["item"]["content"][0]["text"]
                    for row in page["data"]
                    if row["item"]["type"] == "userMessage"
                ]
                assert texts.count(text) == ("injected" not in text)
