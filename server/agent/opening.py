"""Records what goes into a turn: its start, the context of a first one, and the user's words.

Invariant: the user's message is in the rollout, and the thread in the database, before an item
event tells of it.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.agent.active_turn import ActiveTurn
from server.agent.checkout import Checkout, read_checkout
from server.agent.conversation import Conversation
from server.agent.events import ItemCompleted, ItemStarted, Warned
from server.agent.inputs import ThreadSettings, TurnInput
from server.agent.instruction_files import Instructions, fragment, read_instructions
from server.agent.limits import AgentSettings
from server.agent.memory import MemoryReader
from server.agent.models.base import Item
from server.agent.prompt import (
    PromptMessage,
    developer_message,
    environment_message,
    has_files,
    local_date,
    typed_text,
    user_message,
)
from server.agent.recorder import Recorder
from state.clock import Clock
from state.errors import StateError
from state.ids import uuid7
from state.policy.preview import PRIVATE_PREVIEW, preview_of
from state.rollouts.items import RecordedItem, SessionMeta
from state.rollouts.lines import Line, response_item, task_started, turn_context
from state.rollouts.store import rfc3339


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

    async def record(self, given: TurnInput) -> None:
        """The start of the turn with its first input; makes file and row at the first turn.

        Raises: OSError, StateError.
        """
        turn, conversation = self._turn, self._conversation
        assert turn.started_at_s is not None
        before = conversation.mark()
        lines: list[Line] = [task_started(turn.turn_id, started_at_s=turn.started_at_s)]
        lines.extend(self._message_line(one) for one in await self._context())
        lines.append(turn_context(turn.turn_id, self._turn_context()))
        try:
            item = await self._write(given, lines)
        except (OSError, StateError):
            # Nothing of it is in the file, so the next turn must bring the context again.
            conversation.back_to(before)
            raise
        self._tell(item)

    async def begin(self) -> None:
        """The start of a turn in which nothing is said.

        Raises: OSError, StateError.
        """
        assert self._turn.started_at_s is not None
        if not self._recorder.opened:
            await self._recorder.open(self._meta(Checkout()))
        await self._recorder.record(
            [task_started(self._turn.turn_id, started_at_s=self._turn.started_at_s)]
        )

    async def _write(self, given: TurnInput, lines: Sequence[Line]) -> RecordedItem | None:
        checkout = Checkout()
        if not self._conversation.ephemeral and not self._recorder.stored:
            checkout = await asyncio.to_thread(read_checkout, self._conversation.settings.cwd)
        if not self._recorder.opened:
            await self._recorder.open(self._meta(checkout))
        item, user_lines = await self._input_lines(given)
        # The file first: on a full disk no row may tell of words that are nowhere.
        await self._recorder.record([*lines, *user_lines])
        await self._put_row(given, checkout)
        return item

    async def record_input(self, given: TurnInput) -> None:
        """Further input of the user.

        Raises: OSError, StateError.
        """
        item, lines = await self._input_lines(given)
        await self._recorder.record(lines)
        if not self._recorder.draft.preview and typed_text(given):
            await self._put_row(given, Checkout())
        self._tell(item)

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

    def _meta(self, checkout: Checkout) -> SessionMeta:
        draft, settings = self._recorder.draft, self._conversation.settings
        from_row: dict[str, Any] = {
            "id": draft.thread_id,
            "session_id": draft.thread_id,
            "timestamp": rfc3339(draft.created_at_ms),
            "cwd": settings.cwd,
            "originator": draft.originator or "memoryd",
            "cli_version": draft.cli_version,
            "source": _source(draft.source),
            "thread_source": draft.thread_source,
            "model_provider": settings.provider,
            "memory_mode": draft.memory_mode,
            "memory_use": None if draft.use_memories else False,
            "history_mode": draft.history_mode,
        }
        if settings.instructions is not None:
            from_row["base_instructions"] = {"text": settings.instructions}
        if settings.client_tools:
            from_row["dynamic_tools"] = [dict(one) for one in settings.client_tools]
        if checkout.known:
            from_row["git"] = {
                "commit_hash": checkout.commit_id,
                "branch": checkout.branch,
                "repository_url": checkout.origin_url,
            }
        return SessionMeta.model_validate(from_row)

    async def _input_lines(self, given: TurnInput) -> tuple[RecordedItem | None, list[Line]]:
        if not given.content:
            return None, []
        message = (
            await asyncio.to_thread(user_message, given)
            if has_files(given)
            else user_message(given)
        )
        now_ms = self._clock.now_ms()
        item = RecordedItem(
            item_id=uuid7(now_ms),
            turn_id=self._turn.turn_id,
            type="userMessage",
            body={
                "clientId": given.client_id,
                "content": [
                    {"text_elements": [], **one} if one.get("type") == "text" else dict(one)
                    for one in given.content
                ],
            },
            started_at_ms=now_ms,
            completed_at_ms=now_ms,
        )
        response = {"id": f"msg_{uuid7(now_ms)}", **message.item}
        self._conversation.remember(response)
        return item, list(self._recorder.user_lines(item, response, typed_text(given)))

    async def _put_row(self, given: TurnInput, checkout: Checkout) -> None:
        draft, settings = self._recorder.draft, self._conversation.settings
        changes: dict[str, Any] = {
            "updated_at_ms": self._clock.now_ms(),
            "model_provider": settings.provider,
            "model": settings.model,
            "cwd": settings.cwd,
        }
        if not draft.preview:
            private = not draft.use_memories and draft.memory_mode != "enabled"
            typed = typed_text(given)
            changes["preview"] = PRIVATE_PREVIEW if private and typed else preview_of(typed)
        if checkout.known:
            changes["git_branch"] = checkout.branch
            changes["git_sha"] = checkout.commit_id
            changes["git_origin_url"] = checkout.origin_url
        await self._recorder.put_row(**changes)

    def _tell(self, item: RecordedItem | None) -> None:
        if item is None:
            return
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
        "summary": settings.summary or "auto",
    }


def recorded_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A sandbox policy as rollouts hold it."""
    name = str(policy.get("type", "readOnly"))
    return {"type": _POLICY_NAMES.get(name, name)}


def _source(text: str) -> str | dict[str, Any]:
    """The source value of a row; what is no JSON counts as a word."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | dict) else str(value)
