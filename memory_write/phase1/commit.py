"""How an extraction ends: one fenced transaction for all that changes with it.

Invariant: the job's end, the stored output, the word to the consolidation and the spending stand
or fall together. A worker whose job was taken over, deleted or reset writes none of them.
"""

from dataclasses import dataclass
from enum import Enum

from memory_write.phase1.allowance import day_of
from memory_write.ports import ModelUse
from state.database import Transaction
from state.recovery import State
from state.stores.jobs import Claim
from state.stores.outputs import Output
from state.stores.threads import ThreadRow


class Ended(Enum):
    """The state that an extraction ended in; exactly one of them."""

    LEARNED = "learned"
    EMPTY = "empty"
    FAILED = "failed"
    WAITING = "waiting"
    """Not failed: it waits for the next day's budget or for its thread to be enabled again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the model calls of a job used, for whom, and who asked for it."""

    model: str
    use: ModelUse
    trigger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Why there is no result, and from when on it may be tried again."""

    reason: str
    retry_at_ms: int
    uses_retry: bool
    transient: bool = False
    waits: bool = False
    """True where nothing went wrong: the work only has to wait."""


async def store_output(
    state: State, claim: Claim, thread: ThreadRow, output: Output, spent: Spent | None
) -> Ended:
    """Keep what was learned, unless the thread may no longer be learned from.

    Raises: LeaseLost.
    """
    async with state.jobs.finishing(state.database, claim) as tx:
        await _spend(tx, state, claim, spent)
        if not await _is_enabled(tx, state, thread):
            await _withdraw(tx, state, claim)
            return Ended.WAITING
        await state.outputs.put(tx, output)
        await state.jobs.enqueue_consolidation(
            tx, version=claim.version, watermark_ms=output.source_updated_at_ms
        )
        await state.jobs.succeed(tx, claim, outcome=Ended.LEARNED.value)
    return Ended.LEARNED


async def store_nothing(
    state: State, claim: Claim, thread: ThreadRow, spent: Spent | None, *, why: str
) -> Ended:
    """Note that there is nothing to keep, and why; what was kept before goes.

    Raises: LeaseLost.
    """
    async with state.jobs.finishing(state.database, claim) as tx:
        await _spend(tx, state, claim, spent)
        if not await _is_enabled(tx, state, thread):
            await _withdraw(tx, state, claim)
            return Ended.WAITING
        if await state.outputs.delete(tx, claim.version, thread.thread_id):
            await state.jobs.enqueue_consolidation(
                tx, version=claim.version, watermark_ms=claim.watermark_ms
            )
        await state.jobs.succeed(tx, claim, outcome=f"{Ended.EMPTY.value}:{why}")
    return Ended.EMPTY


async def store_delay(state: State, claim: Claim, delay: Delay, spent: Spent | None) -> Ended:
    """Note why there is no result.

    Raises: LeaseLost.
    """
    async with state.jobs.finishing(state.database, claim) as tx:
        await _spend(tx, state, claim, spent)
        await state.jobs.fail(
            tx,
            claim,
            reason=delay.reason,
            retry_at_ms=delay.retry_at_ms,
            uses_retry=delay.uses_retry,
        )
    return Ended.WAITING if delay.waits else Ended.FAILED


async def store_spending(state: State, claim: Claim, spent: Spent | None) -> None:
    """Note what a job cost whose own row is another's by now: the tokens are spent all the same."""
    async with state.database.writing() as tx:
        await _spend(tx, state, claim, spent)


async def _is_enabled(tx: Transaction, state: State, thread: ThreadRow) -> bool:
    # Read again under the write lock: a person may have changed it while the model was at work.
    now = await state.threads.get(tx, thread.thread_id)
    return now is not None and now.memory_mode == "enabled"


async def _withdraw(tx: Transaction, state: State, claim: Claim) -> None:
    await state.jobs.fail(
        tx, claim, reason="not_enabled", retry_at_ms=state.clock.now_ms(), uses_retry=False
    )


async def _spend(tx: Transaction, state: State, claim: Claim, spent: Spent | None) -> None:
    if spent is None or spent.use == ModelUse():
        return
    now_ms = state.clock.now_ms()
    await state.spending.add(
        tx,
        day=day_of(now_ms),
        kind=claim.kind,
        job_key=claim.key,
        model=spent.model,
        input_tokens=spent.use.input_tokens,
        cached_tokens=spent.use.cached_input_tokens,
        output_tokens=spent.use.output_tokens,
        at_ms=now_ms,
        trigger=spent.trigger,
        version=claim.version,
    )
