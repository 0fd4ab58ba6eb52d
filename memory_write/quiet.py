"""Where learning does its work that computes: a few threads of its own, beside those of clients.

One interpreter runs one thread at a time, so sessions computed side by side are learned no faster
than one after the other; but each thread that computes stands in the way of the event loop, and
clients wait. Invariant: however many sessions are extracted at once, so few of them compute.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

COMPUTING_MAX = 2
"""One, and a second one while the first waits for the disk."""
_HANDS = ThreadPoolExecutor(COMPUTING_MAX, thread_name_prefix="learning")


async def quietly(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """As `asyncio.to_thread`, in the threads of learning."""
    call = partial(copy_context().run, work, *given, **named)
    return await asyncio.get_running_loop().run_in_executor(_HANDS, call)
