"""One claimed consolidation, from its copy to the transaction that ends the job.

Invariant: the job ends in exactly one state, and the published memory is the old one or the new
one, whole. A model is called only when there is something to do; a failed, capped, cancelled or
lost run leaves nothing but its row and what it cost.
"""

import asyncio
import logging

from memory_write.lease import held, is_lost
from memory_write.limits import TRANSIENT_RETRY_FIRST_S, MemorySettings
from memory_write.loss import notes_back
from memory_write.outage import outage_reason
from memory_write.phase2 import steps as at
from memory_write.phase2.author import Author, Progress, Run, inputs_since
from memory_write.phase2.blocking import in_thread, to_the_end
from memory_write.phase2.conflicts import conflicts_in
from memory_write.phase2.evidence import Trace
from memory_write.phase2.gather import Gathered, gather
from memory_write.phase2.inputs import put_back
from memory_write.phase2.notes_told import as_before
from memory_write.phase2.publish import (
    EditedMeanwhile,
    InputsWithdrawn,
    Offer,
    publish,
)
from memory_write.phase2.purse import Purse, Refused, worth
from memory_write.phase2.recover import settle
from memory_write.phase2.report import Failure, Phase2Report, reason_of
from memory_write.phase2.setbacks import Setbacks
from memory_write.phase2.sources import Withdrawn
from memory_write.phase2.take_out import TakenOut, take_out
from memory_write.phase2.withdraw import Gone, traced
from memory_write.ports import Models, Quota, Steps
from memory_write.recipes import Recipe
from state.errors import LeaseLost, PathRefused, StateError, WorkspaceUnsafe
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import Claim
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging, clear_staging

_LOG = logging.getLogger(__name__)

EDITED_RETRY_S = 30
TAKE_OUT_TRIES_MAX = 5
GONE_MAX = 10_000
WITHHELD_MAX = 256
NOBODY = Gone(threads=Withdrawn(frozenset()), trace=Trace())


