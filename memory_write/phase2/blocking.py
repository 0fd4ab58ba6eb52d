"""Work that a cancellation waits for.

Invariant: a thread that writes into a copy has ended before anybody removes the copy.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Run it even if this task is cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and task.exception() is None:
        raise asyncio.CancelledError
    return task.result()


async def in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Run blocking work in a thread; when this returns or is cancelled, the thread has ended."""
    return await to_the_end(asyncio.to_thread(work, *given, **named))
