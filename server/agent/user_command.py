"""A line of shell that the user typed: run with the user's own rights, shown, and remembered.

The person is the one who may; so nothing is asked and nothing confined, as in the original.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from server.agent.inputs import UserCommand
from server.agent.interrupts import Stopped
from server.agent.sandbox.policy import FullAccess
from server.agent.sandbox.sandbox import CannotRun
from server.agent.tools.output import cut_for_model
from server.agent.tools.shell_run import Asked, ShellParts, ended_body, item_body, start, waited
from server.agent.tools.terminals import Terminal
from server.agent.turn_floor import TurnFloor
from server.agent.turn_stage import CallStage
from state.ids import uuid7
from state.rollouts.lines import response_item

SOURCE = "userShell"
TIMEOUT_MS_DEFAULT = 3_600_000
OUTPUT_TOKENS_MAX = 10_000


async def run_user_command(floor: TurnFloor, parts: ShellParts, command: UserCommand) -> None:
    """Run it as an item of this turn.

    Raises: Stopped, OSError, StateError.
    """
    now_ms = floor.clock.now_ms()
    cwd = floor.conversation.settings.cwd
    asked = Asked(argv=(parts.shell, "-lc", command.text), text=command.text, cwd=cwd)
    stage = CallStage(floor, uuid7(now_ms))
    item = stage.open("commandExecution", item_body(asked, source=SOURCE))
    terminal = parts.terminals.make(
        stage.thread_id, item_id=item.item_id, command=asked.shown, cwd=cwd, now_ms=now_ms
    )
    stopped: Stopped | None = None
    process = await start(parts, asked, terminal, FullAccess(), item.delta)
    if isinstance(process, CannotRun):
        terminal.kept.add(process.reason.encode())
        body = item_body(asked, source=SOURCE, status="failed", output=process.reason)
    else:
        timeout_ms = TIMEOUT_MS_DEFAULT if command.timeout_ms is None else command.timeout_ms
        try:
            with floor.turn.interrupts.stoppable():
                await waited(process, milliseconds=timeout_ms)
        except Stopped as reason:
            stopped = reason
        finally:
            await process.killed()
        body = ended_body(asked, terminal, source=SOURCE, now_ms=floor.clock.now_ms())
    message = _message(command.text, terminal, body)
    await floor.record([response_item(message, turn_id=stage.turn_id)])
    floor.conversation.remember(message)
    await item.complete(body)
    await asyncio.sleep(0)
    if stopped is not None:
        raise stopped


def _message(text: str, terminal: Terminal, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the model is told of it, in the original's words."""
    seconds = (body["durationMs"] or 0) / 1_000
    output = cut_for_model(terminal.kept.text(), tokens_max=OUTPUT_TOKENS_MAX)
    told = (
        f"<user_shell_command>\n<command>\n{text}\n</command>\n<result>\n"
        f"Exit code: {-1 if body['exitCode'] is None else body['exitCode']}\n"
        f"Duration: {seconds:.4f} seconds\nOutput:\n{output}\n</result>\n</user_shell_command>"
    )
    return {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": told}],
    }
