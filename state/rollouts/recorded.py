"""Items between their recorded form and the form that clients get.

The recorded form (`item_completed` events) has type names in capitals and fields in snake_case;
clients get camelCase. Both ways are here, so that what we write reads back the same.
Invariant: an item that clients could not decode is left out, since one such fails a whole page.
"""

import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from state.rollouts.items import RecordedItem

Body = dict[str, Any]

IMAGE_OMITTED = "[image omitted]"

# Fields that a client's decoder demands, by item type.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "userMessage": ("content",),
    "hookPrompt": ("fragments",),
    "agentMessage": ("text",),
    "functionCallOutput": ("name", "output"),
    "plan": ("text",),
    "reasoning": (),
    "commandExecution": ("command", "commandActions", "cwd", "status"),
    "fileChange": ("changes", "status"),
    "mcpToolCall": ("arguments", "server", "status", "tool"),
    "dynamicToolCall": ("arguments", "status", "tool"),
    "webSearch": ("query",),
    "imageView": ("path",),
    "sleep": ("durationMs",),
    "enteredReviewMode": ("review",),
    "exitedReviewMode": ("review",),
    "contextCompaction": (),
}

_STATUS = {"inprogress": "inProgress", "completed": "completed", "failed": "failed"}
_STATUS["declined"] = "declined"


def from_recorded(item: Mapping[str, Any]) -> tuple[str, Body] | None:
    """Type and body of a recorded item for clients; None when clients could not decode it."""
    name = item.get("type")
    if not isinstance(name, str) or not name:
        return None
    type_ = name[0].lower() + name[1:]
    if type_ not in REQUIRED:
        return None
    plain = {key: value for key, value in item.items() if key not in ("type", "id")}
    body = _READERS.get(type_, _camel)(plain)
    if any(body.get(field) is None for field in REQUIRED[type_] if field != "arguments"):
        return None
    return type_, body


def to_recorded(item: RecordedItem) -> Body:
    """The recorded form of an item."""
    writer = _WRITERS.get(item.type, _snake)
    name = item.type[:1].upper() + item.type[1:]
    return {"type": name, "id": item.item_id, **writer(dict(item.body))}


def without_image_bytes(part: Any) -> Any:
    """A content part without inline image bytes; anything else as it is."""
    if not isinstance(part, Mapping):
        return part
    url = part.get("image_url", part.get("url"))
    url = url.get("url") if isinstance(url, Mapping) else url
    if not (isinstance(url, str) and url[:5].lower() == "data:"):
        return part
    kind = "input_text" if part.get("type") == "input_image" else "text"
    return {"type": kind, "text": IMAGE_OMITTED}


def file_path(value: Any) -> str:
    """A path that may have been recorded as a `file:` URL."""
    if not isinstance(value, str):
        return ""
    return unquote(urlsplit(value).path) if value.startswith("file://") else value


def command_line(value: Any) -> str:
    """A command that may have been recorded as its words."""
    if isinstance(value, list):
        return shlex.join(str(word) for word in value)
    return value if isinstance(value, str) else ""


def millis(value: Any) -> int | None:
    """A duration in milliseconds, recorded as such or as seconds and nanoseconds."""
    if isinstance(value, Mapping):
        secs, nanos = value.get("secs"), value.get("nanos")
        if isinstance(secs, int) and isinstance(nanos, int):
            return secs * 1000 + nanos // 1_000_000
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def command_action(value: Any) -> Body:
    """What a part of a command does, as far as it was understood."""
    if not isinstance(value, Mapping):
        return {"type": "unknown", "command": ""}
    command = command_line(value.get("cmd", value.get("command")))
    match value.get("type"):
        case "read" if isinstance(value.get("name"), str):
            file = file_path(value.get("path")) or str(value["name"])
            return {"type": "read", "command": command, "name": value["name"], "path": file}
        case "list_files" | "listFiles":
            return {"type": "listFiles", "command": command, "path": value.get("path")}
        case "search":
            query, path = value.get("query"), value.get("path")
            return {"type": "search", "command": command, "query": query, "path": path}
        case _:
            return {"type": "unknown", "command": command}


def file_changes(value: Any) -> list[Body] | None:
    """Changed files, recorded as a table by path or as a list."""
    if isinstance(value, list):
        return [dict(one) for one in value if isinstance(one, Mapping)]
    if not isinstance(value, Mapping):
        return None
    changes = []
    for path, change in value.items():
        if not isinstance(change, Mapping):
            continue
        type_ = change.get("type")
        kind: Body = {"type": type_ if type_ in ("add", "delete") else "update"}
        if kind["type"] == "update":
            kind["move_path"] = change.get("move_path")
        diff = change.get("unified_diff", change.get("content", ""))
        changes.append({"path": file_path(path), "kind": kind, "diff": diff})
    return changes


def status(value: Any) -> str:
    """A status word of an item in the spelling of clients."""
    word = value.replace("_", "").lower() if isinstance(value, str) else ""
    return _STATUS.get(word, "completed")


def citation(value: Any) -> Body | None:
    """A memory citation in the spelling of clients."""
    if not isinstance(value, Mapping):
        return None
    entries = []
    for one in value.get("entries") or []:
        if isinstance(one, Mapping):
            entries.append({_camel_name(key): part for key, part in one.items()})
    spellings = ("rolloutIds", "rollout_ids", "threadIds", "thread_ids")
    ids: list[Any] = next((value[key] for key in spellings if value.get(key)), [])
    return {"entries": entries, "threadIds": list(ids)}


