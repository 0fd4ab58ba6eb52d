"""One claimed thread, from its rollout to the transaction that ends the job.

Invariant: a claimed job ends in exactly one state. It is finished, failed or given back under its
fence; a lost lease writes nothing, and a crash leaves it to the next owner.
"""

import asyncio
import logging
import zlib
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from memory_write.errors import BadOutput
from memory_write.lease import held
from memory_write.limits import (
    TRANSIENT_RETRY_FIRST_S,
    TRANSIENT_RETRY_MAX_S,
    MemorySettings,
)
from memory_write.outage import outage_reason
from memory_write.phase1.allowance import Allowance, next_day_ms
from memory_write.phase1.commit import (
    Delay,
    Ended,
    Spent,
    store_delay,
    store_nothing,
    store_output,
    store_spending,
)
from memory_write.phase1.extract import ask, choice_for, conversation_tokens_max, prepare
from memory_write.phase1.output import Extracted, parse_reply
from memory_write.phase1.parts import Parts, joined, parts_of
from memory_write.phase1.transcript import hear
from memory_write.phase1.worth import why_not_worth_hearing
from memory_write.ports import (
    Announcement,
    Announcer,
    ExtractionModel,
    HearsWhole,
    ModelFailed,
    Models,
    ModelUse,
    Steps,
)
from memory_write.quiet import quietly
from memory_write.recipes import Recipe
from state.errors import LeaseLost, RolloutMissing, RolloutUnreadable, StateError
from state.ids import ThreadId
from state.policy.budget import truncate_middle_bytes
from state.policy.redaction import redact
from state.recovery import State
from state.rollouts.items import Transcript
from state.stores.jobs import Claim
from state.stores.outputs import Output
from state.stores.threads import ThreadRow

_LOG = logging.getLogger(__name__)
_TRANSIENT_KEPT_MAX = 10_000
REASON_BYTES_MAX = 300


@dataclass(slots=True)
class Verdict:
    """How a job ended, for the pass that ran it; ended is None where its row tells nothing."""

    ended: Ended | None = None
    delay: Delay | None = None
    spent: Spent | None = None
    why_empty: str | None = None

    @property
    def reason(self) -> str | None:
        """Why there is no output."""
        return self.delay.reason if self.delay else self.why_empty


