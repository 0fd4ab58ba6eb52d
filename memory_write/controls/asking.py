"""Asks for a consolidation of what was put into the folders."""

import logging
from collections.abc import Sequence

from state.errors import StateError
from state.recovery import State

_LOG = logging.getLogger(__name__)


async def ask_for_consolidation(state: State, versions: Sequence[str]) -> None:
    """Let each version be consolidated; a database that cannot be written now is only told."""
    now_ms = state.clock.now_ms()
    try:
        async with state.database.writing() as tx:
            for version in versions:
                await state.jobs.enqueue_consolidation(tx, version=version, watermark_ms=now_ms)
    except StateError as error:
        # The files are there, and the next pass sees them by itself.
        _LOG.warning("a consolidation could not be asked for: %s", error)