def _read_user(item: Body) -> Body:
    parts = item.get("content")
    content = []
    for part in parts if isinstance(parts, list) else []:
        part = without_image_bytes(part)
        if isinstance(part, Mapping) and isinstance(part.get("type"), str):
            one = dict(part)
            one["type"] = {"local_image": "localImage", "local_audio": "localAudio"}.get(
                one["type"], one["type"]
            )
            if one["type"] == "text":
                one.setdefault("text_elements", [])
            content.append(one)
    return {"clientId": item.get("client_id"), "content": content}


def _read_agent(item: Body) -> Body:
    parts = item.get("content")
    texts = [
        part["text"]
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    text = item["text"] if isinstance(item.get("text"), str) else "".join(texts)
    return {
        "text": text,
        "phase": item.get("phase"),
        "memoryCitation": citation(item.get("memory_citation")),
    }


def _read_reasoning(item: Body) -> Body:
    summary = item.get("summary_text", item.get("summary"))
    content = item.get("raw_content", item.get("content"))
    return {"summary": _texts(summary), "content": _texts(content)}


def _read_command(item: Body) -> Body:
    actions = item.get("parsed_cmd", item.get("command_actions"))
    return {
        "command": command_line(item.get("command")),
        "cwd": file_path(item.get("cwd")),
        "processId": item.get("process_id"),
        "source": _camel_name(str(item.get("source") or "agent")),
        "status": status(item.get("status")),
        "commandActions": [command_action(one) for one in actions or [] if one],
        "aggregatedOutput": item.get("aggregated_output"),
        "exitCode": item.get("exit_code"),
        "durationMs": millis(item.get("duration", item.get("duration_ms"))),
    }


def _read_file_change(item: Body) -> Body:
    return {"changes": file_changes(item.get("changes")), "status": status(item.get("status"))}


def _read_web_search(item: Body) -> Body:
    action = item.get("action")
    if isinstance(action, Mapping):
        action = {**action, "type": _camel_name(str(action.get("type") or "other"))}
    return {"query": item.get("query"), "action": action}


def _read_tool(item: Body) -> Body:
    body = _camel({key: value for key, value in item.items() if key != "duration"})
    body["status"] = status(item.get("status"))
    body["durationMs"] = millis(item.get("duration", item.get("duration_ms")))
    return body


def _read_entered(item: Body) -> Body:
    return {"review": item.get("user_facing_hint", item.get("review"))}


def _read_exited(item: Body) -> Body:
    return {"review": review_text(item.get("review_output"))}


def review_text(value: Any) -> str:
    """What a reviewer said, of what is recorded of it; nothing where it was cut short."""
    text = value.get("overall_explanation") if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def _write_entered(body: Body) -> Body:
    hint = body.get("review", "")
    return {"target": {"type": "custom", "instructions": hint}, "user_facing_hint": hint}


def _write_exited(body: Body) -> Body:
    explained = {"overall_explanation": body.get("review", ""), "overall_correctness": ""}
    return {"review_output": {"findings": [], "overall_confidence_score": 0.0, **explained}}


def _write_user(body: Body) -> Body:
    content = []
    for part in body.get("content", []):
        one = dict(part)
        one["type"] = {"localImage": "local_image", "localAudio": "local_audio"}.get(
            one["type"], one["type"]
        )
        content.append(one)
    written: Body = {"content": content}
    if body.get("clientId") is not None:
        written["client_id"] = body["clientId"]
    return written


def _write_agent(body: Body) -> Body:
    written: Body = {"content": [{"type": "Text", "text": body.get("text", "")}]}
    if body.get("phase") is not None:
        written["phase"] = body["phase"]
    found = body.get("memoryCitation")
    if found is not None:
        written["memory_citation"] = {
            # The one place of the format whose keys are camelCase.
            "entries": [dict(one) for one in found["entries"]],
            "rolloutIds": list(found["threadIds"]),
        }
    return written


def _write_reasoning(body: Body) -> Body:
    return {"summary_text": body.get("summary", []), "raw_content": body.get("content", [])}


def _texts(value: Any) -> list[str]:
    found = []
    for one in value if isinstance(value, list) else []:
        text = one.get("text") if isinstance(one, Mapping) else one
        if isinstance(text, str):
            found.append(text)
    return found


def _camel(body: Body) -> Body:
    return {_camel_name(key): value for key, value in body.items()}


def _snake(body: Body) -> Body:
    return {_snake_name(key): value for key, value in body.items()}


def _camel_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _snake_name(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


_READERS: Mapping[str, Callable[[Body], Body]] = {
    "userMessage": _read_user,
    "agentMessage": _read_agent,
    "reasoning": _read_reasoning,
    "commandExecution": _read_command,
    "fileChange": _read_file_change,
    "mcpToolCall": _read_tool,
    "dynamicToolCall": _read_tool,
    "webSearch": _read_web_search,
    "enteredReviewMode": _read_entered,
    "exitedReviewMode": _read_exited,
}
_WRITERS: Mapping[str, Callable[[Body], Body]] = {
    "userMessage": _write_user,
    "agentMessage": _write_agent,
    "reasoning": _write_reasoning,
    "enteredReviewMode": _write_entered,
    "exitedReviewMode": _write_exited,
}
