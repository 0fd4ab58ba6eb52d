"""The time of a turn stands still while people are asked."""

import asyncio

from server.agent.turn_clock import TurnClock


async def test_it_is_over_once_when_it_ran_and_never_while_it_stands() -> None:
    """With no time left it is over at once, as soon as it goes on."""
    over = asyncio.Event()
    clock = TurnClock(0, over.set)
    clock.run()
    clock.run()
    clock.stand()
    clock.stand()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not over.is_set()
    clock.run()
    await asyncio.wait_for(over.wait(), 5)
