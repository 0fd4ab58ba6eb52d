"""Items out of legacy history, where events and response items stand for them.

Messages come from `user_message` and `agent_message` events, commands from the calls to the model's
shell tools. Invariant: an id that the file does not give is derived from thread and line, so it is
the same at each reading.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from state.ids import ThreadId, derived_uuid
from state.rollouts.items import RecordedItem, RolloutLine
from state.rollouts.recorded import (
    citation,
    command_line,
    file_changes,
    millis,
    review_text,
    without_image_bytes,
)

_SHELL_TOOLS = frozenset({"shell", "exec_command", "shell_command", "container.exec"})
_EXIT_CODE = re.compile(r"(?:[Ee]xit code: |exited with code )(-?\d{1,9})")
_OUTPUT_MARK = "Output:\n"
_PENDING_MAX = 1_000

Body = dict[str, Any]


class LegacyReader:
    """Makes items of legacy lines; remembers commands whose output has not come yet."""

    def __init__(self, thread_id: ThreadId, cwd: str) -> None:
        self._thread_id = thread_id
        self._cwd = cwd
        self._commands: dict[str, Body] = {}

    def from_event(self, line: RolloutLine, at_ms: int | None) -> list[RecordedItem]:
        """The items of an event, mostly none or one."""
        event = line.payload
        read = _read_event(event)
        if read is None:
            return []
        type_, body = read
        # Lines that we add to an old file carry the id that clients were told.
        given = event.get("item_id", event.get("call_id"))
        item_id = given if isinstance(given, str) and given else self._id(line)
        return [_item(item_id, type_, body, at_ms)]

    def from_response(self, line: RolloutLine, at_ms: int | None) -> list[RecordedItem]:
        """The command that a call began or an output finished, if it is one."""
        item = line.payload
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id:
            return []
        match item.get("type"):
            case "function_call" if item.get("name") in _SHELL_TOOLS:
                command, cwd = _command_of(_loads(item.get("arguments")))
            case "local_shell_call":
                command, cwd = _command_of(item.get("action"))
            case "function_call_output" if call_id in self._commands:
                body = {**self._commands.pop(call_id), **_outcome(item.get("output"))}
                return [_item(call_id, "commandExecution", body, at_ms)]
            case _:
                return []
        body = {
            "command": command,
            "cwd": cwd or self._cwd,
            "processId": None,
            "source": "agent",
            # Until its output is seen; an item without one was cut off.
            "status": "failed",
            "commandActions": [{"type": "unknown", "command": command}],
            "aggregatedOutput": None,
            "exitCode": None,
            "durationMs": None,
        }
        if len(self._commands) < _PENDING_MAX:
            self._commands[call_id] = body
        return [_item(call_id, "commandExecution", body, at_ms)]

    def _id(self, line: RolloutLine) -> str:
        return derived_uuid(self._thread_id, line.line_number, "item")


def _read_event(event: Mapping[str, Any]) -> tuple[str, Body] | None:
    match event:
        case {"type": "user_message", "message": str(text)}:
            return "userMessage", {"clientId": None, "content": _user_content(text, event)}
        case {"type": "agent_message", "message": str(text)}:
            found = citation(event.get("memory_citation"))
            phase = event.get("phase")
            return "agentMessage", {"text": text, "phase": phase, "memoryCitation": found}
        case {"type": "agent_reasoning", "text": str(text)}:
            return "reasoning", {"summary": [text], "content": []}
        case {"type": "agent_reasoning_raw_content", "text": str(text)}:
            return "reasoning", {"summary": [], "content": [text]}
        case {"type": "context_compacted"}:
            return "contextCompaction", {}
        case {"type": "entered_review_mode"}:
            return "enteredReviewMode", {"review": str(event.get("user_facing_hint") or "")}
        case {"type": "exited_review_mode"}:
            return "exitedReviewMode", {"review": review_text(event.get("review_output"))}
        case {"type": "web_search_end", "query": str(query)}:
            return "webSearch", {"query": query, "action": None}
        case {"type": "patch_apply_end", "changes": dict(changes)}:
            done = "completed" if event.get("success") else "failed"
            plain = {path: _flat_change(change) for path, change in changes.items()}
            return "fileChange", {"changes": file_changes(plain), "status": done}
        case {"type": "mcp_tool_call_end", "invocation": dict(invocation)}:
            return _mcp_call(invocation, event)
        case _:
            return None


def _user_content(text: str, event: Mapping[str, Any]) -> list[Body]:
    content: list[Body] = [{"type": "text", "text": text, "text_elements": []}]
    for url in _strings(event.get("images")):
        content.append(without_image_bytes({"type": "image", "url": url}))
    for path in _strings(event.get("local_images")):
        content.append({"type": "localImage", "path": path})
    return content


def _mcp_call(invocation: Mapping[str, Any], event: Mapping[str, Any]) -> tuple[str, Body] | None:
    server, tool = invocation.get("server"), invocation.get("tool")
    if not isinstance(server, str) or not isinstance(tool, str):
        return None
    result = event.get("result")
    outcome = result if isinstance(result, Mapping) else {}
    good, bad = outcome.get("Ok"), outcome.get("Err")
    body: Body = {
        "server": server,
        "tool": tool,
        "arguments": invocation.get("arguments"),
        "status": "failed" if bad is not None else "completed",
        "durationMs": millis(event.get("duration")),
        "result": None,
        "error": None if bad is None else {"message": str(bad)},
    }
    if isinstance(good, Mapping):
        content = good.get("content")
        parts = content if isinstance(content, list) else []
        structured = good.get("structured_content", good.get("structuredContent"))
        body["result"] = {"content": parts, "structuredContent": structured, "_meta": None}
    return "mcpToolCall", body


def _flat_change(change: Any) -> Any:
    # Older releases name the kind as a key: {"add": {"content": …}}.
    if isinstance(change, Mapping) and "type" not in change and len(change) == 1:
        kind, rest = next(iter(change.items()))
        return {"type": kind, **rest} if isinstance(rest, Mapping) else change
    return change


def _command_of(arguments: Any) -> tuple[str, str]:
    if not isinstance(arguments, Mapping):
        return "", ""
    cwd = arguments.get("workdir", arguments.get("working_directory"))
    command = command_line(arguments.get("cmd", arguments.get("command")))
    return command, cwd if isinstance(cwd, str) else ""


def _outcome(output: Any) -> Body:
    code: int | None = None
    text = output if isinstance(output, str) else ""
    told = _loads(text) if text.startswith("{") else output
    if isinstance(told, Mapping) and isinstance(told.get("output"), str):
        text = told["output"]
        about = told.get("metadata")
        found = about.get("exit_code") if isinstance(about, Mapping) else None
        code = found if isinstance(found, int) else None
    else:
        head, mark, rest = text.partition(_OUTPUT_MARK)
        found_code = _EXIT_CODE.search(head[:1_000])
        if mark and found_code:
            code, text = int(found_code[1]), rest
    done = "failed" if code else "completed"
    return {"aggregatedOutput": text, "exitCode": code, "status": done}


def _item(item_id: str, type_: str, body: Body, at_ms: int | None) -> RecordedItem:
    return RecordedItem(
        item_id=item_id,
        turn_id="",
        type=type_,
        body=body,
        started_at_ms=at_ms,
        completed_at_ms=at_ms,
    )


def _strings(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _loads(text: Any) -> Any:
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return None
