"""Items that a program puts into what the model of a thread sees, between two turns."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.checkout import read_checkout
from server.agent.conversation import Conversation
from server.agent.identity import row_changes, session_meta
from server.agent.outside import outside_context
from server.agent.recorder import Recorder
from state.clock import Clock
from state.rollouts.lines import Line, response_item


async def injected(
    conversation: Conversation,
    recorder: Recorder,
    items: Sequence[Mapping[str, Any]],
    *,
    clock: Clock,
) -> None:
    """Add the items; they are in the thread's file after, which is made for them if need be.

    Raises: OSError, StateError; then nothing was added.
    """
    lines = []
    for item in items:
        if (outside := outside_context(item)) is not None:
            await conversation.pollute(outside.kind, outside.name)
        content = item.get("content")
        kinds = ["client.injected"] * (len(content) if isinstance(content, list) else 0)
        lines.append(response_item(item, turn_id="", kinds=kinds))
    before = conversation.mark()
    for item in items:
        conversation.remember(item)
    try:
        await _keep(conversation, recorder, lines, clock=clock)
    except BaseException:
        conversation.back_to(before)
        raise


async def _keep(
    conversation: Conversation, recorder: Recorder, lines: Sequence[Line], *, clock: Clock
) -> None:
    if recorder.stored or conversation.ephemeral:
        await recorder.reopen()
        await recorder.record(lines)
        return
    settings = conversation.settings
    checkout = await asyncio.to_thread(read_checkout, settings.cwd)
    await recorder.open(session_meta(recorder.draft, settings, checkout))
    await recorder.record(lines)
    await recorder.put_row(**row_changes(settings, checkout, now_ms=clock.now_ms()))
