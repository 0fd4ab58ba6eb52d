"""Who writes next."""

import asyncio

from state.write_queue import FOREGROUND_MAX, WriteQueue, in_background


async def _writes(queue: WriteQueue, name: str, order: list[str]) -> None:
    async with queue:
        order.append(name)


async def _order(queue: WriteQueue, names: list[str]) -> list[str]:
    """All wait while one holds it; lower case ones are of the background."""
    order: list[str] = []
    tasks = []
    async with queue:
        for name in names:
            if name.islower():
                with in_background():
                    tasks.append(asyncio.create_task(_writes(queue, name, order)))
            else:
                tasks.append(asyncio.create_task(_writes(queue, name, order)))
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    return order


async def test_what_somebody_waits_for_goes_first_and_each_kind_in_its_order() -> None:
    """Whoever came first."""
    assert await _order(WriteQueue(), ["a", "b", "A", "c", "B"]) == ["A", "B", "a", "b", "c"]


async def test_the_background_is_not_starved() -> None:
    """After so many others in a row one of it has its turn."""
    names = ["a", *(f"N{number}" for number in range(2 * FOREGROUND_MAX))]
    assert (await _order(WriteQueue(), names)).index("a") == FOREGROUND_MAX


async def test_who_gives_up_waiting_keeps_nobody_from_the_turn() -> None:
    """Also one that was given it and was cancelled before it went on."""
    queue, order = WriteQueue(), list[str]()
    async with queue:
        tasks = [asyncio.create_task(_writes(queue, name, order)) for name in "ABC"]
        await asyncio.sleep(0)
        tasks[1].cancel()
    tasks[0].cancel()  # the turn is its own already
    await asyncio.wait(tasks)
    assert order == ["C"]
    await _writes(queue, "D", order)
    assert order == ["C", "D"]


async def test_one_that_fails_hands_on() -> None:
    """The lock is free after an error inside."""
    queue = WriteQueue()
    try:
        async with queue:
            raise ValueError
    except ValueError:
        pass
    assert await _order(queue, ["A"]) == ["A"]
