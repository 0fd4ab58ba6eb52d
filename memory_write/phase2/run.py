"""Phase 2 of one memory version: the claim of its one job, and the report of what came of it."""

from memory_write.limits import MemorySettings
from memory_write.phase2.job import ConsolidationJob
from memory_write.phase2.recover import Recovered, recover
from memory_write.phase2.report import Phase2Report
from memory_write.ports import Announcement, Announcer, Models, Quota, Steps, no_steps
from memory_write.recipes import recipe_of
from state.recovery import State
from state.stores.jobs import Claim, Skipped

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
        self._announce = announce
        self._settings = settings
        self._job = ConsolidationJob(state, models, quota, settings, steps)

    async def run(self, *, ignore_cooldown: bool, everything: bool = False) -> Phase2Report:
        """Consolidate once, if the job is free; with `everything` however long unused.

        Raises: RecipeUnknown, DatabaseBusy, DatabaseUnusable.
        """
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
        self._tell("consolidation/started", claimed.claim, {})
        report: Phase2Report | None = None
        try:
            report = await self._job.run(
                claimed.claim,
                recipe,
                unused_days_max=None if everything else limits.unused_days_max,
            )
        finally:
            ended = {
                "status": report.status if report else "given_back",
                "reason": report.reason if report else None,
            }
            self._tell("consolidation/finished", claimed.claim, ended)
        return report

    def _tell(self, what: str, claim: Claim, data: dict[str, str | None]) -> None:
        self._announce(
            Announcement(what=what, version=claim.version, data={"fence": claim.fence, **data})
        )
