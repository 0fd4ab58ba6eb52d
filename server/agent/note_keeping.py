"""Keeps the notes of an agent's tool through the one function that writes notes.

The tool works in a thread of its own, the notes on the loop. A note goes into every version that is
written; what counts for the answer is the one that the thread reads.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from state.errors import PathRefused, StateError
from state.notes import Kept, keep_note
from state.recovery import State

WAIT_S = 30
"""A loop that ended meanwhile answers nobody."""

log = logging.getLogger(__name__)

Keep = Callable[[str, str], None]


def note_keeping(state: State, version: str, versions: Sequence[str]) -> Keep:
    """What the note tool of threads that read this version calls, from its thread."""
    loop = asyncio.get_running_loop()

    def keep(name: str, text: str) -> None:
        work = asyncio.run_coroutine_threadsafe(_keep(state, version, versions, name, text), loop)
        try:
            work.result(WAIT_S)
        except TimeoutError as error:
            raise PathRefused("the note could not be kept in time; try again") from error
        except PathRefused:
            raise
        except StateError as error:
            raise PathRefused(f"the note could not be kept: {error}") from error

    return keep


async def _keep(state: State, version: str, versions: Sequence[str], name: str, text: str) -> None:
    outcome = await keep_note(state, version, name, text)
    if not isinstance(outcome, Kept):
        raise PathRefused(f"ad-hoc note '{name}' already exists")
    for other in versions:
        if other == version:
            continue
        try:
            await keep_note(state, other, name, text)
        except (StateError, OSError) as error:
            # It is in force where it was asked for; the other one learns it from a later note.
            log.warning("memory %s does not have the note %s: %s", other, name, error)
