"""Phase 2 of one memory version: the claim of its one job, and the report of what came of it."""

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from memory_write.limits import MemorySettings
from memory_write.phase2.recover import Recovered, recover
from memory_write.phase2.report import Phase2Report
from memory_write.phase2.sources import Sources
from memory_write.phase2.withdraw import standing_sources
from memory_write.ports import Announcement, Announcer, Models, Quota, Steps, no_steps
from memory_write.recipes import Recipe, recipe_of
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import CONSOLIDATION_KEY, Claim, Claimed
from state.stores.refusals import Skipped
from state.workspace.repo import Baseline
from state.workspace.snapshot import take_snapshot

if TYPE_CHECKING:
    # At run time it is imported at the first claim: most starts have nothing to consolidate.
    from memory_write.phase2.job import ConsolidationJob

__all__ = ["Phase2", "Phase2Report", "Recovered", "recover"]


class Phase2:
    """Consolidates what phase 1 stored into the memory folder."""

    def __init__(
        self,
        state: State,
        models: Models,
        quota: Quota,
        announce: Announcer,
        settings: MemorySettings,
        steps: Steps = no_steps,
    ) -> None:
        self._state = state
        self._models = models
        self._quota = quota
        self._announce = announce
        self._settings = settings
        self._steps = steps
        self._publishing = asyncio.Lock()
        """Held from the intent to the mark, so that no two runs exchange folders at once."""

    @cached_property
    def _job(self) -> "ConsolidationJob":
        from memory_write.phase2.job import ConsolidationJob

        return ConsolidationJob(
            self._state,
            self._models,
            self._quota,
            self._settings,
            self._steps,
            self._publishing,
            lambda claim, data: self._tell("consolidation/progress", claim, data),
        )

    async def run(self, *, ignore_cooldown: bool, everything: bool = False) -> Phase2Report:
        """Consolidate once, if the job is free; with `everything` however long unused.

        Raises: RecipeUnknown, DatabaseBusy, DatabaseUnusable.
        """
        report = await self._once(ignore_cooldown=ignore_cooldown, everything=everything)
        if not report.withdrawn:
            return report
        # Code has taken out what went; now a consolidator works with what remains.
        return report.then(await self._once(ignore_cooldown=True, everything=everything))

    async def take_out(self) -> Phase2Report | None:
        """Take out of memory, by code and at once, what deleted or barred threads had supported.

        Whoever consolidates meanwhile loses the job. None when nothing of them stands in memory.
        Raises: DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
        """
        recipe = recipe_of(self._settings.version)
        async with self._publishing:
            if not await self.still_standing():
                return None
            async with self._state.database.writing() as tx:
                claimed = await self._state.jobs.claim_consolidation(
                    tx,
                    version=recipe.version,
                    lease_s=self._settings.phase2.lease_s,
                    cooldown_s=0,
                    ignore_cooldown=True,
                    take_over=True,
                )
            assert isinstance(claimed, Claimed)
            return await self._told(claimed.claim, recipe, unused_days_max=None, only=True)

    async def owes(self) -> bool:
        """Whether something was handed on that is not done: a withdrawal may be among it."""
        version = self._settings.version
        async with self._state.database.glancing() as read:
            job = await self._state.jobs.get(
                read, version=version, kind="consolidation", key=CONSOLIDATION_KEY
            )
        return job is not None and job.status != "done"

    async def still_standing(self) -> tuple[ThreadId, ...]:
        """The deleted or barred threads of which something stands in the folder.

        Raises: DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
        """
        recipe = recipe_of(self._settings.version)
        sources = await asyncio.to_thread(self._standing, recipe)
        async with self._state.database.glancing() as read:
            return await self._state.editions.withdrawn(
                read, version=recipe.version, thread_ids=sources.thread_ids
            )

    def _standing(self, recipe: Recipe) -> Sources:
        live, limits = self._state.home.memories(recipe.version), self._settings.phase2
        published = take_snapshot(
            live, files_max=limits.folder_files_max, bytes_max=limits.folder_bytes_max
        )
        return standing_sources(published, Baseline(live).snapshot())

    async def _once(self, *, ignore_cooldown: bool, everything: bool) -> Phase2Report:
        recipe = recipe_of(self._settings.version)
        limits = self._settings.phase2
        async with self._state.database.writing() as tx:
            claimed = await self._state.jobs.claim_consolidation(
                tx,
                version=recipe.version,
                lease_s=limits.lease_s,
                cooldown_s=limits.cooldown_s,
                ignore_cooldown=ignore_cooldown,
            )
        if isinstance(claimed, Skipped):
            return Phase2Report(
                status="skipped", reason=claimed.reason, retry_at_ms=claimed.until_ms
            )
        unused_days_max = None if everything else limits.unused_days_max
        return await self._told(claimed.claim, recipe, unused_days_max=unused_days_max, only=False)

    async def _told(
        self, claim: Claim, recipe: Recipe, *, unused_days_max: int | None, only: bool
    ) -> Phase2Report:
        """Run the job, and say when it began and how it ended."""
        self._tell("consolidation/started", claim, {})
        report: Phase2Report | None = None
        try:
            report = await self._job.run(
                claim, recipe, unused_days_max=unused_days_max, take_out_only=only
            )
        finally:
            ended: dict[str, str | int | None] = {
                "status": report.status if report else "given_back",
                "reason": report.reason if report else None,
            }
            if report is not None and report.withdrawn:
                ended["linesTakenOut"] = report.lines_cut
            if report is not None and report.ids_ignored:
                ended["idsIgnored"] = report.ids_ignored
            self._tell("consolidation/finished", claim, ended)
        return report

    def _tell(self, what: str, claim: Claim, data: Mapping[str, str | int | None]) -> None:
        self._announce(
            Announcement(what=what, version=claim.version, data={"fence": claim.fence, **data})
        )
