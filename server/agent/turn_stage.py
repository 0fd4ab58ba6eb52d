"""The stage of one tool call: its items, its questions, and what becomes of them when it stops.

Invariant: what a call opened is closed when the call is over, by the tool or here; after that its
stage tells and records nothing more, also when a tool that was left behind goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.agent.approvals import SessionGrants
from server.agent.asking import (
    Answer,
    ClientToolQuestion,
    NoAnswer,
    Question,
    Subject,
    UserQuestions,
    Waiting,
)
from server.agent.command_rules import Words
from server.agent.errors import NotMarked
from server.agent.events import OutputDelta, PlanChanged, StdinWritten, Warned
from server.agent.inputs import ThreadSettings
from server.agent.kept_item import KeptItem
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    ClientToolAnswer,
    CommandQuestion,
    Decision,
    Declined,
    Elicitation,
    ElicitationAnswer,
    FileChanged,
    FileChangeQuestion,
    OpenItem,
    PermissionsQuestion,
    Permitted,
    UserAnswers,
    UserQuestion,
)
from server.agent.turn_floor import TurnFloor
from state.errors import StateError
from state.ids import ThreadId, TurnId
from state.rollouts.items import RecordedItem
from state.stores.withdrawal import OutsideKind


class OpenTool:
    """An item of a running call."""

    def __init__(self, stage: "CallStage", item: RecordedItem) -> None:
        self._stage = stage
        self._floor = stage.floor
        self.item = item
        self.asked = False
        """Whether a question about it is open."""

    @property
    def item_id(self) -> str:
        """Its id."""
        return self.item.item_id

    def delta(self, text: str) -> None:
        """Tell more output."""
        if text and self._stage.is_open:
            self._floor.tell(
                OutputDelta(
                    thread_id=self._stage.thread_id,
                    turn_id=self._stage.turn_id,
                    item_id=self.item.item_id,
                    item_type=self.item.type,
                    delta=text,
                )
            )

    def wrote(self, stdin: str, *, process_id: str) -> None:
        """Tell what a running command was given to read."""
        if self._stage.is_open:
            self._floor.tell(
                StdinWritten(
                    thread_id=self._stage.thread_id,
                    turn_id=self._stage.turn_id,
                    item_id=self.item.item_id,
                    process_id=process_id,
                    stdin=stdin,
                )
            )

    def update(self, body: Mapping[str, Any]) -> None:
        """Change what is known of it."""
        self.item = replace(self.item, body=dict(body))
        self._floor.change(self.item)

    async def complete(self, body: Mapping[str, Any]) -> None:
        """Record the whole item, then tell it.

        Raises: OSError, StateError.
        """
        await self._stage.end(self, body, told=True)


class CallStage:
    """The stage of one call, as `tools/stage.py` describes it."""

    def __init__(self, floor: TurnFloor, call_id: str) -> None:
        self.floor = floor
        self.is_open = True
        self._call_id = call_id
        self._items: list[OpenTool] = []
        self._waiting: list[Waiting] = []
        """What the thread is told to wait for on behalf of this call."""

    @property
    def thread_id(self) -> ThreadId:
        """The thread."""
        return self.floor.conversation.thread_id

    @property
    def turn_id(self) -> TurnId:
        """The turn."""
        return self.floor.turn.turn_id

    @property
    def settings(self) -> ThreadSettings:
        """How the thread works now."""
        return self.floor.conversation.settings

    @property
    def grants(self) -> SessionGrants:
        """What was accepted for the session."""
        return self.floor.conversation.grants

    async def rules(self) -> Mapping[Words, str]:
        """The user's rules on commands, as they are now."""
        rules = self.floor.rules
        return {} if rules is None else await rules.current()

    def open(
        self,
        type_: str,
        body: Mapping[str, Any],
        *,
        item_id: str | None = None,
        asking: bool = False,
    ) -> OpenTool:
        """Begin an item and tell it."""
        if asking and self.is_open:
            self._wait("waitingOnApproval")
        item = RecordedItem(
            item_id=item_id or self._call_id,
            turn_id=self.turn_id,
            type=type_,
            body=dict(body),
            started_at_ms=self.floor.clock.now_ms(),
        )
        opened = OpenTool(self, item)
        if self.is_open:
            self._items.append(opened)
            self.floor.begin(item)
        return opened

    async def end(self, opened: OpenTool, body: Mapping[str, Any], *, told: bool) -> None:
        """Record an item that is complete, keep it, and tell it where it is to be told."""
        if not self.is_open or opened not in self._items:
            return
        self._items.remove(opened)
        if opened.item.type == "commandExecution" and body.get("exitCode") is not None:
            self.floor.ran(str(body.get("command", "")), body["exitCode"] == 0)
        item = replace(opened.item, body=dict(body), completed_at_ms=self.floor.clock.now_ms())
        await self.floor.record([self.floor.recorder.item_line(item)])
        self.floor.end(item, told=told)
        self._go_on()

    def keep(self, item: OpenItem) -> OpenItem:
        """Let an item go on after the call and the turn."""
        opened = next(one for one in self._items if one.item_id == item.item_id)
        self._items.remove(opened)
        return KeptItem(self.floor, opened.item)

    async def ask_command(self, item: OpenItem, question: CommandQuestion) -> Decision:
        """Ask whether a command may run."""
        decision = await self._decide(item, question)
        match decision:
            case Accepted(for_session=True) if question.grant_key is not None:
                self.grants.add_command(question.grant_key)
            case Accepted(prefix_rule=tuple() as words):
                await self._save_rule(words)
            case _:
                pass
        return decision

    async def ask_file_change(self, item: OpenItem, question: FileChangeQuestion) -> Decision:
        """Ask whether files may change."""
        decision = await self._decide(item, question)
        if isinstance(decision, Accepted) and decision.for_session:
            self.grants.add_files(question.grant_keys)
            if question.grant_root is not None:
                self.grants.add_root(question.grant_root)
        return decision

    async def ask_permissions(self, question: PermissionsQuestion) -> Permitted:
        """Ask for further permissions."""
        answer = await self._answer(question, None, "waitingOnApproval")
        self._go_on()
        return answer if isinstance(answer, Permitted) else Permitted(permissions={})

    async def ask_user(self, questions: Sequence[UserQuestion]) -> UserAnswers:
        """Ask the user something."""
        subject = UserQuestions(questions=tuple(questions))
        answer = await self._answer(subject, None, "waitingOnUserInput")
        self._go_on()
        match answer:
            case UserAnswers():
                return answer
            case NoAnswer(seconds=seconds):
                return UserAnswers(answers={}, failed=f"no answer within {seconds:g} seconds")
            case AskFailed(message=message):
                return UserAnswers(answers={}, failed=message)
            case _:
                return UserAnswers(answers={}, failed="the user did not answer")

    async def elicit(self, elicitation: Elicitation) -> ElicitationAnswer:
        """Ask for an MCP server."""
        answer = await self._answer(elicitation, None, "waitingOnUserInput")
        self._go_on()
        return (
            answer if isinstance(answer, ElicitationAnswer) else ElicitationAnswer(action="cancel")
        )

    async def call_client(
        self, tool: str, arguments: Any, *, namespace: str | None
    ) -> ClientToolAnswer:
        """Let the client run a tool of its own."""
        subject = ClientToolQuestion(tool=tool, namespace=namespace, arguments=arguments)
        answer = await self._answer(subject, None, None)
        match answer:
            case ClientToolAnswer():
                return answer
            case AskFailed(message=message):
                text = f"the client did not run the tool: {message}"
            case NoAnswer(seconds=seconds):
                text = f"the client gave no result within {seconds:g} seconds"
            case _:
                text = "the client did not run the tool"
        return ClientToolAnswer(content_items=({"type": "inputText", "text": text},), success=False)

    async def pollute(self, kind: OutsideKind, name: str) -> None:
        """Mark the thread as holding text from outside, where the settings ask for that."""
        if not await self.floor.conversation.pollute(kind, name):
            # Fail closed: what the thread cannot be marked for must not come in.
            raise NotMarked(self.thread_id)

    async def changed_files(self, changes: Sequence[FileChanged]) -> None:
        """Tell the turn's whole difference with these changes in it."""
        if self.is_open:
            await self.floor.changed_files(changes)

    def planned(self, explanation: str | None, steps: Sequence[tuple[str, str]]) -> None:
        """Tell the plan."""
        if self.is_open:
            self.floor.tell(
                PlanChanged(
                    thread_id=self.thread_id,
                    turn_id=self.turn_id,
                    explanation=explanation,
                    steps=tuple(steps),
                )
            )

    def warn(self, message: str) -> None:
        """Tell a person what they should know."""
        if self.is_open:
            self.floor.tell(Warned(thread_id=self.thread_id, message=message))

    async def close(self, *, is_stopped: bool) -> None:
        """End the call: what it left open failed, or was declined if it still waited for a word.

        Raises: OSError, StateError.
        """
        if is_stopped:
            # The turn ends; its last status is told then, and no other before it.
            self._waiting.clear()
        for opened in list(self._items):
            # Of an item whose question was taken back with its turn the original tells nothing.
            asked = opened.asked and is_stopped
            status = "declined" if asked else "failed"
            body = dict(opened.item.body)
            if "status" in body:
                body["status"] = status
            await self.end(opened, body, told=not asked)
        self._go_on()
        self.is_open = False

    def abandon(self) -> None:
        """Listen to this call no more; it did not let itself be stopped."""
        self.is_open = False
        for opened in self._items:
            self.floor.turn.open_tools.pop(opened.item_id, None)

    def _wait(self, kind: Waiting | None) -> None:
        if kind is not None:
            self._waiting.append(kind)
            self.floor.wait_for(kind)

    def _go_on(self) -> None:
        while self._waiting:
            self.floor.go_on(self._waiting.pop())

    async def _decide(self, item: OpenItem, subject: Subject) -> Decision:
        if not self._waiting:
            self._wait("waitingOnApproval")
        opened = next((one for one in self._items if one.item_id == item.item_id), None)
        answer = await self._answer(subject, opened, None)
        match answer:
            case Accepted():
                self._go_on()
                return answer
            case Declined() | AskFailed():
                return answer
            case Cancelled():
                self.floor.cancelled = True
                return answer
            case NoAnswer():
                return Declined(reason="no answer in time")
            case _:
                return AskFailed(message="the answer does not fit the question")

    async def _answer(
        self, subject: Subject, item: OpenTool | None, kind: Waiting | None
    ) -> Answer:
        """Put the question and wait; an interrupt leaves it open until the turn has ended."""
        self._wait(kind)
        started_at_ms = None if item is None else item.item.started_at_ms
        pending = self.floor.asker.ask(
            Question(
                thread_id=self.thread_id,
                turn_id=self.turn_id,
                item_id=self._call_id if item is None else item.item_id,
                started_at_ms=started_at_ms or self.floor.clock.now_ms(),
                subject=subject,
            )
        )
        self.floor.put(pending)
        if item is not None:
            item.asked = True
        answer = await pending.answer()
        if item is not None:
            item.asked = False
        self.floor.settle(pending)
        match answer:
            case NoAnswer(seconds=seconds):
                self.warn(
                    f"nobody answered a question of the agent within {seconds:g} seconds; "
                    "it counts as declined"
                )
            case AskFailed(message=message):
                self.warn(
                    f"a question of the agent got no answer that counts: {message}; "
                    "it counts as declined"
                )
        return answer

    async def _save_rule(self, words: tuple[str, ...]) -> None:
        rules = self.floor.rules
        try:
            if rules is not None:
                await rules.save(words)
        except (OSError, ValueError, StateError) as error:
            self.warn(f"the command runs, but its rule was not saved: {error}")