class JobRunner:
    """Works on claimed threads; remembers how often each failed for want of a model."""

    def __init__(
        self,
        state: State,
        models: Models,
        announce: Announcer,
        settings: MemorySettings,
        allowance: Allowance,
        steps: Steps,
    ) -> None:
        self._state = state
        self._models = models
        self._announce = announce
        self._settings = settings
        self._allowance = allowance
        self._steps = steps
        self._transient: dict[ThreadId, int] = {}

    async def run(
        self, claim: Claim, thread: ThreadRow, recipe: Recipe, *, trigger: str
    ) -> Verdict:
        """Do the job and end it; raises nothing but a cancellation."""
        verdict = Verdict()
        limits = self._settings.phase1
        self._tell("extraction/started", claim, {})
        try:
            with ExitStack() as stack:
                async with held(
                    self._state, claim, heartbeat_s=limits.heartbeat_s, lease_s=limits.lease_s
                ):
                    await self._steps("phase1/claimed")
                    await self._work(claim, thread, recipe, trigger, verdict, stack.callback)
        except LeaseLost:
            await self._after_loss(claim, verdict)
        except asyncio.CancelledError:
            await _to_the_end(self._give_back(claim, verdict))
            self._tell("extraction/finished", claim, {"outcome": "given_back", "reason": None})
            raise
        except Exception as error:  # the net of a job: whatever it is, the job ends and says so
            await self._net(claim, error, verdict)
        self._tell(
            "extraction/finished",
            claim,
            {
                "outcome": verdict.ended.value if verdict.ended else "lost",
                "reason": verdict.reason,
            },
        )
        return verdict

    async def _work(
        self,
        claim: Claim,
        thread: ThreadRow,
        recipe: Recipe,
        trigger: str,
        verdict: Verdict,
        at_end: Callable[..., object],
    ) -> None:
        transcript = await self._hear(thread, claim.version)
        if isinstance(transcript, Delay):
            verdict.delay = transcript
            verdict.ended = await store_delay(self._state, claim, transcript, None)
            return
        await self._steps("phase1/heard")
        extracted: Extracted | Delay | None = None
        verdict.why_empty = why_not_worth_hearing(transcript)
        if verdict.why_empty is None:
            extracted = await self._extract(
                thread, recipe, transcript, trigger=trigger, verdict=verdict, at_end=at_end
            )
            await self._steps("phase1/extracted")
        await self._steps("phase1/before_store")
        if isinstance(extracted, Delay):
            verdict.delay = extracted
            verdict.ended = await store_delay(self._state, claim, extracted, verdict.spent)
        elif extracted is None or extracted.is_empty:
            verdict.why_empty = verdict.why_empty or "nothing_kept"
            verdict.ended = await store_nothing(
                self._state, claim, thread, verdict.spent, why=verdict.why_empty
            )
        else:
            output = await quietly(self._output, claim, thread, recipe, extracted)
            verdict.ended = await store_output(self._state, claim, thread, output, verdict.spent)
        await self._steps("phase1/stored")

    async def _hear(self, thread: ThreadRow, version: str) -> Transcript | Delay:
        path = self._state.home.root / thread.rollout_path
        async with self._state.database.glancing() as read:
            reset_at_ms = await self._state.outputs.reset_at_ms(read, version, thread)
        try:
            transcript = await quietly(
                hear,
                path,
                thread_id=thread.thread_id,
                cwd=thread.cwd,
                git_branch=thread.git_branch,
            )
            return transcript if reset_at_ms is None else said_after(transcript, reset_at_ms)
        except (RolloutMissing, FileNotFoundError):
            return self._delay("rollout_missing")
        except RolloutUnreadable:
            return self._delay("rollout_unreadable")
        except OSError as error:
            return self._delay(f"rollout_io:{error.errno}")

    async def _extract(
        self,
        thread: ThreadRow,
        recipe: Recipe,
        transcript: Transcript,
        *,
        trigger: str,
        verdict: Verdict,
        at_end: Callable[..., object],
    ) -> Extracted | Delay:
        limits = self._settings.phase1
        choice = choice_for(thread, transcript.service_tier, self._settings, recipe)
        model = self._models.extraction(choice.provider)
        try:
            tokens_max = conversation_tokens_max(await model.window_tokens(choice), limits)
            parts = await self._parts(transcript, recipe, model, tokens_max)
            heard: list[Extracted] = []
            for part in parts.parts:
                prepared = await quietly(
                    prepare, recipe, thread, part, model=choice, tokens_max=tokens_max
                )
                if not prepared.conversation:
                    return self._delay("too_long")  # not even a gap fits: nothing to ask about
                if not await self._allowance.take(prepared.input_tokens):
                    return self._until_tomorrow()
                # The place is given back only after the spending was recorded.
                at_end(self._allowance.give_back, prepared.input_tokens)
                reply = await ask(
                    model, recipe, thread, prepared, seconds_max=limits.call_seconds_max
                )
                name = reply.use.model or choice.model or choice.provider or "default"
                before = verdict.spent.use if verdict.spent is not None else ModelUse()
                verdict.spent = Spent(model=name, use=before + reply.use, trigger=trigger)
                heard.append(
                    await quietly(parse_reply, recipe, reply.text, bytes_max=limits.reply_bytes_max)
                )
        except ModelFailed as error:
            return self._after_model_failure(thread.thread_id, error)
        except BadOutput as error:
            return self._delay(error.reason)
        self._transient.pop(thread.thread_id, None)
        return heard[0] if len(heard) == 1 else joined(heard, parts)

    async def _parts(
        self, transcript: Transcript, recipe: Recipe, model: ExtractionModel, tokens_max: int
    ) -> Parts:
        if isinstance(model, HearsWhole) and model.hears_whole:
            return Parts(parts=(transcript,), total=1)
        return await quietly(
            parts_of,
            transcript,
            recipe,
            tokens_max=tokens_max,
            parts_max=self._settings.phase1.parts_max,
        )

    def _output(
        self, claim: Claim, thread: ThreadRow, recipe: Recipe, extracted: Extracted
    ) -> Output:
        slug = extracted.rollout_slug
        recap = redact(extracted.rollout_summary)  # before the cut, which could halve a secret
        if recipe.recap_bytes_max is not None:
            recap = truncate_middle_bytes(recap, bytes_max=recipe.recap_bytes_max)
        return Output(
            version=claim.version,
            thread_id=thread.thread_id,
            source_updated_at_ms=claim.watermark_ms,
            raw_memory=redact(extracted.raw_memory or ""),
            rollout_summary=recap,
            rollout_slug=redact(slug) if slug is not None else None,
            generated_at_ms=self._state.clock.now_ms(),
        )

    def _delay(self, reason: str) -> Delay:
        return Delay(
            reason=reason,
            retry_at_ms=self._state.clock.now_ms() + self._settings.phase1.retry_delay_s * 1_000,
            uses_retry=True,
        )

    def _until_tomorrow(self) -> Delay:
        now_ms = self._state.clock.now_ms()
        return Delay(reason="budget", retry_at_ms=next_day_ms(now_ms), uses_retry=False, waits=True)

    def _after_model_failure(self, thread_id: ThreadId, error: ModelFailed) -> Delay:
        if not error.transient:
            return self._delay("too_long" if error.too_long else _model_reason(error))
        times = self._transient.get(thread_id, 0)
        if times or len(self._transient) < _TRANSIENT_KEPT_MAX:
            self._transient[thread_id] = times + 1
        return Delay(
            reason=_model_reason(error),
            retry_at_ms=self._state.clock.now_ms() + transient_delay_ms(thread_id, times),
            uses_retry=False,
            transient=True,
        )

    async def _give_back(self, claim: Claim, verdict: Verdict) -> None:
        delay = Delay(reason="cancelled", retry_at_ms=self._state.clock.now_ms(), uses_retry=False)
        try:
            await store_delay(self._state, claim, delay, verdict.spent)
        except LeaseLost:
            await self._after_loss(claim, verdict)
        except StateError as error:
            _LOG.warning("job %s could not be given back: %s", claim.key, error)

    async def _after_loss(self, claim: Claim, verdict: Verdict) -> None:
        if verdict.ended is not None:
            return  # it had ended well before, and its spending is stored
        verdict.delay = Delay(reason="lease_lost", retry_at_ms=0, uses_retry=False)
        try:
            await store_spending(self._state, claim, verdict.spent)
        except StateError as error:
            _LOG.warning("what job %s cost could not be stored: %s", claim.key, error)

    async def _net(self, claim: Claim, error: Exception, verdict: Verdict) -> None:
        outage = outage_reason(error)
        if outage is None:
            _LOG.exception("extraction of %s failed unexpectedly", claim.key, exc_info=error)
        else:
            _LOG.warning("extraction of %s waits: %s", claim.key, error)
        if verdict.ended is not None:
            return
        verdict.delay = (
            self._delay(f"internal:{type(error).__name__}")
            if outage is None
            else Delay(
                reason=outage,
                retry_at_ms=self._state.clock.now_ms() + TRANSIENT_RETRY_FIRST_S * 1_000,
                uses_retry=False,
                transient=True,
            )
        )
        try:
            verdict.ended = await store_delay(self._state, claim, verdict.delay, verdict.spent)
        except LeaseLost:
            await self._after_loss(claim, verdict)
        except StateError as second:
            # Nothing can be written now; the lease ends by itself and the job is taken again.
            _LOG.warning("the failure of %s could not be stored: %s", claim.key, second)

    def _tell(self, what: str, claim: Claim, data: dict[str, str | None]) -> None:
        self._announce(
            Announcement(what=what, version=claim.version, data={"thread_id": claim.key, **data})
        )


def said_after(transcript: Transcript, at_ms: int) -> Transcript:
    """Without what was said up to then: a reset of memory is for good."""
    items = tuple(item for item in transcript.items if (item.at_ms or 0) > at_ms)
    return replace(transcript, items=items)


def _model_reason(error: ModelFailed) -> str:
    # A provider's own words may hold the credential that it refused.
    return truncate_middle_bytes(redact(f"model:{error.reason}"), bytes_max=REASON_BYTES_MAX)


def transient_delay_ms(thread_id: ThreadId, times: int) -> int:
    """Twice as long each time up to a bound, and a little different for each thread."""
    delay_ms = min(TRANSIENT_RETRY_FIRST_S << min(times, 16), TRANSIENT_RETRY_MAX_S) * 1_000
    return delay_ms + delay_ms * (zlib.crc32(thread_id.encode()) % 256) // 1_024


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """A job is given back even when its task is cancelled once more meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
    task.result()
