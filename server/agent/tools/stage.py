"""What a tool that clients can see works with: its call, its items, and whom it may ask.

A tool of this kind is a definition and `run(call, stage)`. It opens items on its stage, asks a
person there, and returns what the model is to read. Only values and ports are here; the turn
implements them.

Contract of `run`: it may be cancelled at any await, because the turn was interrupted or is over
time. Then it lets go of what it holds (kills its processes), may still complete its item, and lets
the cancellation out; what it leaves open the stage closes. It never raises for a mistake of the
model: that is text in the result. Anything else it raises fails this one call, not the turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from server.agent.approvals import SessionGrants
from server.agent.command_rules import Words
from server.agent.inputs import ThreadSettings
from state.ids import ThreadId, TurnId
from state.stores.withdrawal import OutsideKind

Part = Mapping[str, Any]
"""A content part of the Responses API: `input_text` or `input_image`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call, as the model made it."""

    call_id: str
    """Also the id of the item that shows it, as the original has it."""
    name: str
    namespace: str | None = None
    text: str
    """The argument text of a function, or the whole input of a custom tool."""
    custom: bool = False
    """Whether it came as a custom (freeform) call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the model reads of a call."""

    content: str | tuple[Part, ...]
    is_fitted: bool = False
    """Whether the tool cut it to a bound of its own; else the bound of all tools is applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """It may go on."""

    for_session: bool = False
    """The same need not be asked again in this thread; the stage has noted the grant."""
    prefix_rule: tuple[str, ...] | None = None
    """Commands that begin so may run from now on; the stage has saved the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """It may not, and the turn goes on."""

    reason: Literal["declined", "no answer in time"] = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """It may not, and the turn ends when the tool returns; complete the item as declined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFailed:
    """The client answered with an error or with nothing that we understand; the item failed."""

    message: str


Decision = Accepted | Declined | Cancelled | AskFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandQuestion:
    """May this command run?"""

    command: str
    """One string, as the item shows it."""
    cwd: str
    command_actions: Sequence[Mapping[str, Any]]
    reason: str | None = None
    proposed_prefix: tuple[str, ...] | None = None
    """The rule that the person may save with the answer; see `approvals.proposed_prefix`."""
    grant_key: str | None = None
    """What `acceptForSession` remembers; offered when given. See `approvals.command_key`."""
    offers_session: bool = False
    """Whether `acceptForSession` stands in `availableDecisions`; it is taken in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChangeQuestion:
    """May these files change?"""

    reason: str | None = None
    grant_root: str | None = None
    """The folder that is to become writable for the rest of the thread."""
    grant_keys: tuple[str, ...] = ()
    """The files that `acceptForSession` remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionsQuestion:
    """May the agent have these further permissions?"""

    cwd: str
    permissions: Mapping[str, Any]
    """The wire's profile: `fileSystem`, `network`."""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """What was granted of it, in the wire's shape; empty when nothing was."""

    permissions: Mapping[str, Any]
    scope: Literal["turn", "session"] = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """One question to the user."""

    question_id: str
    header: str
    question: str
    options: tuple[tuple[str, str], ...] = ()
    """Label and description of each choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAnswers:
    """What the user answered, by question id; `failed` says why there is none."""

    answers: Mapping[str, tuple[str, ...]]
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """What an MCP server wants to know of the user."""

    server_name: str
    request: Mapping[str, Any]
    """The mode and its fields: `message`, `requestedSchema` or `url` and `elicitationId`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitationAnswer:
    """What the user said to it."""

    action: Literal["accept", "decline", "cancel"]
    content: Any = None
    meta: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientToolAnswer:
    """What the client's own tool gave."""

    content_items: tuple[Mapping[str, Any], ...]
    """In the wire's shape: `inputText`, `inputImage`."""
    success: bool


