"""Records what goes into a turn: its start, the context of a first one, and the user's words.

Invariant: the user's message is in the rollout, and the thread in the database, before it is
acknowledged and before an item event tells of it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.agent.active_turn import ActiveTurn
from server.agent.checkout import Checkout, read_checkout
from server.agent.conversation import Conversation
from server.agent.events import ItemCompleted, ItemStarted, Warned
from server.agent.identity import row_changes, session_meta
from server.agent.inputs import ThreadSettings, TurnInput
from server.agent.instruction_files import Instructions, fragment, read_instructions
from server.agent.limits import AgentSettings
from server.agent.memory import MemoryReader
from server.agent.models.base import Item
from server.agent.prompt import (
    PromptMessage,
    developer_message,
    environment_message,
    local_date,
    typed_text,
)
from server.agent.recorder import Recorder
from server.agent.saying import HeldInput, Said, said
from state.clock import Clock
from state.errors import StateError
from state.ids import uuid7
from state.policy.preview import PRIVATE_PREVIEW, preview_of
from state.rollouts.items import RecordedItem
from state.rollouts.lines import Line, response_item, task_started, turn_context
from state.stores.private_rows import is_private


class Opening:
    """The recording side of a turn's input."""

    def __init__(
        self,
        conversation: Conversation,
        turn: ActiveTurn,
        recorder: Recorder,
        *,
        memory: MemoryReader,
        settings: AgentSettings,
        clock: Clock,
    ) -> None:
        self._conversation = conversation
        self._turn = turn
        self._recorder = recorder
        self._memory = memory
        self._settings = settings
        self._clock = clock

    async def record(
        self, held: HeldInput, *, ahead: RecordedItem | None = None
    ) -> RecordedItem | None:
        """The start of the turn with its first input, which is to be told; none without words.

        `ahead` is an item that stands before it. Makes file and row at the first turn.
        Raises: OSError, StateError.
        """
        turn, conversation = self._turn, self._conversation
        assert turn.started_at_s is not None
        before = conversation.mark()
        lines: list[Line] = [task_started(turn.turn_id, started_at_s=turn.started_at_s)]
        lines.extend(self._message_line(one) for one in await self._context())
        lines.append(turn_context(turn.turn_id, self._turn_context()))
        if ahead is not None:
            lines.append(self._recorder.item_line(ahead))
        try:
            return await self._write(held, lines)
        except (OSError, StateError):
            # Nothing of it is in the file, so the next turn must bring the context again.
            conversation.back_to(before)
            raise

    async def begin(self) -> None:
        """The start of a turn in which nothing is said.

        Raises: OSError, StateError.
        """
        assert self._turn.started_at_s is not None
        if not self._recorder.opened:
            await self._recorder.open(
                session_meta(self._recorder.draft, self._conversation.settings, Checkout())
            )
        await self._recorder.record(
            [task_started(self._turn.turn_id, started_at_s=self._turn.started_at_s)]
        )

    async def _write(self, held: HeldInput, lines: Sequence[Line]) -> RecordedItem | None:
        checkout = Checkout()
        if not self._conversation.ephemeral and not self._recorder.stored:
            checkout = await asyncio.to_thread(read_checkout, self._conversation.settings.cwd)
        if not self._recorder.opened:
            await self._recorder.open(
                session_meta(self._recorder.draft, self._conversation.settings, checkout)
            )
        words, user_lines = await self._words(held)
        # The file first: on a full disk no row may tell of words that are nowhere.
        await self._recorder.record([*lines, *user_lines])
        if self._recorder.stored:
            self._turn.recorded.set()
        await self._put_row(held.given, checkout)
        return None if words is None else words.item

    async def record_input(self, held: HeldInput) -> None:
        """Further input of the user.

        Raises: OSError, StateError.
        """
        words, lines = await self._words(held)
        if words is None:
            return
        await self._recorder.record(lines)
        if not self._recorder.draft.preview and typed_text(held.given):
            await self._put_row(held.given, Checkout())
        self.tell(words.item)

    async def _words(self, held: HeldInput) -> tuple[Said | None, Sequence[Line]]:
        """What was said and its lines; the same as was noted of it, if it had to wait."""
        await held.noted()
        words = held.words or await said(held.given, self._turn.turn_id, self._clock)
        if words is None:
            return None, ()
        self._conversation.remember(words.response)
        return words, self._recorder.user_lines(words, typed_text(held.given))

    async def _context(self) -> list[PromptMessage]:
        """What must be said before the user's words: all at first, later what changed."""
        conversation, settings = self._conversation, self._conversation.settings
        messages: list[PromptMessage] = []
        if conversation.memory is None:
            conversation.memory = await self._memory.section(settings)
            conversation.recalled.note_text(*conversation.memory.parts)
        if not conversation.context_recorded:
            developer = developer_message(
                conversation.memory.parts,
                settings.developer_instructions or self._settings.developer_instructions,
            )
            if developer is not None:
                messages.append(developer)
            conversation.context_recorded = True
        elif conversation.memory.report.digest not in (None, conversation.recorded_memory):
            # Told anew: the file says what each thread was told, so that it is known again later.
            anew = developer_message(conversation.memory.parts, None)
            messages.extend([anew] if anew is not None else [])
        conversation.recorded_memory = (
            conversation.memory.report.digest or conversation.recorded_memory
        )
        if conversation.told_cwd != settings.cwd:
            messages.append(await self._surroundings())
            conversation.told_cwd = settings.cwd
        return messages

    async def context_again(self) -> list[Item]:
        """The context as it is now, read anew, in the form in which it is recorded.

        For a compaction: let these items stand before what is kept, and put them into
        `replacement_history` as they are; `Conversation.remember` takes them as well. From now on
        the memory section is the new one.
        """
        conversation = self._conversation
        conversation.memory = None
        conversation.context_recorded, conversation.told_cwd = False, None
        conversation.told_instructions = None
        messages = await self._context()
        return [self._recorded(message) for message in messages]

    async def _surroundings(self) -> PromptMessage:
        conversation, settings = self._conversation, self._conversation.settings
        found = await asyncio.to_thread(read_instructions, settings.cwd, settings.instruction_files)
        self._tell_faults(found)
        conversation.instruction_sources = found.sources
        text = fragment(settings.cwd, found.text) if found.text else None
        told_already = text == conversation.told_instructions
        conversation.told_instructions = text
        return environment_message(
            cwd=settings.cwd,
            shell=self._settings.shell,
            now_ms=self._clock.now_ms(),
            timezone=self._settings.timezone,
            instructions=None if told_already else text,
        )

    def _tell_faults(self, found: Instructions) -> None:
        """Each fault once in the life of a loaded thread."""
        new = [one for one in found.faults if one not in self._conversation.faults_told]
        if new:
            self._conversation.faults_told.update(new)
            message = "instruction files: " + "; ".join(new)
            self._conversation.tell(Warned(thread_id=self._conversation.thread_id, message=message))

    def _message_line(self, message: PromptMessage) -> Line:
        item = self._recorded(message)
        self._conversation.remember(item)
        return {"type": "response_item", "payload": item}

    def _recorded(self, message: PromptMessage) -> dict[str, Any]:
        item = {"id": f"msg_{uuid7(self._clock.now_ms())}", **message.item}
        line = response_item(item, turn_id=self._turn.turn_id, kinds=message.kinds)
        payload: dict[str, Any] = line["payload"]
        return payload

    def _turn_context(self) -> dict[str, Any]:
        return {
            "root_turn_id": self._turn.turn_id,
            "current_date": local_date(self._clock.now_ms(), self._settings.timezone),
            "timezone": self._settings.timezone,
            **recorded_settings(self._conversation.settings),
            "memory": self._memory_report(),
        }

    def _memory_report(self) -> dict[str, Any] | None:
        told = self._conversation.memory
        return None if told is None else told.report.recorded()

    async def _put_row(self, given: TurnInput, checkout: Checkout) -> None:
        draft, settings = self._recorder.draft, self._conversation.settings
        changes = row_changes(settings, checkout, now_ms=self._clock.now_ms())
        if not draft.preview:
            typed = typed_text(given)
            shown = PRIVATE_PREVIEW if is_private(draft) and typed else preview_of(typed)
            changes["preview"] = shown
        await self._recorder.put_row(**changes)

    def tell(self, item: RecordedItem) -> None:
        """Tell a whole item, such as what the user said."""
        self._turn.items.append(item)
        thread_id, turn_id = self._conversation.thread_id, self._turn.turn_id
        begun = replace(item, completed_at_ms=None)
        self._conversation.tell(ItemStarted(thread_id=thread_id, turn_id=turn_id, item=begun))
        self._conversation.tell(ItemCompleted(thread_id=thread_id, turn_id=turn_id, item=item))


_POLICY_NAMES = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
    "externalSandbox": "external-sandbox",
}


def recorded_settings(settings: ThreadSettings) -> dict[str, Any]:
    """What a thread runs under, as rollouts hold it."""
    return {
        "cwd": settings.cwd,
        "approval_policy": settings.approval_policy,
        "sandbox_policy": recorded_policy(settings.sandbox_policy),
        "model": settings.model,
        "effort": settings.effort,
        **({"service_tier": settings.service_tier} if settings.service_tier else {}),
        **({} if settings.workspace_roots is None else {"workspace_roots": list(settings.roots)}),
        "summary": settings.summary or "auto",
    }


def recorded_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A sandbox policy as rollouts hold it."""
    name = str(policy.get("type", "readOnly"))
    return {"type": _POLICY_NAMES.get(name, name)}
