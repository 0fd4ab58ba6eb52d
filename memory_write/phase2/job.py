"""One claimed consolidation, from its copy to the transaction that ends the job.

Invariant: the job ends in exactly one state, and the published memory is the old one or the new
one, whole. A model is called only when there is something to do; a failed, capped, cancelled or
lost run leaves nothing but its row and what it cost.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memory_write.lease import held
from memory_write.limits import (
    DAY_S,
    TRANSIENT_RETRY_FIRST_S,
    TRANSIENT_RETRY_MAX_S,
    MemorySettings,
)
from memory_write.phase2 import brief
from memory_write.phase2 import steps as at
from memory_write.phase2.consolidate import Agent, AgentEnd
from memory_write.phase2.gather import Gathered, gather
from memory_write.phase2.publish import EditedMeanwhile, Offer, publish, to_the_end
from memory_write.phase2.recover import settle
from memory_write.phase2.report import Failure, Phase2Report
from memory_write.phase2.tools import ToolMeter, staged_tools
from memory_write.phase2.verify import Case, Finding, judge
from memory_write.ports import ModelChoice, Models, ModelUse, Quota, Steps
from memory_write.recipes import Recipe
from state.errors import LeaseLost, PathRefused, WorkspaceUnsafe
from state.policy.redaction import contains_secret
from state.recovery import State
from state.stores.jobs import Claim
from state.workspace.layout import DIFF_FILE
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging, clear_staging

_LOG = logging.getLogger(__name__)

KIND = "consolidation"
REPAIRS_MAX = 1
EDITED_RETRY_S = 30
REASON_CHARS_MAX = 300


@dataclass(slots=True)
class _Run:
    """What one run found out so far."""

    claim: Claim
    recipe: Recipe
    staging: Staging
    use: ModelUse = field(default_factory=ModelUse)


class ConsolidationJob:
    """Works on the claimed consolidation of a version."""

    def __init__(
        self, state: State, models: Models, quota: Quota, settings: MemorySettings, steps: Steps
    ) -> None:
        self._state = state
        self._models = models
        self._quota = quota
        self._settings = settings
        self._limits = settings.phase2
        self._steps = steps
        self._transient = 0
        """How often in a row the model was not to be had."""
        self._fruitless = 0
        """How often in a row a run cost something and gave nothing."""

    async def run(
        self, claim: Claim, recipe: Recipe, *, unused_days_max: int | None
    ) -> Phase2Report:
        """Do the job and end it; raises nothing but a cancellation."""
        limits = self._limits
        run = _Run(
            claim=claim,
            recipe=recipe,
            staging=Staging.of(
                self._state.home,
                version=claim.version,
                fence=claim.fence,
                files_max=limits.folder_files_max,
                bytes_max=limits.folder_bytes_max,
            ),
        )
        try:
            async with held(
                self._state, claim, heartbeat_s=limits.heartbeat_s, lease_s=limits.lease_s
            ):
                await self._steps(at.CLAIMED)
                result = await self._work(run, unused_days_max)
                if isinstance(result, Failure):
                    result = await self._fail(run, result)
            return result
        except LeaseLost:
            return await self._after_loss(run)
        except asyncio.CancelledError:
            await to_the_end(self._give_back(claim))
            raise
        except Exception as error:  # the net of a job: whatever it is, the job ends and says so
            return await self._net(run, error)
        finally:
            await to_the_end(self._clean(run))

    async def _work(self, run: _Run, unused_days_max: int | None) -> Phase2Report | Failure:
        await self._settle_open(run.claim.version)
        gathered = await gather(
            self._state,
            run.staging,
            run.recipe,
            self._limits,
            self._steps,
            unused_days_max=unused_days_max,
        )
        if gathered.is_empty or gathered.is_unchanged:
            return await self._unchanged(run, gathered)
        tokens_max = await self._tokens_allowed()
        if isinstance(tokens_max, Failure):
            return tokens_max
        written = await self._consolidated(run, gathered, tokens_max)
        if isinstance(written, Failure):
            return written
        offer = Offer(
            staging=run.staging,
            before=gathered.published,
            written=written,
            inputs=gathered.inputs,
            selected=gathered.selected,
            watermark_ms=gathered.watermark_ms,
        )
        match await publish(self._state, run.claim, offer, self._steps):
            case EditedMeanwhile(paths):
                _LOG.info("memory %s was edited during a run: %s", run.claim.version, paths[:5])
                return self._failure("edited_meanwhile", EDITED_RETRY_S)
            case published:
                self._transient = self._fruitless = 0
                return Phase2Report(
                    status="published", edition_id=published.edition_id, use=run.use
                )

    async def _settle_open(self, version: str) -> None:
        """An intent that an earlier run of this process could not decide comes first."""
        async with self._state.database.reading() as read:
            editions = await self._state.editions.open_ones(read)
        for edition in editions:
            if edition.version == version:
                await settle(self._state, edition, self._limits)
        await asyncio.to_thread(clear_staging, self._state.home, version=version)

    async def _unchanged(self, run: _Run, gathered: Gathered) -> Phase2Report:
        reason = "nothing_selected" if gathered.is_empty else None
        async with self._state.jobs.finishing(self._state.database, run.claim) as tx:
            await self._state.outputs.mark_selected(
                tx, version=run.claim.version, selected=gathered.selected
            )
            await self._state.outputs.raise_consolidated(
                tx, run.claim.version, len(gathered.selected)
            )
            await self._state.jobs.succeed(
                tx,
                run.claim,
                outcome=reason or "unchanged",
                starts_cooldown=False,
                watermark_ms=gathered.watermark_ms,
            )
        return Phase2Report(status="unchanged", reason=reason)

    async def _tokens_allowed(self) -> int | Failure:
        """How much the agent may spend; a Failure when it may not start now."""
        refusal = await self._quota.refusal()
        if refusal is not None:
            return self._failure(f"quota:{refusal}", self._limits.retry_delay_s)
        budget = self._settings.budget.consolidation_tokens
        if budget is None:
            return self._limits.tokens_max
        now_ms = self._state.clock.now_ms()
        async with self._state.database.reading() as read:
            spent = await self._state.spending.total(read, day=_day(now_ms), kind=KIND)
        if spent >= budget:
            return self._failure("budget", DAY_S - now_ms // 1000 % DAY_S)
        return min(self._limits.tokens_max, budget - spent)

    async def _consolidated(
        self, run: _Run, gathered: Gathered, tokens_max: int
    ) -> Snapshot | Failure:
        """Let the agent work on the copy, and judge what it left; once more if that is unsound."""
        staged = run.staging.staged
        diff_text = brief.render_diff_file(gathered.diff, bytes_max=self._limits.diff_bytes_max)
        await asyncio.to_thread(ConfinedRoot(staged).write, DIFF_FILE, diff_text.encode())
        meter = ToolMeter(self._limits)
        agent = Agent(
            self._models.consolidator(None),
            version=run.claim.version,
            job_key=run.claim.key,
            instructions=brief.instructions(),
            tools=staged_tools(staged, meter),
            meter=meter,
            model=ModelChoice(
                model=self._settings.consolidation_model,
                effort=run.recipe.consolidation_effort,
            ),
            limits=self._limits,
            tokens_max=tokens_max,
            clock=self._state.clock,
        )
        told = brief.task(gathered.offered, gathered.unsound)
        findings: tuple[Finding, ...] = ()
        await self._steps(at.CONSOLIDATING)
        try:
            for _ in range(1 + REPAIRS_MAX):
                end = await agent.work(told)
                await self._spend(run, end)
                if end.failure is not None:
                    return self._agent_failure(end)
                written = await asyncio.to_thread(_written, run.staging)
                findings = await asyncio.to_thread(judge, self._case(run, gathered, written))
                if not findings:
                    break
                told = brief.repair(findings)
        finally:
            await agent.close()
        await self._steps(at.CONSOLIDATED)
        return await self._verified(run, gathered, findings)

    async def _verified(
        self, run: _Run, gathered: Gathered, findings: tuple[Finding, ...]
    ) -> Snapshot | Failure:
        """The last judgement, now that nobody can write any more."""
        if not findings:
            await asyncio.to_thread((run.staging.staged / DIFF_FILE).unlink)
            written = await asyncio.to_thread(run.staging.staged_snapshot)
            findings = await asyncio.to_thread(judge, self._case(run, gathered, written))
        if findings:
            listed = "; ".join(map(str, findings[:5]))
            _LOG.warning("memory %s was not published: %s", run.claim.version, listed)
            return self._failure(f"unsound: {listed}", self._limits.retry_delay_s, uses_retry=True)
        await self._steps(at.VERIFIED)
        return written

    def _case(self, run: _Run, gathered: Gathered, written: Snapshot) -> Case:
        return Case(
            recipe=run.recipe,
            limits=self._limits,
            published=gathered.published,
            offered=gathered.offered,
            written=written,
            published_sources=gathered.published_sources,
            sources=gathered.sources,
            inputs=gathered.inputs,
            holds_secret=contains_secret,
        )

    async def _spend(self, run: _Run, end: AgentEnd) -> None:
        run.use += end.use
        if end.use.total_tokens == 0:
            return
        now_ms = self._state.clock.now_ms()
        async with self._state.database.writing() as tx:
            await self._state.spending.add(
                tx,
                day=_day(now_ms),
                kind=KIND,
                job_key=run.claim.key,
                model=self._settings.consolidation_model or "default",
                input_tokens=end.use.input_tokens,
                cached_tokens=end.use.cached_input_tokens,
                output_tokens=end.use.output_tokens,
                at_ms=now_ms,
                trigger=KIND,
                version=run.claim.version,
            )

    def _agent_failure(self, end: AgentEnd) -> Failure:
        reason = end.failure or "unknown"
        if not end.transient:
            return self._fruitless_failure(reason)
        delay_s = min(TRANSIENT_RETRY_FIRST_S * 2**self._transient, TRANSIENT_RETRY_MAX_S)
        self._transient = min(self._transient + 1, 16)
        return self._failure(reason, delay_s)

    def _fruitless_failure(self, reason: str) -> Failure:
        """The same inputs would most likely fail again, so each time it waits longer."""
        delay_s = min(self._limits.retry_delay_s * 2**self._fruitless, DAY_S)
        self._fruitless = min(self._fruitless + 1, 16)
        return self._failure(reason, delay_s, uses_retry=True)

    def _failure(self, reason: str, retry_s: int, *, uses_retry: bool = False) -> Failure:
        return Failure(
            reason=reason[:REASON_CHARS_MAX],
            retry_at_ms=self._state.clock.now_ms() + retry_s * 1000,
            uses_retry=uses_retry,
        )

    async def _fail(self, run: _Run, failure: Failure) -> Phase2Report:
        async with self._state.jobs.finishing(self._state.database, run.claim) as tx:
            await self._state.jobs.fail(
                tx,
                run.claim,
                reason=failure.reason,
                retry_at_ms=failure.retry_at_ms,
                uses_retry=failure.uses_retry,
            )
        return Phase2Report(
            status="failed",
            reason=failure.reason,
            use=run.use,
            retry_at_ms=failure.retry_at_ms,
        )

    async def _after_loss(self, run: _Run) -> Phase2Report:
        """A heartbeat that came just after the end finds no job either; then all is well."""
        async with self._state.database.reading() as read:
            latest = await self._state.editions.latest(read, run.claim.version)
        if latest is not None and latest.fence == run.claim.fence:
            return Phase2Report(status="published", edition_id=latest.edition_id, use=run.use)
        return Phase2Report(status="failed", reason="lease_lost", use=run.use)

    async def _give_back(self, claim: Claim) -> None:
        """The next owner or pass takes it up at once."""
        try:
            async with self._state.jobs.finishing(self._state.database, claim) as tx:
                await self._state.jobs.fail(
                    tx,
                    claim,
                    reason="cancelled",
                    retry_at_ms=self._state.clock.now_ms(),
                    uses_retry=False,
                )
        except LeaseLost:
            return

    async def _net(self, run: _Run, error: Exception) -> Phase2Report:
        reason = _reason_of(error)
        _LOG.error(
            "the consolidation of memory %s failed: %s", run.claim.version, error, exc_info=error
        )
        try:
            return await self._fail(
                run, self._failure(reason, self._limits.retry_delay_s, uses_retry=True)
            )
        except Exception as second:  # the same net: without a database the lease runs out instead
            _LOG.error("its job could not be ended: %s", second)
            return Phase2Report(status="failed", reason=reason, use=run.use)

    async def _clean(self, run: _Run) -> None:
        """Remove the copy, unless an open intent still needs the former live folder."""
        try:
            async with self._state.database.reading() as read:
                editions = await self._state.editions.open_ones(read)
            if all(edition.fence != run.claim.fence for edition in editions):
                await asyncio.to_thread(run.staging.discard)
        except Exception as error:  # the same net: what stays is removed by the next run
            _LOG.warning("the copy %s could not be removed: %s", run.staging.staged.name, error)
        await self._steps(at.CLEANED)


def _written(staging: Staging) -> Snapshot:
    """What the agent left so far, without the diff file."""
    snapshot = staging.staged_snapshot()
    files = {path: file for path, file in snapshot.files.items() if path != DIFF_FILE}
    return Snapshot(files=files, odd=snapshot.odd)


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def _reason_of(error: Exception) -> str:
    match error:
        case WorkspaceUnsafe():
            return f"workspace_unsafe: {error.reason}"
        case PathRefused():
            return f"workspace_refused: {error}"
        case OSError():
            return f"files: {error.strerror or type(error).__name__}"
        case _:
            return f"internal: {type(error).__name__}"
