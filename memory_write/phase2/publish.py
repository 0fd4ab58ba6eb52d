"""From a verified copy to published memory: commit, intent, swap, mark.

Invariant: the intent is in the database before the folder is swapped, and it is decided in the
same transaction that ends the job. Until that transaction the swap can be taken back; a crash in
between is settled by `recover.py` from the commit that the live folder carries.
"""

import logging
import os
from dataclasses import dataclass

from memory_write.phase2 import steps as at
from memory_write.phase2.blocking import in_thread, to_the_end
from memory_write.ports import Steps
from state.database import Transaction
from state.errors import LeaseLost
from state.ids import ThreadId
from state.notes import alone_with_notes, standing_notes, tell_worked_in
from state.recovery import State
from state.stores.editions import EditionInputs, Maker
from state.stores.jobs import Claim
from state.workspace.carrying import carried_edits
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging, edited_since, new_notes

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The new edition is in force."""

    edition_id: int
    commit_id: str


@dataclass(frozen=True, slots=True)
class EditedMeanwhile:
    """Somebody changed the live folder during the run; it was left as it is."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputsWithdrawn:
    """Threads among the inputs were deleted or barred during the run; nothing was published."""

    thread_ids: tuple[ThreadId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A verified copy and what must be recorded with it."""

    staging: Staging
    before: Snapshot
    """The live folder when the copy was made."""
    written: Snapshot
    """What is to be published."""
    inputs: EditionInputs
    selected: tuple[tuple[ThreadId, int], ...]
    watermark_ms: int
    committed: Snapshot | None = None
    """What is to count as published, where the folder holds more that was not worked in yet."""
    made_by: Maker = "consolidator"
    outcome: str = "published"
    """How the job ends when this is in force."""

    @property
    def counts(self) -> Snapshot:
        """What counts as published by it."""
        return self.written if self.committed is None else self.committed


async def publish(
    state: State, claim: Claim, offer: Offer, steps: Steps
) -> Published | EditedMeanwhile | InputsWithdrawn:
    """Put the copy in force, or leave everything as it was.

    Raises: LeaseLost, DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
    """
    staging = offer.staging
    commit_id = await in_thread(
        _committed,
        staging,
        offer.counts,
        claim.fence,
        state.clock.now_ms() // 1000,
    )
    await steps(at.COMMITTED)
    edited = await in_thread(_carry_notes, offer)
    if edited:
        return EditedMeanwhile(edited)
    async with state.jobs.fenced(state.database, claim) as tx:
        withdrawn = await _withdrawn(state, tx, claim, offer)
        if withdrawn:
            return InputsWithdrawn(withdrawn)
        edition_id = await state.editions.open_intent(
            tx,
            version=claim.version,
            fence=claim.fence,
            commit_id=commit_id,
            staged=staging.staged.name,
            inputs=offer.inputs,
            made_by=offer.made_by,
            made_at_ms=state.clock.now_ms(),
        )
    await steps(at.INTENDED)
    # From the swap to the mark nothing stops half-way: a cancellation waits for the end.
    edited = await to_the_end(_swapped_and_marked(state, claim, offer, edition_id, steps))
    if edited:
        return EditedMeanwhile(edited)
    return Published(edition_id=edition_id, commit_id=commit_id)


async def _swapped_and_marked(
    state: State, claim: Claim, offer: Offer, edition_id: int, steps: Steps
) -> tuple[str, ...]:
    await steps(at.SWAPPING)
    async with alone_with_notes(state):
        edited = await in_thread(_swap, offer)
    if edited:
        await _abandon(state, edition_id)
        return edited
    await steps(at.SWAPPED)
    try:
        await steps(at.MARKING)
        async with alone_with_notes(state):
            await _mark(state, claim, offer, edition_id)
    except LeaseLost:
        if not offer.staging.staged.is_dir():
            raise  # its new holder has settled this edition and removed the way back
        # The job was reset or taken over: what it was to publish has no right to stand.
        async with alone_with_notes(state):
            kept = await in_thread(_swap_back, offer)
        if kept:
            _LOG.info("memory %s: kept what was written meanwhile: %s", claim.version, kept[:5])
        await _abandon(state, edition_id)
        raise
    await steps(at.MARKED)
    return ()


async def _mark(state: State, claim: Claim, offer: Offer, edition_id: int) -> None:
    standing = await standing_notes(state, claim.version)
    async with state.jobs.finishing(state.database, claim) as tx:
        now_ms = state.clock.now_ms()
        await state.editions.publish(tx, edition_id, now_ms)
        await state.outputs.mark_selected(tx, version=claim.version, selected=offer.selected)
        await state.outputs.raise_consolidated(tx, claim.version, len(offer.selected))
        by_code = offer.made_by == "code"
        await state.jobs.succeed(
            tx,
            claim,
            outcome="withdrawn" if by_code else offer.outcome,
            starts_cooldown=not by_code,
            watermark_ms=offer.watermark_ms,
        )
        if by_code or await _withdrawn(state, tx, claim, offer):
            # Code takes out only; what else there is to do is a consolidator's.
            await state.jobs.enqueue_consolidation(
                tx, version=claim.version, watermark_ms=now_ms, urgent=True
            )
        tell_worked_in(tx, version=claim.version, standing=standing, files=offer.counts.files)


async def _withdrawn(
    state: State, tx: Transaction, claim: Claim, offer: Offer
) -> tuple[ThreadId, ...]:
    return await state.editions.withdrawn(
        tx, version=claim.version, thread_ids=[thread_id for thread_id, _ in offer.selected]
    )


async def _abandon(state: State, edition_id: int) -> None:
    async with state.database.writing() as tx:
        await state.editions.abandon(tx, edition_id, state.clock.now_ms())


def _committed(staging: Staging, written: Snapshot, fence: int, at_s: int) -> str:
    # The fence makes the commit's id unlike that of any other edition.
    message = f"Memory published, fence {fence}"
    return Baseline(staging.staged).fresh_commit(written, message, at_s)


def _carry_notes(offer: Offer) -> tuple[str, ...]:
    """Bring new notes along, uncommitted so that the next diff shows them; what else changed."""
    staging = offer.staging
    now = staging.live_snapshot()
    edited = edited_since(offer.before, now)
    if not edited:
        staging.carry_over(staging.live, staging.staged, new_notes(offer.before, now))
        staging.sync()
    return edited


def _swap(offer: Offer) -> tuple[str, ...]:
    """Exchange the folders; taken back if somebody wrote between the last look and the swap."""
    staging = offer.staging
    try:
        staging.swap()
    except FileNotFoundError:
        if os.path.lexists(staging.live):
            raise
        return (".",)  # somebody deleted the folder as a whole
    former = staging.former_snapshot()
    edited = edited_since(offer.before, former)
    if edited:
        _swap_back(offer)
        return edited
    staging.carry_over(staging.staged, staging.live, new_notes(offer.before, former))
    staging.keep_odd(former)
    return ()


def _swap_back(offer: Offer) -> tuple[str, ...]:
    """Take the exchange back, with what somebody wrote since; the paths that were carried over.

    What a person changed in a text that goes is put into the one that comes back, line by line.
    """
    staging, shown = offer.staging, offer.written
    staging.swap()
    # What was live until now stands in the place of the copy.
    left = staging.former_snapshot()
    fresh = new_notes(shown, left)
    staging.carry_over(staging.staged, staging.live, fresh)
    edited = edited_since(shown, left)
    back = staging.live_snapshot()
    staging.put(carried_edits(shown, left, back, edited))
    staging.keep_odd(left)
    return (*fresh, *edited)
