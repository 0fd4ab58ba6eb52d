"""A home with memory of a person, whose machine must not show in what is exported of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.wire import WireClient

SECRET = "gh" + "p_07q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3"
PASS_SECONDS_MAX = 60
SAID = "From now on always run the linter before a commit in this project."
THREAD = "01a22885-a84d-73b3-9289-cd655708d96d"


def a_checkout(folder: Path, remote: str) -> Path:
    """A folder as git leaves it after a clone."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    return folder


def a_session(folder: Path, cwd: Path, *, thread_id: str = THREAD, said: str = SAID) -> Path:
    """A folder with one finished session."""
    folder.mkdir(exist_ok=True)
    at = "2026-01-01T00:00:00.000Z"
    meta = {
        "id": thread_id,
        "timestamp": at,
        "cwd": str(cwd),
        "originator": "test",
        "cli_version": "0.1.0",
        "source": "cli",
        "model_provider": "mock",
    }
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": meta}]
    for role, kind, text in (("user", "input_text", said), ("assistant", "output_text", "Done.")):
        item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        lines.append({"type": "response_item", "payload": item})
    path = folder / f"rollout-2026-01-01T00-00-00-{thread_id}.jsonl"
    path.write_text("".join(json.dumps({"timestamp": at, **one}) + "\n" for one in lines))
    return folder


async def learned(client: WireClient, source: Path) -> None:
    """Bring in sessions and make memory of them."""
    imported = await client.request("thread/import", {"path": str(source)})
    assert imported["imported"] == 1, imported
    await consolidated(client)


async def consolidated(client: WireClient) -> None:
    """One ordered pass that publishes; the first one of a process loads all rules of learning."""
    waiting = client.expect("consolidate")
    message = {"id": "consolidate", "method": "memory/consolidate/start", "params": {"wait": True}}
    await client.link.send(json.dumps(message).encode())
    reply = await asyncio.wait_for(waiting, PASS_SECONDS_MAX)
    assert reply["result"]["consolidation"]["status"] == "published", reply


def files_of(folder: Path) -> dict[str, str]:
    """Every file below a folder as text."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
