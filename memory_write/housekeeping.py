"""What every pass does first: old rows go, and what was given up under other rules may be tried.

Invariant: a few rows at a time, so that no pass is held up; none that a consolidation stands on.
A home in which nothing was written is looked through once a day, since only time makes rows old.
"""

import logging

from memory_write.limits import DAY_S, MemorySettings
from memory_write.recipes import extraction_rules
from state.errors import StateError
from state.recovery import State

_LOG = logging.getLogger(__name__)


class Housekeeping:
    """When rows are looked through for old ones."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._kept: tuple[int, int] | None = None
        """The changes that were counted at the last look, and when that was."""

    async def keep(self, settings: MemorySettings) -> None:
        """Look if something was written since, this look's own deletions too, or a day went by."""
        changes, now_ms = self._state.database.changes, self._state.clock.now_ms()
        if self._kept is not None and self._kept[0] == changes:
            if 0 <= now_ms - self._kept[1] < DAY_S * 1_000:
                return
        if await _keep_house(self._state, settings):
            self._kept = changes, now_ms


async def _keep_house(state: State, settings: MemorySettings) -> bool:
    """Prune outputs nobody uses and jobs of gone or very old sessions; whether that was done."""
    version, limits, now_ms = settings.version, settings.phase1, state.clock.now_ms()
    try:
        async with state.database.writing() as tx:
            await state.outputs.prune(
                tx,
                version=version,
                unused_days_max=settings.phase2.unused_days_max,
                rows_max=limits.prune_rows_max,
                now_ms=now_ms,
            )
            await state.jobs.prune(
                tx,
                version=version,
                before_ms=now_ms - limits.job_days_max * DAY_S * 1_000,
                rows_max=limits.jobs_pruned_max,
            )
            reopened = await state.jobs.reopen_given_up(
                tx, version=version, rules=extraction_rules(version)
            )
    except StateError as error:
        # Old rows may stay a little longer; the pass is worth more.
        _LOG.warning("old rows could not be pruned: %s", error)
        return False
    if reopened:
        _LOG.info("memory %s: %d sessions given up before may be heard again", version, reopened)
    return True
