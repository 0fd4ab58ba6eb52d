"""What a crash left open: each intent is finished or undone, leftovers are removed.

Invariant: the live folder decides. If it carries the commit of an open intent, the swap happened
and the edition is published; otherwise the edition is abandoned. Running it twice changes nothing.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_write.limits import Phase2Limits
from memory_write.loss import notes_back
from memory_write.phase2.sources import published_sources, selected_sources
from memory_write.phase2.withdraw import standing_sources
from memory_write.ports import Steps, no_steps
from memory_write.recipes import RECIPES
from state.errors import PathRefused, StateError, WorkspaceUnsafe
from state.ids import ThreadId
from state.recovery import State
from state.stores.editions import Edition
from state.stores.jobs import Claimed
from state.stores.outputs import OUTPUTS_MAX, SelectedOutput
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging, clear_staging, new_notes

_LOG = logging.getLogger(__name__)

RECOVERING = "phase2/recovering"
RECOVERED = "phase2/recovered"
RECOVER_STEPS = (RECOVERING, RECOVERED)
DEFAULT_LIMITS = Phase2Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Which intents were finished and undone, and which leftovers were removed."""

    finished: tuple[int, ...]
    abandoned: tuple[int, ...]
    removed: tuple[str, ...]
    left_open: tuple[int, ...] = ()
    """Intents whose folder could not be read; the next run of their version tries again."""


async def recover(
    state: State, steps: Steps = no_steps, limits: Phase2Limits = DEFAULT_LIMITS
) -> Recovered:
    """Settle everything that an earlier process left behind; call it before anything runs.

    A folder that cannot be used keeps nobody from starting: memory is not all that a home has.
    Raises: DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
    """
    await steps(RECOVERING)
    async with state.database.glancing() as read:
        editions = await state.editions.open_ones(read)
    finished: list[int] = []
    abandoned: list[int] = []
    left_open: list[Edition] = []
    for edition in editions:
        try:
            settled = finished if await settle(state, edition, limits) else abandoned
        except (WorkspaceUnsafe, PathRefused, OSError) as error:
            _LOG.error("memory %s could not be recovered: %s", edition.version, error)
            left_open.append(edition)
            continue
        settled.append(edition.edition_id)
    kept = [edition.staged for edition in left_open]
    removed = await asyncio.to_thread(clear_staging, state.home, keep=kept)
    for recipe in RECIPES.values():
        try:
            await notes_back(state, recipe)
        except (StateError, OSError) as error:
            _LOG.error("notes of memory %s wait: %s", recipe.version, error)
    await steps(RECOVERED)
    return Recovered(
        finished=tuple(finished),
        abandoned=tuple(abandoned),
        removed=removed,
        left_open=tuple(edition.edition_id for edition in left_open),
    )


async def settle(state: State, edition: Edition, limits: Phase2Limits) -> bool:
    """Finish one open intent if its swap happened, else give it up; true when it was finished.

    Raises: DatabaseBusy, DatabaseUnusable, WorkspaceUnsafe, OSError.
    """
    staging = Staging.of(
        state.home,
        version=edition.version,
        fence=edition.fence,
        files_max=limits.folder_files_max,
        bytes_max=limits.folder_bytes_max,
    )
    live = await asyncio.to_thread(_live_after, staging, edition.commit_id)
    if live is None:
        async with state.database.writing() as tx:
            await state.editions.abandon(tx, edition.edition_id, state.clock.now_ms())
        return False
    async with state.database.reading() as read:
        outputs = await state.outputs.select(
            read,
            version=edition.version,
            outputs_max=OUTPUTS_MAX,
            unused_days_max=None,
            now_ms=state.clock.now_ms(),
        )
    # The edition is in force: its folder holds its commit.
    shown = await asyncio.to_thread(
        lambda: standing_sources(live, Baseline(staging.live).snapshot())
    )
    await _finish(state, edition, _standing(live, outputs), shown.thread_ids, limits)
    return True


async def _finish(
    state: State,
    edition: Edition,
    selected: Sequence[tuple[ThreadId, int]],
    shown: Iterable[ThreadId],
    limits: Phase2Limits,
) -> None:
    """Mark what the crash kept from being marked, in one transaction with the job if it is free.

    `shown` are the threads that the folder stands for; of one that went meanwhile nothing may stay,
    and the success of the job must not be taken for its withdrawal.
    """
    version = edition.version
    async with state.database.writing() as tx:
        now_ms = state.clock.now_ms()
        await state.editions.publish(tx, edition.edition_id, now_ms)
        await state.outputs.mark_selected(tx, version=version, selected=selected)
        await state.outputs.raise_consolidated(tx, version, len(selected))
        claimed = await state.jobs.claim_consolidation(
            tx, version=version, lease_s=limits.lease_s, cooldown_s=0, ignore_cooldown=True
        )
        by_code = edition.made_by == "code"
        if isinstance(claimed, Claimed):
            watermark_ms = max((at_ms for _, at_ms in selected), default=0)
            await state.jobs.succeed(
                tx,
                claimed.claim,
                outcome="withdrawn" if by_code else "published",
                starts_cooldown=not by_code,
                watermark_ms=watermark_ms,
            )
        withdrawn = await state.editions.withdrawn(tx, version=version, thread_ids=shown)
        if withdrawn or (by_code and isinstance(claimed, Claimed)):
            await state.jobs.enqueue_consolidation(
                tx, version=version, watermark_ms=now_ms, urgent=True
            )


def _live_after(staging: Staging, commit_id: str) -> Snapshot | None:
    """The live folder if the swap of that commit happened, with late notes brought along."""
    if staging.live.is_symlink():
        raise WorkspaceUnsafe(staging.live, "it is a link")
    staging.mend()
    if Baseline(staging.live).head_commit() != commit_id:
        return None
    live = staging.live_snapshot()
    if staging.staged.is_dir():
        former = staging.former_snapshot()
        staging.carry_over(staging.staged, staging.live, new_notes(live, former))
        staging.keep_odd(former)
    return live


def _standing(
    live: Snapshot, outputs: Sequence[SelectedOutput]
) -> tuple[tuple[ThreadId, int], ...]:
    """The outputs whose recaps stand in the folder byte for byte: that is what was selected."""
    texts = published_sources(live).texts
    wanted = selected_sources(outputs).texts
    return tuple(
        (one.output.thread_id, one.output.source_updated_at_ms)
        for one in outputs
        if texts.get(one.output.thread_id) == wanted[one.output.thread_id]
    )
