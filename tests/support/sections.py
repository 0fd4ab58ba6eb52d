"""What a thread was told of memory, as its rollout holds it."""

import json
from pathlib import Path

from tests.support.methods import said, started
from tests.support.wire import WireClient


async def told(client: WireClient, home: Path, **params: object) -> str:
    """The memory section of a thread that starts now, empty where it was told nothing."""
    thread = await started(client, **params)
    await said(client, thread, "hello")
    return section_of(home, thread)


def section_of(home: Path, thread_id: str) -> str:
    """The memory section in a stored thread's file."""
    [path] = (home / "sessions").rglob(f"*{thread_id}.jsonl")
    for line in path.read_text("utf-8").splitlines():
        payload = json.loads(line)["payload"]
        if payload.get("type") == "message" and payload.get("role") == "developer":
            parts = [one["text"] for one in payload["content"]]
            return "".join(part for part in parts if "## Memory" in part or "MEMORY_" in part)
    return ""
