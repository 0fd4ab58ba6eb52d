"""What a running server says it carries, in the overview, `memoryd status` and the doctor."""

import asyncio
import time
from pathlib import Path

import pytest

from server.cli.render import overview as as_text
from server.loop_lag import LOOK_S, LoopLag
from tests.support.homes import serving
from tests.support.installed import memoryd
from tests.support.methods import started
from tests.support.wire import KINDS, WAIT_S, Kind


@pytest.mark.requirement("FR-T21")
async def test_a_block_of_the_loop_is_in_the_metric() -> None:
    """The longest of the last minute and of the whole life; nothing where nothing was measured."""
    lag = LoopLag()
    assert (lag.recent_ms, lag.longest_ms) == (0, 0)
    lag.start()
    time.sleep(2 * LOOK_S)  # noqa: ASYNC251  the block that is to be seen
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    lag.stop()
    assert lag.recent_ms == lag.longest_ms >= LOOK_S * 900


@pytest.mark.requirement("FR-T21")
@pytest.mark.parametrize("kind", KINDS)
async def test_every_client_and_the_doctor_are_told_how_long_the_loop_stood(
    kind: Kind, tmp_path: Path
) -> None:
    """A block that happened in the running server, as the longest of a minute and of its life."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        lag = home.server.services.loop_lag
        time.sleep(3 * LOOK_S)  # noqa: ASYNC251  the block that is to be seen
        async with asyncio.timeout(WAIT_S):
            while lag.longest_ms < LOOK_S * 1_000:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        load = (await client.request("memory/overview", {}))["server"]["load"]
        assert load["loopLagMs"] == load["loopLagLongestMs"] >= LOOK_S * 1_000
        told = await asyncio.to_thread(memoryd, "doctor", home=home.home.root)
        [line] = [one for one in told.stdout.splitlines() if "serves this home" in one]
        assert f"{load['loopLagLongestMs']} ms" in line, line


async def test_clients_listeners_delays_and_sizes_are_counted(tmp_path: Path) -> None:
    """A client that comes and one that goes are seen; the command prints the same in one line."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        before = (await client.request("memory/overview", {}))["server"]["load"]
        assert (before["peers"], before["subscriptions"]) == (1, 0)
        assert before["databaseBytes"] > 0
        async with home.wire.client("websocket") as other:
            thread = await started(client)
            await started(other)
            view = await client.request("memory/overview", {})
            load = view["server"]["load"]
            assert (load["peers"], load["subscriptions"]) == (2, 2)
            assert (load["outboxDropped"], load["runningCommands"], load["mcpServers"]) == (0, 0, 0)
        await client.request("thread/unsubscribe", {"threadId": thread})
        after = (await client.request("memory/overview", {}))["server"]["load"]
        assert (after["peers"], after["subscriptions"]) == (1, 0)
        lines = list(as_text(view, joined=True))
        assert any(
            line.startswith("load      2 clients with 2 subscriptions, 0 m") for line in lines
        )
        assert not any(line.startswith("load") for line in as_text(view, joined=False))
        told = await asyncio.to_thread(memoryd, "doctor", home=home.home.root)
        assert "serves this home; 2 clients with 0 subscriptions, " in told.stdout
