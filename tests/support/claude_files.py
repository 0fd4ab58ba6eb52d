"""Session files as Claude Code writes them, made by hand for tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SESSION = "5f0a7c1e-2b44-4d5e-9a31-0c6b7d8e9f10"
OTHER_SESSION = "7b1c9d2e-3c55-4e6f-8b42-1d7c8e9f0a21"
CWD = "/home/ann/shop"

Entry = dict[str, Any]


def _entry(type_: str, second: int, fields: Mapping[str, Any]) -> Entry:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": CWD,
        "sessionId": SESSION,
        "version": "2.1.9",
        "gitBranch": "main",
        "type": type_,
        "timestamp": f"2026-11-20T09:00:{second:02d}.000Z",
        **fields,
    }


def typed(content: Any, second: int = 0, **fields: Any) -> Entry:
    """An entry with the role of the user."""
    return _entry("user", second, {"message": {"role": "user", "content": content}, **fields})


def said(*blocks: Entry | str, second: int = 1, **fields: Any) -> Entry:
    """An entry of the model; a string is a block of text."""
    content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    message = {"role": "assistant", "model": "claude-opus-5", "content": content}
    return _entry("assistant", second, {"message": message, **fields})


def call(name: str, call_id: str = "toolu_1", **arguments: Any) -> Entry:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(text: Any, call_id: str = "toolu_1", *, second: int = 2, **fields: Any) -> Entry:
    """The entry in which a tool gives something back; `is_error` goes to its block."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    if "is_error" in fields:
        block["is_error"] = fields.pop("is_error")
    told = fields.pop("toolUseResult", {"stdout": text, "stderr": "", "interrupted": False})
    return typed([block], second, toolUseResult=told, **fields)


def write_session(
    home: Path, *entries: Entry | bytes, project: str = "-home-ann-shop", name: str = SESSION
) -> Path:
    """A session file below a home of that program; bytes stand as they are."""
    path = home / "projects" / project / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in entries)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
