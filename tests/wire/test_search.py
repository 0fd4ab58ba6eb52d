"""`memory/search` over the wire: bounds, gates, and what a deleted thread leaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from state.workspace.layout import RECAPS
from tests.support.homes import Serving, serving
from tests.support.methods import error_of, started
from tests.support.published import HANDBOOK, SUMMARY, publish

NOBODY = "00000000-0000-7000-8000-000000000000"
FRAME_BYTES_MAX = 64 * 1024


def remembered(home: Serving, version: str = "v1") -> Path:
    """A published memory in the home of a server."""
    folder = home.home.memories(version)
    (folder / RECAPS).mkdir(parents=True, exist_ok=True)
    (folder / "memory_summary.md").write_text(SUMMARY, "utf-8")
    (folder / "MEMORY.md").write_text(HANDBOOK, "utf-8")
    publish(folder)
    return folder


async def search(client: Any, query: str, **more: Any) -> dict[str, Any]:
    """The result of one search."""
    result: dict[str, Any] = await client.request("memory/search", {"query": query, **more})
    return result


async def test_hits_carry_their_place_and_the_version_they_are_of(tmp_path: Path) -> None:
    """The configured version, or the one that is named."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        remembered(home)
        found = await search(client, "which tests run with make check")
        assert found["hits"][0] | {"score": 0} == {
            "path": "MEMORY.md",
            "startLine": 3,
            "endLine": 3,
            "heading": "Handbook",
            "text": "- tests run with make check",
            "score": 0,
            "threadIds": [],
            "updatedAt": None,
            "pending": False,
        }
        assert {key: found[key] for key in ("version", "mode", "indexing", "reason")} == {
            "version": "v1",
            "mode": "lexical",
            "indexing": False,
            "reason": None,
        }
        other = await search(client, "what does make check run", version="v2")
        assert (other["version"], other["hits"]) == ("v2", [])


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"query": ""}, "Invalid request: query must not be empty"),
        ({"query": " \n\t"}, "Invalid request: query must not be empty"),
        ({"query": "x" * 100_000}, "Invalid request: query must be at most 4000 characters"),
        ({"query": "x", "version": "v9"}, "Invalid request: version must be one of v1, v2"),
        ({"query": "x", "version": "v3"}, "Invalid request: version must be one of v1, v2"),
    ],
)
async def test_a_query_that_cannot_be_asked_is_refused_with_a_sentence(
    tmp_path: Path, params: dict[str, Any], sentence: str
) -> None:
    """And the connection goes on."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        error = await error_of(client, "memory/search", params)
        assert (error["code"], error["message"]) == (-32602, sentence)
        error = await error_of(client, "memory/search", {"query": "x", "scope": "all"})
        assert error["code"] == -32602
        assert (await search(client, "x"))["hits"] == []


async def test_a_thread_that_does_not_use_memory_is_answered_nothing_and_why(
    tmp_path: Path,
) -> None:
    """Neither is anybody where memory is off; a thread that is not there is an error."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        remembered(home)
        thread = await started(client)
        without = await started(client, config={"memories.use_memories": False})
        assert (await search(client, "make check", threadId=thread))["hits"] != []
        found = await search(client, "make check", threadId=without)
        assert (found["hits"], found["reason"]) == ([], "use_off")
        error = await error_of(client, "memory/search", {"query": "x", "threadId": NOBODY})
        assert error["message"] == f"no rollout found for thread id {NOBODY}"
    config = "[features]\nmemories = false\n"
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        found = await search(client, "make check")
        assert (found["hits"], found["reason"]) == ([], "disabled")


async def test_a_reply_fits_into_a_frame(tmp_path: Path) -> None:
    """However long the hits are and whatever has to be escaped in them."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        folder = remembered(home)
        line = 'walrus "\\\\" ' * 400
        text = "".join(f"- {number} {'w' * number} {line}\n" for number in range(60))
        (folder / "MEMORY.md").write_text(f"# X\n\n{text}", "utf-8")
        found = await search(client, "walrus", limit=50)
        assert found["truncated"]
        assert found["hits"] != []
        assert len(json.dumps(found).encode()) < FRAME_BYTES_MAX


async def test_what_a_reset_removes_is_not_found_and_not_in_the_database(tmp_path: Path) -> None:
    """When the reset has answered."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        folder = remembered(home)
        (folder / "MEMORY.md").write_text("# X\n\n- the canary is quxfrobnicator\n", "utf-8")
        assert (await search(client, "quxfrobnicator"))["hits"] != []
        await client.request("memory/reset")
        assert (await search(client, "quxfrobnicator"))["hits"] == []
        base = home.home.database
        assert all(b"quxfrob" not in path.read_bytes() for path in base.parent.glob("state.sq*"))
