"""A wait can be stopped, a write cannot, and a cancellation by others is never swallowed."""

import asyncio

import pytest

from server.agent.interrupts import Interrupts, Steered, Stopped


async def waiting(interrupts: Interrupts, log: list[str], *, steerable: bool = False) -> None:
    try:
        with interrupts.stoppable(steerable=steerable):
            await asyncio.Event().wait()
    except (Stopped, Steered) as error:
        log.append(str(error) or "steered")
    # What follows is a record: nothing of the stop may reach it.
    await asyncio.sleep(0)
    log.append("recorded")


async def started(interrupts: Interrupts, log: list[str], **more: bool) -> "asyncio.Task[None]":
    task = asyncio.create_task(waiting(interrupts, log, **more))
    await asyncio.sleep(0)
    return task


async def test_a_stop_ends_the_wait_and_nothing_after_it() -> None:
    interrupts, log = Interrupts(), list[str]()
    task = await started(interrupts, log)
    interrupts.request("interrupted")
    interrupts.request("deadline")
    await task
    assert log == ["interrupted", "recorded"] and task.cancelling() == 0


async def test_a_stop_that_came_before_the_wait_is_seen_at_its_door() -> None:
    interrupts, log = Interrupts(), list[str]()
    interrupts.request("deadline")
    await waiting(interrupts, log)
    assert log == ["deadline", "recorded"]


async def test_a_stop_from_inside_the_body_is_raised_at_its_end() -> None:
    interrupts = Interrupts()
    with pytest.raises(Stopped), interrupts.stoppable():
        interrupts.request("interrupted")
    await asyncio.sleep(0)


async def test_steering_cuts_only_what_may_be_cut() -> None:
    interrupts, log = Interrupts(), list[str]()
    task = await started(interrupts, log)
    interrupts.steer()
    await asyncio.sleep(0)
    assert log == []
    interrupts.request("interrupted")
    await task
    again, log = Interrupts(), list[str]()
    task = await started(again, log, steerable=True)
    again.steer()
    again.steer()
    await task
    assert log == ["steered", "recorded"]


async def test_steering_and_stopping_at_once_is_a_stop() -> None:
    interrupts, log = Interrupts(), list[str]()
    task = await started(interrupts, log, steerable=True)
    interrupts.steer()
    interrupts.request("interrupted")
    await task
    assert log == ["interrupted", "recorded"]


@pytest.mark.parametrize("stopped_first", [True, False])
async def test_a_cancellation_by_others_is_not_taken_for_ours(stopped_first: bool) -> None:
    interrupts, log = Interrupts(), list[str]()
    task = await started(interrupts, log)
    if stopped_first:
        interrupts.request("interrupted")
    task.cancel()
    if not stopped_first:
        interrupts.request("interrupted")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == []
