"""Turns the events of one model response into items: told, stripped of markup, recorded.

Invariant: the deltas told of a message add up to the text of its completed item, and an item is in
the rollout before its completion is told. The markup stays in what the model sees again.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from memory_read.citations import Citation, CitationStripper, strip_citations
from server.agent.active_turn import ActiveTurn
from server.agent.conversation import Conversation
from server.agent.errors import ProviderFailed
from server.agent.events import (
    ItemCompleted,
    ItemStarted,
    ReasoningPartAdded,
    ReasoningSummaryDelta,
    TextDelta,
)
from server.agent.interrupts import Steered
from server.agent.limits import AgentLimits
from server.agent.memory import MemoryReader
from server.agent.models.base import (
    Completed,
    FreeCallDelta,
    FreeCallStarted,
    Item,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    OutputItem,
    ReasoningDelta,
    ReasoningStarted,
)
from server.agent.outside import outside_context
from server.agent.patch_preview import PatchPreviews
from server.agent.recorder import Recorder
from state.clock import Clock
from state.ids import uuid7
from state.rollouts.items import RecordedItem
from state.rollouts.lines import response_item

CALLS = ("function_call", "custom_tool_call")


@dataclass(slots=True)
class Answer:
    """What one response brought."""

    calls: list[Item] = field(default_factory=list)
    completed: Completed | None = None
    said: bool = False
    """It has a whole message."""
    cut: bool = False
    """It was cut short because the user said something new."""


@dataclass(slots=True)
class _Message:
    """A message under way."""

    stripper: CitationStripper
    raw: list[str] = field(default_factory=list)


class AnswerReader:
    """Reads one response of the model for one turn."""

    def __init__(
        self,
        conversation: Conversation,
        turn: ActiveTurn,
        recorder: Recorder,
        memory: MemoryReader,
        *,
        clock: Clock,
        limits: AgentLimits,
    ) -> None:
        self._conversation = conversation
        self._turn = turn
        self._recorder = recorder
        self._memory = memory
        self._clock = clock
        self._limits = limits
        self._answer = Answer()
        self._previews = PatchPreviews(conversation, turn)
        self._message: _Message | None = None
        self._parts: list[list[str]] = []
        self._part_stripper: CitationStripper | None = None
        self._bytes = 0

    async def read(self, stream: AsyncGenerator[ModelEvent, None]) -> Answer:
        """Take the response to its end, or to the user's next word.

        Raises: ProviderFailed, Stopped, OSError.
        """
        try:
            # Closing the stream ends the call behind it.
            async with aclosing(stream) as events:
                await self._take_all(events)
        except Steered:
            self._answer.cut = True
        except ProviderFailed as failed:
            # What was said whole would be said twice.
            failed.after_output = failed.after_output and not self._answer.said
            raise
        finally:
            # What was begun and never finished is not part of the conversation.
            self._turn.open_item = None
        return self._answer

    async def _take_all(self, events: AsyncGenerator[ModelEvent, None]) -> None:
        while self._answer.completed is None:
            # Calls are carried out and a whole answer is paid for; the rest may be cut.
            steerable = not (self._answer.calls or self._answer.said)
            if steerable and self._turn.inbox:
                raise Steered
            with self._turn.interrupts.stoppable(steerable=steerable):
                event = await anext(events, None)
            if event is None:
                raise ProviderFailed(
                    "responseStreamDisconnected",
                    "stream disconnected before completion",
                    retryable=True,
                )
            await self._take(event)

    async def _take(self, event: ModelEvent) -> None:
        match event:
            case MessageDelta(item_id=item_id, text=text):
                self._count(text)
                self._text(item_id, text)
            case MessageStarted(item_id=item_id, phase=phase):
                await self._open_message(item_id, phase)
            case ReasoningStarted(item_id=item_id):
                await self._open_reasoning(item_id)
            case ReasoningDelta():
                self._count(event.text)
                await self._reasoning(event)
            case FreeCallStarted():
                self._previews.begin(event.item_id, event.call_id, event.name)
            case FreeCallDelta():
                self._count(event.text)
                self._previews.feed(event.item_id, event.text)
            case OutputItem(item=item):
                await self._finish(item)
            case Completed():
                await self._complete_open()
                self._answer.completed = event

    def _count(self, text: str) -> None:
        self._bytes += len(text)
        if self._bytes > self._limits.answer_bytes_max:
            raise ProviderFailed(
                "other",
                f"the model's answer grew over {self._limits.answer_bytes_max} bytes and was "
                "stopped",
            )

    async def _open_message(self, item_id: str, phase: str | None) -> None:
        await self._complete_open()
        self._message = _Message(self._memory.stripper())
        body = {"text": "", "phase": phase, "memoryCitation": None}
        self._open(item_id, "agentMessage", body)

    def _open(self, item_id: str, type_: str, body: Mapping[str, Any]) -> RecordedItem:
        item = RecordedItem(
            item_id=item_id or uuid7(self._clock.now_ms()),
            turn_id=self._turn.turn_id,
            type=type_,
            body=body,
            started_at_ms=self._clock.now_ms(),
        )
        self._turn.open_item, self._turn.shown = item, []
        self._tell(ItemStarted, item)
        return item

    def _text(self, item_id: str, text: str) -> None:
        if self._message is None or self._turn.open_item is None:
            # A provider that sends no start: the first piece of text is the start.
            self._message = _Message(self._memory.stripper())
            self._open(item_id, "agentMessage", {"text": "", "phase": None, "memoryCitation": None})
        self._message.raw.append(text)
        self._show(self._message.stripper.feed(text))

    def _show(self, visible: str) -> None:
        item = self._turn.open_item
        if not visible or self._message is None or item is None:
            return
        self._turn.shown.append(visible)
        self._conversation.tell(
            TextDelta(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                item_id=item.item_id,
                delta=visible,
            )
        )

    async def _open_reasoning(self, item_id: str) -> None:
        await self._complete_open()
        self._parts, self._part_stripper = [], None
        self._open(item_id, "reasoning", {"summary": [], "content": []})

    async def _reasoning(self, event: ReasoningDelta) -> None:
        item = self._turn.open_item
        if item is None or item.type != "reasoning":
            await self._open_reasoning(event.item_id)
            item = self._turn.open_item
            assert item is not None
        while len(self._parts) <= event.summary_index:
            self._end_part(item)
            self._conversation.tell(
                ReasoningPartAdded(
                    thread_id=self._conversation.thread_id,
                    turn_id=self._turn.turn_id,
                    item_id=item.item_id,
                    summary_index=len(self._parts),
                )
            )
            self._parts.append([])
            self._part_stripper = self._memory.stripper()
        if self._part_stripper is not None:
            self._show_part(item, event.summary_index, self._part_stripper.feed(event.text))

    def _end_part(self, item: RecordedItem) -> None:
        """What was held back of a part, since nothing more comes of it."""
        stripper, self._part_stripper = self._part_stripper, None
        if stripper is not None:
            self._show_part(item, len(self._parts) - 1, stripper.finish()[0])

    def _show_part(self, item: RecordedItem, index: int, visible: str) -> None:
        if not visible:
            return
        self._parts[index].append(visible)
        self._conversation.tell(
            ReasoningSummaryDelta(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                item_id=item.item_id,
                summary_index=index,
                delta=visible,
            )
        )

    async def _finish(self, item: Item) -> None:
        type_ = item.get("type")
        if (outside := outside_context(item)) is not None:
            await self._conversation.pollute(outside.kind, outside.name)
        if type_ == "message" and item.get("role", "assistant") == "assistant":
            await self._finish_message(item)
        elif type_ == "reasoning":
            await self._finish_reasoning(item)
        elif type_ == "web_search_call":
            await self._finish_search(item)
        else:
            if type_ in CALLS:
                if len(self._answer.calls) >= self._limits.tool_calls_per_response_max:
                    raise ProviderFailed("other", "the model asked for too many tools at once")
                self._answer.calls.append(item)
            await self._record_item(item)

    async def _finish_message(self, item: Item) -> None:
        raw = _message_text(item)
        if self._message is None:
            await self._open_message(str(item.get("id") or ""), item.get("phase"))
        message, opened = self._message, self._turn.open_item
        assert message is not None and opened is not None
        streamed = "".join(message.raw)
        if raw.startswith(streamed) and len(raw) > len(streamed):
            # What the final item has beyond the deltas, or all of it where none came.
            self._show(message.stripper.feed(raw[len(streamed) :]))
        elif raw != streamed:
            item = _with_text(item, streamed)
        await self._close_message(opened, item, phase=item.get("phase"))

    async def _close_message(self, opened: RecordedItem, response: Item, *, phase: Any) -> None:
        message = self._message
        assert message is not None
        tail, citation = message.stripper.finish()
        self._show(tail)
        item = replace(
            opened,
            body={
                "text": "".join(self._turn.shown),
                "phase": phase if phase is not None else opened.body.get("phase"),
                "memoryCitation": None if citation is None else citation.wire(),
            },
            completed_at_ms=self._clock.now_ms(),
        )
        self._message, self._answer.said = None, True
        response = {"id": item.item_id, **response}
        recorded = None if citation is None else citation.recorded()
        lines = self._recorder.agent_lines(item, response, recorded)
        await self._recorder.record(lines)
        self._conversation.remember(response)
        self._done(item)
        if citation is not None:
            await self._count_use(citation)

    async def _count_use(self, citation: Citation) -> None:
        """Once for a message, and only for what the thread has seen in memory."""
        conversation = self._conversation
        self._turn.cited = True
        if conversation.settings.use_memories and not conversation.ephemeral:
            version = conversation.settings.memory_version
            await self._memory.count(version, citation, conversation.recalled.names)

    async def _finish_reasoning(self, item: Item) -> None:
        opened = self._turn.open_item
        if opened is None or opened.type != "reasoning":
            await self._open_reasoning(str(item.get("id") or ""))
            opened = self._turn.open_item
            assert opened is not None
        self._end_part(opened)
        told = [str(part.get("text", "")) for part in item.get("summary") or ()]
        summary = [strip_citations(text)[0] for text in told]
        if not summary:
            summary = ["".join(part) for part in self._parts]
        await self._close_reasoning(opened, summary, [self._line(item)])
        self._conversation.remember(item)

    async def _close_reasoning(
        self, opened: RecordedItem, summary: Sequence[str], lines: Sequence[dict[str, Any]]
    ) -> None:
        body = {"summary": list(summary), "content": []}
        item = replace(opened, body=body, completed_at_ms=self._clock.now_ms())
        await self._recorder.record([self._recorder.item_line(item), *lines])
        self._done(item)

    async def _finish_search(self, item: Item) -> None:
        action = item.get("action") or {}
        body = {"query": str(action.get("query") or ""), "action": dict(action) or None}
        opened = self._open(str(item.get("id") or ""), "webSearch", body)
        whole = replace(opened, completed_at_ms=self._clock.now_ms())
        await self._recorder.record([self._recorder.item_line(whole), self._line(item)])
        self._conversation.remember(item)
        self._done(whole)

    async def _record_item(self, item: Item) -> None:
        await self._recorder.record([self._line(item)])
        self._conversation.remember(item)

    def _line(self, item: Item) -> dict[str, Any]:
        return response_item(item, turn_id=self._turn.turn_id)

    async def _complete_open(self) -> None:
        """End an item whose end the provider did not send, with what came of it."""
        opened = self._turn.open_item
        if opened is None:
            return
        if self._message is not None:
            text = "".join(self._message.raw)
            response = _with_text({"type": "message", "role": "assistant"}, text)
            await self._close_message(opened, response, phase=opened.body.get("phase"))
        else:
            self._end_part(opened)
            await self._close_reasoning(opened, ["".join(part) for part in self._parts], [])

    def _done(self, item: RecordedItem) -> None:
        self._turn.open_item = None
        self._turn.items.append(item)
        self._tell(ItemCompleted, item)

    def _tell(self, event: type[ItemStarted] | type[ItemCompleted], item: RecordedItem) -> None:
        self._conversation.tell(
            event(
                thread_id=self._conversation.thread_id,
                turn_id=self._turn.turn_id,
                item=item,
            )
        )


def _message_text(item: Item) -> str:
    texts = []
    for part in item.get("content") or ():
        if part.get("type") == "output_text":
            texts.append(str(part.get("text", "")))
        elif part.get("type") == "refusal":
            texts.append(str(part.get("refusal", "")))
    return "".join(texts)


def _with_text(item: Item, text: str) -> Item:
    return {**item, "content": [{"type": "output_text", "text": text}]}
