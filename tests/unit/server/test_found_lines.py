"""What a search prints: each statement once, with all the places that hold it."""

from typing import Any

from server.cli.search import found

RECAP = "rollout_summaries/2026-11-01T09-10-00-EZL8-tests.md"


def _hit(path: str, line: int, text: str) -> dict[str, Any]:
    return {
        "path": path,
        "startLine": line,
        "endLine": line,
        "heading": "",
        "text": text,
        "pending": False,
        "updatedAt": None,
        "threadIds": [],
    }


def _lines(*hits: dict[str, Any]) -> list[str]:
    result = {"hits": list(hits), "reason": None, "indexing": False, "truncated": False}
    return list(found({**result, "version": "v1"}))


def test_what_is_said_in_several_files_is_read_once() -> None:
    """The handbook's line leads, as a correction names it; the others are places."""
    lines = _lines(
        _hit(RECAP, 19, '- the user said: "i\'m not in dialout" -> The user is not in dialout.'),
        _hit(RECAP, 22, '1. rollout line 7, typed by the user: "i\'m not in dialout"'),
        _hit("raw_memories.md", 9, '- the user said: "x" -> The user is not in dialout. (a; b)'),
        _hit("MEMORY.md", 83, "- The user is not in dialout. [Task 3]"),
        _hit("memory_summary.md", 26, "- The user is not in dialout. (in garden)"),
        _hit("MEMORY.md", 90, "- The user is in Lisbon. [Task 3]"),
    )  # fmt: skip
    assert lines == [
        "MEMORY.md:83",
        "  - The user is not in dialout. [Task 3]",
        f"  also in {RECAP}:19,22, raw_memories.md:9,",
        "  memory_summary.md:26",
        "",
        "MEMORY.md:90",
        "  - The user is in Lisbon. [Task 3]",
    ]
