"""The provider `offline`: answers turns by rules from memory, with no key and no network.

It sees what a model would see, the request and the results of its tool calls, and nothing else.
It is deterministic, and every answer of it says that it is no language model.
"""

import asyncio
import hashlib
import importlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.agent.models.base import (
    Completed,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    OutputItem,
)
from server.agent.models.offline_notes import notes_on
from server.agent.models.offline_request import NAMESPACE, asked
from state.clock import Clock, SystemClock

if TYPE_CHECKING:
    from server.agent.models.offline_answer import Answer, Call

NAME = "offline"
MODEL = "memoryd-offline"
DELTA_CHARS_MAX = 48


class OfflineProvider:
    """Looks into memory with the memory tools and repeats what was stated, with its sources."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()

    @property
    def name(self) -> str:
        """The name it has in the settings."""
        return NAME

    @property
    def default_model(self) -> str:
        """The only one."""
        return MODEL

    def models(self) -> Sequence[ModelInfo]:
        """One entry, which says what it is."""
        return (
            ModelInfo(
                model_id=MODEL,
                display_name="memoryd offline responder",
                description="Answers from memory by rules. It is not a language model.",
                is_default=True,
                sees_images=False,
            ),
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One step: a call of a memory tool, or the answer."""
        seed = await asyncio.to_thread(_seed, request)
        if request.purpose == "compaction":
            notes = await asyncio.to_thread(notes_on, request.input[:-1])
            async for event in _message(f"msg_{seed}", notes):
                yield event
            yield Completed(response_id=f"resp_{seed}")
            return
        step = await asyncio.to_thread(_step, request, self._stamp())
        from server.agent.models.offline_answer import Answer, Call

        match step:
            case Call(name=name, arguments=arguments):
                yield OutputItem(
                    item={
                        "type": "function_call",
                        "id": f"fc_{seed}",
                        "call_id": f"call_{seed}",
                        "namespace": NAMESPACE,
                        "name": name,
                        "arguments": arguments,
                        "status": "completed",
                    }
                )
            case Answer(text=text):
                async for event in _message(f"msg_{seed}", text):
                    yield event
        yield Completed(response_id=f"resp_{seed}")

    def window(self, model: str) -> int | None:
        """It reads whatever it is given."""
        return None

    async def listed(self) -> Sequence[str] | None:
        """Nothing is listed."""
        return None

    async def warm(self) -> None:
        """Load the rules."""
        await asyncio.to_thread(_load)

    async def close(self) -> None:
        """Nothing is held."""

    def _stamp(self) -> str:
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        return now.strftime("%Y-%m-%dT%H-%M-%S")


def _step(request: ModelRequest, stamp: str) -> "Answer | Call":
    # Imported here, in a thread: the word lists behind it take a tenth of a second.
    from server.agent.models.offline_answer import next_step

    return next_step(asked(request), stamp=stamp)


def _load() -> None:
    importlib.import_module("server.agent.models.offline_answer")


async def _message(item_id: str, text: str) -> AsyncIterator[ModelEvent]:
    yield MessageStarted(item_id=item_id, phase="final_answer")
    for piece in pieces(text):
        yield MessageDelta(item_id=item_id, text=piece)
        await asyncio.sleep(0)
    yield OutputItem(
        item={
            "type": "message",
            "id": item_id,
            "role": "assistant",
            "status": "completed",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
    )


def pieces(text: str) -> Iterator[str]:
    """The text in short pieces that give it back when joined."""
    start = 0
    while start < len(text):
        end = min(start + DELTA_CHARS_MAX, len(text))
        if end < len(text):
            blank = text.rfind(" ", start, end)
            end = blank + 1 if blank > start else end
        yield text[start:end]
        start = end


def _seed(request: ModelRequest) -> str:
    """Ids that differ for each state of a conversation, and for nothing else."""
    held = json.dumps([dict(item) for item in request.input], sort_keys=True, default=str)
    return hashlib.sha256(held.encode()).hexdigest()[:24]