class ConsolidationJob:
    """Works on the claimed consolidation of a version."""

    def __init__(
        self,
        state: State,
        models: Models,
        quota: Quota,
        settings: MemorySettings,
        steps: Steps,
        publishing: asyncio.Lock,
        progress: Progress,
    ) -> None:
        """`publishing` is held from the intent to the mark, here and by who looks in between."""
        self._state = state
        self._purse = Purse(state, quota, settings)
        self._limits = settings.phase2
        self._steps = steps
        self._progress = progress
        self._publishing = publishing
        self._gone: dict[str, Gone] = {}
        """By version, what went in the life of this process; it never leaves it."""
        self._owed: dict[str, frozenset[ThreadId]] = {}
        """By version, the threads that went since a consolidator last had its turn."""
        self._setbacks = Setbacks(state.clock, settings.phase2)
        self._author = Author(state, models, self._purse, settings, self._setbacks, steps, progress)

    async def run(
        self,
        claim: Claim,
        recipe: Recipe,
        *,
        unused_days_max: int | None,
        take_out_only: bool = False,
    ) -> Phase2Report:
        """Do the job and end it; raises nothing but a cancellation."""
        limits = self._limits
        run = Run(
            claim=claim,
            recipe=recipe,
            staging=Staging.of(
                self._state.home,
                version=claim.version,
                fence=claim.fence,
                files_max=limits.folder_files_max,
                bytes_max=limits.folder_bytes_max,
            ),
            unused_days_max=unused_days_max,
            take_out_only=take_out_only,
        )
        try:
            async with held(
                self._state, claim, heartbeat_s=limits.heartbeat_s, lease_s=limits.lease_s
            ):
                await self._steps(at.CLAIMED)
                result = await self._work(run)
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

    async def _work(self, run: Run) -> Phase2Report | Failure:
        await self._settle_open(run)
        await notes_back(self._state, run.recipe)
        gathered = await self._gathered(run)
        if gathered.gone is not None:
            return await self._take_out(run, gathered, gathered.gone)
        if run.take_out_only:
            return self._setbacks.failure("nothing_withdrawn", 0)
        conflicts = conflicts_in(gathered.published, run.recipe)
        if conflicts:
            # The last good version stays in force until the person who merged has decided.
            return self._setbacks.failure(
                f"conflict: {', '.join(conflicts)}", self._limits.retry_delay_s
            )
        rebuild = bool(gathered.selection) and await self._owes_rebuild(run.claim.version)
        if gathered.is_empty or (gathered.is_unchanged and not rebuild):
            return await self._unchanged(run, gathered)
        tokens_max = await self._purse.tokens_max(ordered=run.unused_days_max is None)
        if isinstance(tokens_max, Refused):
            return self._setbacks.failure(tokens_max.reason, tokens_max.retry_s)
        # A short session must not cost what a long one may.
        tokens_max = min(tokens_max, worth(gathered.diff.text, self._limits))
        written = await self._author.write(
            run, gathered, tokens_max, since=self._owed_of(run), gone=await self._all_gone(run)
        )
        if isinstance(written, Failure):
            return written
        return await self._published(run, gathered, written)

    async def _gathered(self, run: Run) -> Gathered:
        gathered = await gather(
            self._state,
            run.staging,
            run.recipe,
            self._limits,
            self._steps,
            unused_days_max=run.unused_days_max,
        )
        inputs = gathered.inputs
        self._progress(
            run.claim,
            {
                "step": "gathered",
                "inputs": len(gathered.selection),
                "added": len(inputs.added),
                "changed": len(inputs.changed),
                "removed": len(inputs.removed),
            },
        )
        return gathered

    async def _take_out(self, run: Run, gathered: Gathered, gone: Gone) -> Phase2Report | Failure:
        """First of all, and by code alone; a consolidator has its turn with what remains."""
        version = run.claim.version
        for _ in range(TAKE_OUT_TRIES_MAX):
            self._gone[version] = gone.joined(self._gone.get(version))
            self._owed[version] = self._owed_of(run) | gone.threads.thread_ids
            taking = take_out(
                self._state,
                run.claim,
                run.staging,
                gathered,
                self._gone[version].without(gathered.sources),
                run.recipe,
                self._steps,
            )
            if run.take_out_only:
                result = await taking
            else:
                async with self._publishing:
                    result = await taking
            if isinstance(result, TakenOut):
                _LOG.info("memory %s: %d lines were taken out", version, result.lines)
                return Phase2Report(
                    status="published",
                    edition_id=result.edition_id,
                    withdrawn=True,
                    lines_cut=result.lines,
                )
            # Somebody wrote meanwhile, or more went: it starts from how things stand now.
            gathered = await self._gathered(run)
            gone = gathered.gone or gone
        return self._setbacks.failure("edited_meanwhile", EDITED_RETRY_S)

    async def _owes_rebuild(self, version: str) -> bool:
        """Whether the last edition was cut by code, which takes too much rather than too little."""
        async with self._state.database.glancing() as read:
            latest = await self._state.editions.latest(read, version)
        return latest is not None and latest.made_by == "code"

    async def _published(
        self, run: Run, gathered: Gathered, written: Snapshot
    ) -> Phase2Report | Failure:
        version = run.claim.version
        offer = Offer(
            staging=run.staging,
            before=gathered.published,
            written=written,
            committed=as_before(written, gathered.baseline, run.unworked),
            inputs=inputs_since(gathered, self._owed_of(run)),
            selected=gathered.selected,
            watermark_ms=gathered.watermark_ms,
            outcome="nothing_added" if run.nothing_added else "published",
        )
        self._progress(run.claim, {"step": "publishing"})
        async with self._publishing:
            result = await publish(self._state, run.claim, offer, self._steps)
        match result:
            case EditedMeanwhile(paths):
                _LOG.info("memory %s was edited during a run: %s", version, paths[:5])
                return self._setbacks.failure("edited_meanwhile", EDITED_RETRY_S)
            case InputsWithdrawn():
                return self._setbacks.failure("inputs_withdrawn", 0)
        self._setbacks.success()
        self._gone[version] = self._gone.pop(version, NOBODY).faded()
        self._owed.pop(version, None)
        ignored = run.tally.ids_ignored
        if ignored:
            _LOG.warning("memory %s: names of no input were left out: %s", version, dict(ignored))
        if run.tally.notes_held:
            _LOG.info("memory %s: a note held in %d lines", version, run.tally.notes_held)
        return Phase2Report(
            status="published",
            reason="nothing_added" if run.nothing_added else None,
            edition_id=result.edition_id,
            use=run.use,
            lines_cut=run.tally.lines_cut,
            ids_ignored=ignored.total(),
        )

    def _owed_of(self, run: Run) -> frozenset[ThreadId]:
        """The threads that went since a consolidator last had its turn."""
        return self._owed.get(run.claim.version, frozenset())

    async def _all_gone(self, run: Run) -> Gone:
        """All that is known of threads that are inputs no more, however long ago they went."""
        version = run.claim.version
        async with self._state.database.reading() as read:
            removed = await self._state.editions.removed(read, version=version, limit=GONE_MAX)
            withheld = await self._state.editions.withheld(
                read, version=version, limit=WITHHELD_MAX
            )
        trace = await asyncio.to_thread(
            traced, [text for texts in withheld.values() for text in texts]
        )
        known = Gone(threads=Withdrawn(removed | withheld.keys()), trace=trace)
        return known.joined(self._gone.get(version))

    async def _settle_open(self, run: Run) -> None:
        """An intent that an earlier run of this process could not decide comes first."""
        version = run.claim.version
        async with self._state.database.glancing() as read:
            editions = await self._state.editions.open_ones(read)
        for edition in editions:
            if edition.version == version:
                await settle(self._state, edition, self._limits)
        if not run.take_out_only:  # a run that was overtaken may still be in its copy
            await asyncio.to_thread(clear_staging, self._state.home, version=version)

    async def _unchanged(self, run: Run, gathered: Gathered) -> Phase2Report | Failure:
        reason = "nothing_selected" if gathered.is_empty else None
        async with self._state.database.glancing() as read:
            heard = await self._state.jobs.counts(read, run.claim.version, kind="extraction")
        failed = heard.failed + heard.exhausted
        if gathered.is_empty and failed and not heard.done:
            # Nothing to remember because nothing could be heard is no success.
            return self._setbacks.failure(
                f"no_extraction_succeeded: 0 of {failed}", self._limits.retry_delay_s
            )
        await self._put_back(run, gathered)
        version = run.claim.version
        async with self._state.jobs.finishing(self._state.database, run.claim) as tx:
            await self._state.outputs.mark_selected(tx, version=version, selected=gathered.selected)
            await self._state.outputs.raise_consolidated(tx, version, len(gathered.selected))
            await self._state.jobs.succeed(
                tx,
                run.claim,
                outcome=reason or "unchanged",
                starts_cooldown=False,
                watermark_ms=gathered.watermark_ms,
            )
        return Phase2Report(status="unchanged", reason=reason)

    async def _put_back(self, run: Run, gathered: Gathered) -> None:
        """Write again what somebody deleted of the inputs, but nothing of a thread that goes.

        A withdrawal commits first and then waits for the same lock before it looks at the folder:
        it is seen here, or it sees what was written here.
        """
        threads = [thread_id for thread_id, _ in gathered.selected]
        async with self._publishing:
            async with self._state.database.glancing() as read:
                withdrawn = await self._state.editions.withdrawn(
                    read, version=run.claim.version, thread_ids=threads
                )
            if not withdrawn:
                await in_thread(
                    put_back, run.staging.live, gathered.published, gathered.selection, run.recipe
                )

    async def _fail(self, run: Run, failure: Failure) -> Phase2Report:
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

    async def _after_loss(self, run: Run) -> Phase2Report:
        """A heartbeat that came just after the end finds no job either; then all is well."""
        async with self._state.database.glancing() as read:
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
        except StateError as error:
            # The lease ends by itself, and the next pass takes the job.
            _LOG.warning("consolidation %s could not be given back: %s", claim.version, error)

    async def _net(self, run: Run, error: Exception) -> Phase2Report:
        if await is_lost(self._state, run.claim):
            # Its new holder clears such copies away; what this one misses then is no fault.
            lost = await self._after_loss(run)
            if lost.status == "failed":
                _LOG.info("memory %s: the consolidation was taken over", run.claim.version)
                return lost
        outage = outage_reason(error)
        reason = outage or reason_of(error)
        # A folder that somebody pulled away meanwhile is no fault of ours either.
        known = outage is not None or isinstance(error, WorkspaceUnsafe | PathRefused)
        _LOG.error(
            "the consolidation of memory %s failed: %s",
            run.claim.version,
            error,
            exc_info=None if known else error,
        )
        delay_s = TRANSIENT_RETRY_FIRST_S if outage else self._limits.retry_delay_s
        try:
            return await self._fail(
                run, self._setbacks.failure(reason, delay_s, uses_retry=outage is None)
            )
        except Exception as second:  # the same net: without a database the lease runs out instead
            _LOG.error("its job could not be ended: %s", second)
            return Phase2Report(status="failed", reason=reason, use=run.use)

    async def _clean(self, run: Run) -> None:
        """Remove the copy, unless an open intent still needs the former live folder."""
        try:
            async with self._state.database.glancing() as read:
                editions = await self._state.editions.open_ones(read)
            if all(edition.fence != run.claim.fence for edition in editions):
                await asyncio.to_thread(run.staging.discard)
        except Exception as error:  # the same net: what stays is removed by the next run
            _LOG.warning("the copy %s could not be removed: %s", run.staging.staged.name, error)
        await self._steps(at.CLEANED)
