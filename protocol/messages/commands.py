"""Commands that clients run by themselves, and those that a thread left running."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import U32, RequestParams, WireModel
from protocol.messages.turns import SandboxPolicy

U16 = Annotated[int, Field(ge=0, le=65_535)]
Milliseconds = Annotated[int, Field(ge=0, le=2**53)]


class TerminalSize(RequestParams):
    """In character cells."""

    rows: U16
    cols: U16


class CommandExecParams(RequestParams):
    """Run one command, a vector, under the server's sandbox; no thread is needed."""

    command: list[str]
    cwd: str | None = None
    env: dict[str, str | None] | None = None
    """Over the variables a command gets; null takes one away."""
    sandbox_policy: SandboxPolicy | None = None
    permission_profile: str | None = None
    process_id: str | None = None
    """Chosen by the client, for this connection; needed to stream, write, resize or end it."""
    tty: bool = False
    size: TerminalSize | None = None
    stream_stdin: bool = False
    stream_stdout_stderr: bool = False
    output_bytes_cap: Annotated[int, Field(ge=0)] | None = None
    disable_output_cap: bool = False
    timeout_ms: int | None = None
    disable_timeout: bool = False


class CommandExecResult(WireModel):
    """How it ended; streams that were told are empty here."""

    exit_code: int
    stdout: str
    stderr: str


class CommandExecWriteParams(RequestParams):
    """Give a running command something to read, or close what it reads from."""

    process_id: str
    delta_base64: str | None = None
    close_stdin: bool = False


class CommandExecResizeParams(RequestParams):
    """Change the size of a running command's terminal."""

    process_id: str
    size: TerminalSize


class CommandExecProcessParams(RequestParams):
    """A running command of this connection."""

    process_id: str


class CommandExecOutputDelta(WireModel):
    """More output of a command that streams; told to the connection that started it."""

    process_id: str
    stream: Literal["stdout", "stderr"]
    delta_base64: str
    cap_reached: bool


class ShellCommandParams(RequestParams):
    """A line of shell that the user typed; it runs with the user's own rights."""

    thread_id: str
    command: str
    timeout_ms: Milliseconds | None = None


class BackgroundTerminalsListParams(RequestParams):
    """The commands that a thread left running."""

    thread_id: str
    cursor: str | None = None
    limit: U32 | None = None


class BackgroundTerminal(WireModel):
    """One of them."""

    item_id: str
    process_id: str
    command: str
    cwd: str
    os_pid: int | None = None
    cpu_percent: float | None = None
    rss_kb: int | None = None


class BackgroundTerminalsPage(WireModel):
    """Some of them, oldest first."""

    data: list[BackgroundTerminal]
    next_cursor: str | None = None


class BackgroundTerminalParams(RequestParams):
    """One command that a thread left running."""

    thread_id: str
    process_id: str


class BackgroundTerminalTerminated(WireModel):
    """Whether there was one to end."""

    terminated: bool
