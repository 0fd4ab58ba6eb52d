"""From a verified copy to published memory: commit, intent, swap, mark.

Invariant: the intent is in the database before the folder is swapped, and it is decided in the
same transaction that ends the job. Until that transaction the swap can be taken back; a crash in
between is settled by `recover.py` from the commit that the live folder carries.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from memory_write.phase2 import steps as at
from memory_write.ports import Steps
from state.database import Transaction
from state.errors import LeaseLost
from state.ids import ThreadId
from state.recovery import State
from state.stores.editions import EditionInputs, Maker
from state.stores.jobs import Claim
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging, edited_since, new_notes

T = TypeVar("T")


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


async def publish(
    state: State, claim: Claim, offer: Offer, steps: Steps
) -> Published | EditedMeanwhile | InputsWithdrawn:
    """Put the copy in force, or leave everything as it was.

    Raises: LeaseLost, DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
    """
    staging = offer.staging
    commit_id = await asyncio.to_thread(
        _committed,
        staging,
        offer.written if offer.committed is None else offer.committed,
        claim.fence,
        state.clock.now_ms() // 1000,
    )
    await steps(at.COMMITTED)
    edited = await asyncio.to_thread(_carry_notes, offer)
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


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Run it even if this task is cancelled meanwhile; the cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and task.exception() is None:
        raise asyncio.CancelledError
    return task.result()


async def _swapped_and_marked(
    state: State, claim: Claim, offer: Offer, edition_id: int, steps: Steps
) -> tuple[str, ...]:
    staging = offer.staging
    await steps(at.SWAPPING)
    edited = await asyncio.to_thread(_swap, offer)
    if edited:
        await _abandon(state, edition_id)
        return edited
    await steps(at.SWAPPED)
    try:
        await steps(at.MARKING)
        async with state.jobs.finishing(state.database, claim) as tx:
            now_ms = state.clock.now_ms()
            await state.editions.publish(tx, edition_id, now_ms)
            await state.outputs.mark_selected(tx, version=claim.version, selected=offer.selected)
            await state.outputs.raise_consolidated(tx, claim.version, len(offer.selected))
            by_code = offer.made_by == "code"
            await state.jobs.succeed(
                tx,
                claim,
                outcome="withdrawn" if by_code else "published",
                starts_cooldown=not by_code,
                watermark_ms=offer.watermark_ms,
            )
            if by_code or await _withdrawn(state, tx, claim, offer):
                # Code takes out only; what else there is to do is a consolidator's.
                await state.jobs.enqueue_consolidation(
                    tx, version=claim.version, watermark_ms=now_ms, urgent=True
                )
    except LeaseLost:
        # The job was reset or taken over: what it was to publish has no right to stand.
        await asyncio.to_thread(staging.swap)
        await _abandon(state, edition_id)
        raise
    await steps(at.MARKED)
    return ()


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
    staging.swap()
    former = staging.former_snapshot()
    edited = edited_since(offer.before, former)
    if edited:
        staging.swap()
        return edited
    staging.carry_over(staging.staged, staging.live, new_notes(offer.before, former))
    staging.keep_odd(former)
    return ()
