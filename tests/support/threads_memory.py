"""Helpers for tests of threads and memory over the wire."""

from pathlib import Path
from typing import Any

from tests.support.homes import Serving
from tests.support.responses_server import Recorded
from tests.support.wire import WireClient


def publish(home: Serving, text: str | None, note: str | None = None) -> None:
    """This summary, and this pending note, in the memory folder."""
    folder = home.home.memories("v1")
    notes = folder / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    if text is not None:
        (folder / "memory_summary.md").write_text(text)
    if note is not None:
        (notes / "2026-01-01T00-00-00-a.md").write_text(note)


async def report(client: WireClient, thread: str) -> dict[str, Any]:
    """How the thread meets memory."""
    return dict(await client.request("thread/memory/report", {"threadId": thread}))


def section_of(request: Recorded) -> list[str]:
    """The texts of the developer message of a request."""
    return [
        part["text"]
        for item in request.body["input"]
        if item.get("role") == "developer"
        for part in item["content"]
    ]


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