class OpenItem(Protocol):
    """An item that began and is not complete; `complete` is called once."""

    @property
    def item_id(self) -> str:
        """Its id."""
        ...

    def delta(self, text: str) -> None:
        """Tell more output of a command, or of an MCP tool; progress may be dropped on the way."""
        ...

    def wrote(self, stdin: str, *, process_id: str) -> None:
        """Tell what a running command was given to read."""
        ...

    def update(self, body: Mapping[str, Any]) -> None:
        """Change what is known of it, for those who read the thread meanwhile; tells nothing."""
        ...

    async def complete(self, body: Mapping[str, Any]) -> None:
        """Record the whole item, then tell that it is complete.

        Raises: OSError, StateError.
        """
        ...


class Stage(Protocol):
    """The place of one call in one turn."""

    @property
    def thread_id(self) -> ThreadId:
        """The thread."""
        ...

    @property
    def turn_id(self) -> TurnId:
        """The turn."""
        ...

    @property
    def settings(self) -> ThreadSettings:
        """How the thread works now: `cwd`, `approval_policy`, `sandbox_policy`, …"""
        ...

    @property
    def grants(self) -> SessionGrants:
        """What was accepted for the session of this thread."""
        ...

    async def rules(self) -> Mapping[Words, str]:
        """The user's rules on commands, as they are now."""
        ...

    def open(
        self,
        type_: str,
        body: Mapping[str, Any],
        *,
        item_id: str | None = None,
        asking: bool = False,
    ) -> OpenItem:
        """Begin an item and tell it; its id is the call's unless another is given.

        The body has every key that clients get, in camelCase. With `asking` the thread is told to
        wait for approval first, as the original does for commands; ask next.
        """
        ...

    def keep(self, item: OpenItem) -> OpenItem:
        """Let an item go on after the call and the turn; whoever keeps it completes it."""
        ...

    async def ask_command(self, item: OpenItem, question: CommandQuestion) -> Decision:
        """Ask whether a command may run, and note what was granted with the answer."""
        ...

    async def ask_file_change(self, item: OpenItem, question: FileChangeQuestion) -> Decision:
        """Ask whether files may change, and note what was granted with the answer."""
        ...

    async def ask_permissions(self, question: PermissionsQuestion) -> Permitted:
        """Ask for further permissions; no answer grants nothing."""
        ...

    async def ask_user(self, questions: Sequence[UserQuestion]) -> UserAnswers:
        """Ask the user something and wait."""
        ...

    async def elicit(self, elicitation: Elicitation) -> ElicitationAnswer:
        """Ask for an MCP server; no answer counts as `cancel`."""
        ...

    async def call_client(
        self, tool: str, arguments: Any, *, namespace: str | None
    ) -> ClientToolAnswer:
        """Let the client run a tool of its own."""
        ...

    async def pollute(self, kind: OutsideKind, name: str) -> None:
        """Mark the thread as holding text from outside, where the settings ask for that.

        Call it just before the external text can come in, after approval. `name` is the server or
        tool.
        """
        ...

    async def changed_files(self, changes: Sequence["FileChanged"]) -> None:
        """Tell the turn's whole difference with these changes of files in it."""
        ...

    def planned(self, explanation: str | None, steps: Sequence[tuple[str, str]]) -> None:
        """Tell the plan: each step and its status (`pending`, `inProgress`, `completed`)."""
        ...

    def warn(self, message: str) -> None:
        """Tell a person what they should know and what stops nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged:
    """A file before and after; None where there was none. Absolute paths."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o100644
    moved_from: str | None = None


class StagedTool(Protocol):
    """A tool whose work clients can see."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the Responses API takes it, `type` included: `function` or `custom`."""
        ...

    @property
    def is_parallel(self) -> bool:
        """Whether calls beside it in one response may run at the same time."""
        ...

    @property
    def seconds_max(self) -> int | None:
        """When a call is stopped; None for a tool that bounds itself or waits for people."""
        ...

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Do it."""
        ...
