"""The tool `write_stdin`: types into a command that runs on, or looks what it printed."""

import json
from collections.abc import Mapping
from typing import Any

from server.agent.tools.output import clamped
from server.agent.tools.shell_arguments import (
    function,
    number_field,
    numeral,
    text_field,
    tokens_of,
)
from server.agent.tools.shell_run import ShellParts, reported, waited
from server.agent.tools.stage import Stage, ToolCall, ToolResult


class WriteStdin:
    """The tool `write_stdin`."""

    name = "write_stdin"
    is_parallel = False
    seconds_max = None

    def __init__(self, parts: ShellParts) -> None:
        self._parts = parts

    @property
    def definition(self) -> Mapping[str, Any]:
        """As the original offers it."""
        return function(
            self.name,
            "Writes characters to an existing unified exec session and returns recent output.",
            {
                "chars": text_field(
                    "Bytes to write to stdin. Defaults to empty, which polls without writing."
                ),
                "max_output_tokens": number_field("Output token budget. Defaults to 10000 tokens."),
                "session_id": number_field("Identifier of the running unified exec session."),
                "yield_time_ms": number_field(
                    "Wait before yielding output. Non-empty writes default to 250 ms and cap at "
                    "30000 ms; empty polls wait 5000-300000 ms."
                ),
            },
            required=("session_id",),
        )

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Write, wait a little, and tell what came."""
        parts = self._parts
        try:
            given = json.loads(call.text or "{}")
            number, chars = int(given["session_id"]), str(given.get("chars") or "")
            yield_ms = self._yield_ms(numeral(given.get("yield_time_ms")), bool(chars))
            tokens_max = tokens_of(given, parts.limits)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        terminal = parts.terminals.find(stage.thread_id, number)
        process = None if terminal is None else terminal.process
        if terminal is None or process is None:
            return ToolResult(content=f"write_stdin failed: Unknown process id {number}")
        parts.terminals.use(terminal)
        terminal.arrived.clear()
        if chars:
            if not process.takes_input or not process.write(chars.encode("utf-8", "replace")):
                return ToolResult(
                    content="write_stdin failed: stdin is closed for this session; rerun "
                    "exec_command with tty=true to keep stdin open"
                )
            if terminal.wrote is not None:
                terminal.wrote(chars)
        # What waits already is an answer to an empty poll.
        if chars or not terminal.unread.total:
            await waited(process, milliseconds=yield_ms)
        if process.ended.is_set():
            parts.terminals.drop(terminal)
        return reported(terminal, parts, tokens_max=tokens_max)

    def _yield_ms(self, given: float | None, writes: bool) -> int:
        limits = self._parts.limits
        if writes:
            return clamped(
                given,
                default=limits.write_yield_ms_default,
                lowest=limits.yield_ms_min,
                highest=limits.yield_ms_max,
            )
        return clamped(
            given, default=limits.poll_ms_min, lowest=limits.poll_ms_min, highest=limits.poll_ms_max
        )
