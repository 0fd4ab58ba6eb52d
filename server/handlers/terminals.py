"""What a thread left running: listed and ended; and lines of shell that the user types."""

from protocol.base import EmptyResult
from protocol.errors import draining, refused
from protocol.messages.commands import (
    BackgroundTerminal,
    BackgroundTerminalParams,
    BackgroundTerminalsListParams,
    BackgroundTerminalsPage,
    BackgroundTerminalTerminated,
    ShellCommandParams,
)
from protocol.messages.threads import ThreadIdParams
from server.agent.inputs import Admitted, TurnInput, UserCommand
from server.agent.tools.terminals import Terminal
from server.handlers.identities import thread_id_of
from server.handlers.services import Services
from server.handlers.turns import refusal_of
from server.wire.dispatch import Call

PAGE_MAX = 100


class TerminalHandlers:
    """Answers `thread/backgroundTerminals/*` and `thread/shellCommand`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._terminals = services.machine.terminals

    async def list_terminals(
        self, call: Call, params: BackgroundTerminalsListParams
    ) -> BackgroundTerminalsPage:
        """Those that run, oldest first."""
        thread_id = self._services.live.require(thread_id_of(params.thread_id)).id
        running = self._terminals.running(thread_id)
        start = 0
        if params.cursor is not None:
            ids = [str(one.session_id) for one in running]
            start = ids.index(params.cursor) + 1 if params.cursor in ids else len(ids)
        size = min(max(params.limit or PAGE_MAX, 1), PAGE_MAX)
        page = running[start : start + size]
        more = len(running) > start + size
        return BackgroundTerminalsPage(
            data=[_view(one) for one in page],
            next_cursor=str(page[-1].session_id) if more else None,
        )

    async def terminate(
        self, call: Call, params: BackgroundTerminalParams
    ) -> BackgroundTerminalTerminated:
        """End one."""
        thread_id = self._services.live.require(thread_id_of(params.thread_id)).id
        number = int(params.process_id) if params.process_id.isdecimal() else -1
        terminal = self._terminals.find(thread_id, number)
        if terminal is None or not terminal.is_running:
            return BackgroundTerminalTerminated(terminated=False)
        await self._terminals.end(terminal)
        return BackgroundTerminalTerminated(terminated=True)

    async def clean(self, call: Call, params: ThreadIdParams) -> EmptyResult:
        """End all of a thread."""
        live = self._services.live.require(thread_id_of(params.thread_id))
        await self._terminals.end_all(live.id)
        return EmptyResult()

    async def shell_command(self, call: Call, params: ShellCommandParams) -> EmptyResult:
        """Take a line that the user typed; it runs after this reply, and is told as a turn."""
        if self._services.draining():
            raise draining()
        live = self._services.live.require(thread_id_of(params.thread_id))
        limit = self._services.machine.shell.limits.command_characters_max
        if not params.command.strip():
            raise refused("command must not be empty")
        if len(params.command) > limit or "\0" in params.command:
            raise refused(f"command must be text of at most {limit} characters")
        command = UserCommand(text=params.command.strip(), timeout_ms=params.timeout_ms)
        admitted = await live.admit(TurnInput(content=(), command=command))
        if not isinstance(admitted, Admitted):
            raise refusal_of(live.id, admitted)
        call.after_reply(admitted.begin)
        return EmptyResult()


def _view(terminal: Terminal) -> BackgroundTerminal:
    return BackgroundTerminal(
        item_id=terminal.item_id,
        process_id=str(terminal.session_id),
        command=terminal.command,
        cwd=terminal.cwd,
        os_pid=None if terminal.process is None else terminal.process.pid,
    )
