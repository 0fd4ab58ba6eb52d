"""Session files as other programs and releases write them, made by hand for tests."""

import json
from pathlib import Path
from typing import Any

THREAD = "01a22885-a458-7772-84ef-b9c21f9b3d17"
OTHER = "01a22885-a951-7b23-978e-7abfa3c78da1"
TURN = "01a22885-a46e-7000-937a-ef1997f9fd17"
STAMP = "2026-11-29T18:16:{:02d}.000Z"
ABOUT = "internal_chat_message_metadata_passthrough"

Line = dict[str, Any]


def session_meta(thread_id: str = THREAD, **fields: Any) -> Line:
    """A first line."""
    payload = {
        "id": thread_id,
        "timestamp": STAMP.format(0),
        "cwd": "/home/ann/calc",
        "originator": "tests",
        "cli_version": "0.171.0",
        "source": "vscode",
        "model_provider": "mock",
    }
    return {"type": "session_meta", "payload": payload | fields}


def message(role: str, *texts: str, kinds: list[str] | None = None, **fields: Any) -> Line:
    """A message for the model."""
    part = "output_text" if role == "assistant" else "input_text"
    payload: Line = {
        "type": "message",
        "role": role,
        "content": [{"type": part, "text": text} for text in texts],
    }
    if kinds is not None:
        payload[ABOUT] = {"turn_id": TURN, "content_item_kinds": kinds}
    return {"type": "response_item", "payload": payload | fields}


def item(type_: str, **fields: Any) -> Line:
    """Another response item."""
    return {"type": "response_item", "payload": {"type": type_, **fields}}


def event(type_: str, **fields: Any) -> Line:
    """An event."""
    return {"type": "event_msg", "payload": {"type": type_, **fields}}


def completed(item_: Line, turn_id: str = TURN) -> Line:
    """An item of paginated history."""
    return event(
        "item_completed",
        thread_id=THREAD,
        turn_id=turn_id,
        item=item_,
        started_at_ms=1_795_976_176_000,
        completed_at_ms=1_795_976_177_000,
    )


def legacy_turn(said: str, answer: str) -> list[Line]:
    """One exchange as old releases recorded it, without turn ids."""
    return [
        message("user", said),
        event("user_message", message=said, images=[]),
        event("agent_message", message=answer),
        message("assistant", answer),
    ]


def jsonl(*lines: Line) -> bytes:
    """The bytes of a file: one line a second, as they come."""
    stamped = (
        {"timestamp": STAMP.format(min(second, 59)), **line} for second, line in enumerate(lines)
    )
    return b"".join(json.dumps(line).encode() + b"\n" for line in stamped)


def write_rollout(folder: Path, *lines: Line, thread_id: str = THREAD, name: str = "") -> Path:
    """A file with these lines under a name of the field."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"rollout-2026-11-29T18-16-16-{thread_id}.jsonl")
    path.write_bytes(jsonl(*lines))
    return path
