"""One extraction's prompt and its model call, under a time cap.

What goes to the model is rendered, redacted and then cut to the window, in this order, so that a
cut never opens a secret's mark again. Its size is counted densely; a prompt that was too long all
the same is halved and tried once more, never sent again as it was.
"""

import asyncio
from dataclasses import dataclass, replace

from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.tiers import render_tiered
from memory_write.phase1.transcript import THIN_STEPS, render_v1, thinned
from memory_write.ports import (
    ExtractionModel,
    ExtractionReply,
    ExtractionRequest,
    ModelChoice,
    ModelFailed,
)
from memory_write.quiet import quietly
from memory_write.recipes import Recipe, fill, template
from state.policy.budget import estimate_tokens
from state.policy.density import dense_tokens, fit_middle
from state.policy.redaction import redact
from state.rollouts.items import Transcript
from state.stores.threads import ThreadRow


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request and the conversation it was filled with, so that it can be made shorter."""

    request: ExtractionRequest
    conversation: str
    input_tokens: int
    """What the whole prompt is estimated to cost; counted once, since counting takes time."""


def choice_for(
    thread: ThreadRow, tier: str | None, settings: MemorySettings, recipe: Recipe
) -> ModelChoice:
    """The thread's own provider, service tier and model, unless the settings name a model.

    An imported thread names a provider of the configuration it came from, which means nothing
    here; it is heard by the configured default.
    """
    imported = thread.imported_from is not None
    return ModelChoice(
        provider=None if imported else thread.model_provider,
        model=settings.extract_model or (None if imported else thread.model),
        effort=recipe.extraction_effort,
        service_tier=None if imported else tier,
    )


def conversation_tokens_max(window_tokens: int | None, limits: Phase1Limits) -> int:
    """How much of the model's window the conversation may take."""
    if window_tokens is None or window_tokens <= 0:
        return limits.window_tokens_default
    return max(1, window_tokens * limits.window_share_percent // 100)


def prepare(
    recipe: Recipe,
    thread: ThreadRow,
    transcript: Transcript,
    *,
    model: ModelChoice,
    tokens_max: int,
) -> Prepared:
    """Render, redact and fit one thread; takes time for a long one, so call it in a thread."""
    conversation = _conversation(recipe, transcript, tokens_max)
    request = ExtractionRequest(
        version=recipe.version,
        thread_id=thread.thread_id,
        cwd=thread.cwd,
        git_branch=thread.git_branch,
        rollout_path=thread.rollout_path,
        transcript=transcript,
        instructions=template(recipe.extraction_instructions),
        input_text=_input_text(recipe, thread, conversation),
        message_bytes_max=recipe.message_bytes_max,
        output_schema=recipe.reply_schema,
        model=model,
    )
    tokens = estimate_tokens(request.instructions) + dense_tokens(request.input_text)
    return Prepared(request, conversation, tokens)


async def ask(
    model: ExtractionModel,
    recipe: Recipe,
    thread: ThreadRow,
    prepared: Prepared,
    *,
    seconds_max: int,
) -> ExtractionReply:
    """The model's reply; a prompt that did not fit is halved once, and never sent unchanged.

    Raises: ModelFailed.
    """
    try:
        return await _call(model, prepared.request, seconds_max=seconds_max)
    except ModelFailed as error:
        if not error.too_long:
            raise
    shorter = await quietly(_halved, recipe, thread, prepared)
    if shorter is None:
        raise ModelFailed("too_long", transient=False, too_long=True)
    return await _call(model, shorter, seconds_max=seconds_max)


def _halved(recipe: Recipe, thread: ThreadRow, prepared: Prepared) -> ExtractionRequest | None:
    """The request with half the conversation; None when there is nothing left to leave out."""
    half = dense_tokens(prepared.conversation) // 2
    shorter = _conversation(recipe, prepared.request.transcript, half)
    if not shorter or len(shorter) >= len(prepared.conversation):
        return None
    return replace(prepared.request, input_text=_input_text(recipe, thread, shorter))


def _conversation(recipe: Recipe, transcript: Transcript, tokens_max: int) -> str:
    if recipe.tiered_input:
        return render_tiered(transcript, tokens_max=tokens_max)
    text = redact(render_v1(transcript))
    for step in THIN_STEPS:
        if dense_tokens(text) <= tokens_max:
            return text
        text = redact(render_v1(thinned(transcript, step)))
    return fit_middle(text, tokens_max=tokens_max)


async def _call(
    model: ExtractionModel, request: ExtractionRequest, *, seconds_max: int
) -> ExtractionReply:
    try:
        async with asyncio.timeout(seconds_max):
            return await model.extract(request)
    except TimeoutError:
        raise ModelFailed("timeout", transient=True) from None


def _input_text(recipe: Recipe, thread: ThreadRow, conversation: str) -> str:
    return fill(
        template(recipe.extraction_input),
        {
            "rollout_path": redact(thread.rollout_path),
            "cwd": redact(thread.cwd),
            "git_branch": redact(thread.git_branch or "unknown"),
            "conversation": conversation,
        },
    )
