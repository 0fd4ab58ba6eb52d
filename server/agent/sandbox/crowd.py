"""Ends a command that starts too many processes, where the kernel does not count them: as root.

A look costs one small file; only when the machine as a whole has that many more tasks than before
are the command's own counted. What was started between two looks is over the bound.
"""

import asyncio

from server.agent.sandbox.confine import descendants, tasks_of_the_machine


async def until_crowded(pid: int, *, processes_max: int, look_s: float) -> None:
    """Return when the descendants of that process are more than that."""
    lowest = tasks_of_the_machine()
    while True:
        await asyncio.sleep(look_s)
        now = tasks_of_the_machine()
        lowest = min(lowest, now)
        if now - lowest <= processes_max:
            continue
        if len(await asyncio.to_thread(descendants, pid)) > processes_max:
            return
