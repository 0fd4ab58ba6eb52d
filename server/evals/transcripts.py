"""Corpus sessions as rollouts, so that they are heard the way that stored sessions are.

Invariant: nothing of a label reaches the rollout.
"""

import json
import re
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from memory_write.phase1.transcript import hear
from server.evals.corpus import Item, Session
from state.ids import ThreadId
from state.rollouts.items import Transcript

UNNAMED = "# a file"
"""Stands over what was shown without a name."""
_NAMES_A_FILE = re.compile(r"(?:(?:#|//) ?)?[\w@~./:-]+(?: instructions for \S+)?$")
_AT = "2026-11-02T09:00:00.000Z"


def heard(session: Session, folder: Path) -> Transcript:
    """The session as phase 1 hears it, by way of a rollout in `folder`. Blocking.

    Raises: OSError, RolloutUnreadable.
    """
    thread_id = ThreadId(str(uuid5(NAMESPACE_URL, f"memoryd:eval:{session.cwd}:{session.name}")))
    path = folder / f"rollout-2026-11-02T09-00-00-{thread_id}.jsonl"
    lines = [_line("session_meta", _meta(session, thread_id))]
    for number, item in enumerate(session.items):
        lines += [_line("response_item", payload) for payload in _payloads(item, number)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return hear(path, thread_id=thread_id, cwd=session.cwd, git_branch=None)


def _line(type_: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": _AT, "type": type_, "payload": payload}, ensure_ascii=False)


def _meta(session: Session, thread_id: ThreadId) -> dict[str, Any]:
    return {
        "id": thread_id,
        "timestamp": _AT,
        "cwd": session.cwd,
        "originator": "memoryd_eval",
        "cli_version": "0.0.0",
        "source": "cli",
        "model_provider": "offline",
    }


def _payloads(item: Item, number: int) -> list[dict[str, Any]]:
    match item.kind:
        case "user" | "file":
            return [_message("user", "input_text", _typed(item))]
        case "assistant":
            return [_message("assistant", "output_text", item.text)]
        case "run":
            call_id = f"call_{number}"
            ended = f"Wall time: 0.1 seconds\nProcess exited with code {item.status}"
            return [
                {
                    "type": "function_call",
                    "name": "exec_command",
                    "arguments": json.dumps({"cmd": item.text}, ensure_ascii=False),
                    "call_id": call_id,
                },
                {
                    "type": "function_call_output",
                    "call_id": call_id,
                    "output": f"{ended}\nOutput:\n{item.output}\n",
                },
            ]


def _message(role: str, part: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}


def _typed(item: Item) -> str:
    if item.kind == "user":
        return item.text
    first, _, rest = item.text.partition("\n")
    named = _NAMES_A_FILE.match(first) is not None
    head, body = (first, rest) if named else (UNNAMED, item.text)
    return f"{head}\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>"
