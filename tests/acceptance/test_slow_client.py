"""A client that does not read: it costs nobody anything, and is told why it was closed."""

import asyncio
import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.wire.transport import TOO_SLOW
from tests.support.attached import Attached
from tests.support.homes import provider_config
from tests.support.owner_process import JOINING, START_S, Way, owner_serving
from tests.support.responses_server import Call, Reply, ResponsesServer, says
from tests.support.slow_client import CLIENTS, twenty
from tests.support.wire_links import WebSocketLink

EVENT_BYTES = 50_000_000
WARM_BYTES = 40_000_000
"""What turns themselves need is taken by then."""
THREADS = 4
PROGRESS_CHARACTERS = 6_000_000
WINDOW = 10_000_000
"""Tokens: no answer is so long that the thread becomes a summary."""
ASKING = Call(
    name="exec_command",
    arguments={"cmd": "touch a", "sandbox_permissions": "require_escalated"},
)
GROWTH_MIB_MAX = 20


@pytest.mark.timeout(600)
@pytest.mark.requirement("FR-T2")
@pytest.mark.parametrize("transport", JOINING)
async def test_one_of_twenty_never_reads_and_fifty_megabytes_reach_the_others(
    transport: Way, tmp_path: Path
) -> None:
    """The server keeps nothing of it; the slow one learns why, once it looks."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
        async with (
            owner_serving(home, tmp_path) as owner,
            twenty(owner, model, transport, str(tmp_path)) as flood,
        ):
            await flood.run(WARM_BYTES)
            before, seen = flood.sizes_mib[-1], len(flood.turns)
            await flood.slow.pause()
            running = asyncio.create_task(flood.run(EVENT_BYTES))
            closing = asyncio.create_task(flood.closed.wait())
            await asyncio.wait({running, closing}, return_when=asyncio.FIRST_COMPLETED)
            closing.cancel()
            assert flood.closed.is_set(), "it was not closed"
            flood.slow.wake()
            code = await flood.slow.gone()
            await running
        assert max(flood.sizes_mib[seen:]) - before < GROWTH_MIB_MAX
        [dropped] = re.findall(r"client was closed: too slow, (\d+) dropped", "".join(flood.log))
        if isinstance(flood.slow.link, WebSocketLink):
            reason = f"too slow, {dropped} dropped"
            assert (code, flood.slow.link.close_reason) == (TOO_SLOW, reason)
        assert int(dropped) > 0 and not flood.slow.turns[flood.turns[-1]]
        first, *others = flood.others
        assert len(others) + 2 == CLIENTS and first.bytes > EVENT_BYTES
        ended = [{key for key in one.items if key[0] in flood.turns} for one in flood.others]
        assert len(ended[0]) == 2 * len(flood.turns)
        for one, its in zip(flood.others, ended, strict=True):
            assert one.lagged == 0 and its == ended[0] and set(one.items.values()) == {1}
            assert [one.turns[turn] for turn in flood.turns] == [1] * len(flood.turns)


@pytest.mark.timeout(300)
@pytest.mark.requirement("FR-T3")
@pytest.mark.parametrize("transport", JOINING)
async def test_who_stops_for_a_while_misses_progress_alone_and_is_told_how_much(
    transport: Way, tmp_path: Path
) -> None:
    """Items, a reply, a question and the turn's end wait for it behind twenty megabytes."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model, AsyncExitStack() as stack:
        config = f"model_context_window = {WINDOW}\n{provider_config(model.base_url)}"
        (home / "config.toml").write_text(config, "utf-8")
        owner = await stack.enter_async_context(owner_serving(home, tmp_path))
        pausing, steady = [
            await Attached.over(await stack.enter_async_context(owner.link(one)))
            for one in (transport, "unix")
        ]
        given = {"cwd": str(tmp_path), "approvalPolicy": "on-request", "sandbox": "read-only"}
        threads: list[str] = []
        for _ in range(THREADS):
            thread = (await steady.call("thread/start", given))["thread"]["id"]
            threads.append(thread)
            turn = await _begun(steady, thread)
            await steady.until(lambda: steady.turns[turn] > 0)  # noqa: B023
            await pausing.call("thread/resume", {"threadId": thread})
        for counted in (steady.turns, steady.items, steady.progress):
            counted.clear()
        await pausing.pause()
        waiting = await pausing.ask("thread/loaded/list", {})
        for thread in threads:
            text = "x" * PROGRESS_CHARACTERS
            model.script(Reply(text=text, delta_characters=8_000, calls=(ASKING,)), says("done"))
            turn, asked = await _begun(steady, thread), steady.asked.total()
            await steady.until(lambda: steady.asked.total() > asked)  # noqa: B023
            answer = {"id": max(steady.asked), "result": {"decision": "decline"}}
            await steady.link.send(orjson.dumps(answer))
            await steady.until(lambda: steady.turns[turn] > 0)  # noqa: B023
        assert pausing.turns.total() == 0 and not waiting.done()
        pausing.wake()
        await pausing.until(lambda: pausing.turns.total() == THREADS)
        assert "result" in await asyncio.wait_for(waiting, START_S)
        assert len(steady.items) == 4 * THREADS  # words, two answers and a command
        for counts in ("turns", "items", "asked"):
            its: Counter[Any] = getattr(pausing, counts)
            assert its == getattr(steady, counts) and set(its.values()) == {1}
        assert pausing.dropped > 0 and pausing.progress == steady.progress
        assert set(pausing.markers.values()) == {1}
        for one in (pausing, steady):
            await one.link.close()


async def _begun(client: Attached, thread: str) -> str:
    given = {"threadId": thread, "input": [{"type": "text", "text": "go"}]}
    return str((await client.call("turn/start", given))["turn"]["id"])
