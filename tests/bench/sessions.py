"""Finished sessions for both sides: rollout files of a few turns that ended eight hours ago."""

import json
import os
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

_AGO_S = 8 * 3600
_WORDS = "We keep commits small, run the linter before each of them and write the reason down. "


def write_sessions(sessions: Path, count: int, *, turns: int = 3, cwd: str = "/tmp") -> None:
    """So many files of about 2.5 KB a turn under a `sessions` folder."""
    ended = time.time() - _AGO_S
    for number in range(count):
        at = datetime.fromtimestamp(ended - number, UTC)
        folder = sessions / f"{at:%Y}" / f"{at:%m}" / f"{at:%d}"
        folder.mkdir(parents=True, exist_ok=True)
        thread_id = _uuid7(int((ended - number) * 1000))
        path = folder / f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{thread_id}.jsonl"
        path.write_text(_session(thread_id, at, number, turns=turns, cwd=cwd))
        # The reference takes a session's last change from the file itself.
        os.utime(path, (ended - number, ended - number))


def _session(thread_id: str, at: datetime, number: int, *, turns: int, cwd: str) -> str:
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.000Z"
    meta: dict[str, object] = {
        "id": thread_id,
        "timestamp": stamp,
        "cwd": cwd,
        "originator": "bench",
        "cli_version": "0.171.0",
        "source": "vscode",
        "model_provider": "mock",
    }
    lines: list[tuple[str, dict[str, object]]] = [("session_meta", meta)]
    for turn in range(turns):
        said = f"Please make change {turn} of task {number}. " + _WORDS * 8
        answer = f"Change {turn} of task {number} is made. " + _WORDS * 4
        lines += [
            ("response_item", _message("user", "input_text", said)),
            ("event_msg", {"type": "user_message", "message": said, "images": []}),
            ("event_msg", {"type": "agent_message", "message": answer}),
            ("response_item", _message("assistant", "output_text", answer)),
        ]
    return "".join(
        json.dumps({"timestamp": stamp, "type": type_, "payload": payload}) + "\n"
        for type_, payload in lines
    )


def _message(role: str, part: str, text: str) -> dict[str, object]:
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}


def _uuid7(at_ms: int) -> str:
    chance = uuid.uuid4().int & (2**74 - 1)
    high = at_ms << 80 | 0x7 << 76 | (chance >> 62) << 64
    return str(uuid.UUID(int=high | 0b10 << 62 | chance & (2**62 - 1)))
