"""Items between their recorded form and that of clients."""

from typing import Any

import pytest

from state.rollouts.items import RecordedItem, SessionMeta
from state.rollouts.recorded import from_recorded, to_recorded

BODIES: list[tuple[str, dict[str, Any]]] = [
    (
        "userMessage",
        {
            "clientId": "c1",
            "content": [
                {"type": "text", "text": "hi", "text_elements": []},
                {"type": "localImage", "path": "/tmp/a.png"},
            ],
        },
    ),
    (
        "agentMessage",
        {
            "text": "Done.",
            "phase": "final_answer",
            "memoryCitation": {
                "entries": [{"path": "MEMORY.md", "lineStart": 1, "lineEnd": 2, "note": "n"}],
                "threadIds": ["01a22885-a458-7772-84ef-b9c21f9b3d17"],
            },
        },
    ),
    ("enteredReviewMode", {"review": "current changes"}),
    ("exitedReviewMode", {"review": "[P1] a.py:3 is wrong"}),
    ("reasoning", {"summary": ["thinking"], "content": ["deep"]}),
    (
        "commandExecution",
        {
            "command": "ls -la",
            "cwd": "/home/ann",
            "processId": "1",
            "source": "agent",
            "status": "completed",
            "commandActions": [{"type": "unknown", "command": "ls -la"}],
            "aggregatedOutput": "x\n",
            "exitCode": 0,
            "durationMs": 12,
        },
    ),
    (
        "fileChange",
        {
            "changes": [{"path": "/a", "kind": {"type": "add"}, "diff": "x\n"}],
            "status": "completed",
        },
    ),
    (
        "mcpToolCall",
        {
            "server": "memories",
            "tool": "search",
            "arguments": {"queries": ["some_key"]},
            "status": "completed",
            "result": {"content": [{"type": "text", "text": "x"}], "structuredContent": None},
            "error": None,
            "durationMs": 3,
        },
    ),
    ("webSearch", {"query": "q", "action": {"type": "openPage", "url": "https://x"}}),
    ("plan", {"text": "1. go"}),
    ("contextCompaction", {}),
]


@pytest.mark.parametrize(("type_", "body"), BODIES, ids=[type_ for type_, _ in BODIES])
def test_what_is_written_reads_back_the_same(type_: str, body: dict[str, Any]) -> None:
    item = RecordedItem(item_id="i1", turn_id="t1", type=type_, body=body)
    recorded = to_recorded(item)
    assert recorded["id"] == "i1" and recorded["type"][0].isupper()
    assert from_recorded(recorded) == (type_, body)


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"type": "Unheard", "id": "x"},
        {"type": "WebSearch", "id": "x"},
        {"type": "FileChange", "id": "x", "status": "completed", "changes": 3},
        {"type": 7},
    ],
)
def test_an_item_that_clients_could_not_decode_is_left_out(item: dict[str, Any]) -> None:
    assert from_recorded(item) is None


def test_inline_image_bytes_are_not_kept() -> None:
    content = [{"type": "image", "url": "data:image/png;base64," + "A" * 1_000}]
    read = from_recorded({"type": "UserMessage", "id": "x", "content": content})
    assert read is not None
    assert read[1]["content"] == [{"type": "text", "text": "[image omitted]", "text_elements": []}]


def test_a_field_of_the_wrong_shape_counts_as_absent_in_an_identity() -> None:
    meta = SessionMeta.model_validate(
        {
            "id": "01A22885-A458-7772-84EF-B9C21F9B3D17",
            "cwd": None,
            "git": [1],
            "history_mode": "newest",
            "cli_version": 3,
            "later": "kept",
        }
    )
    assert (meta.id, meta.cwd, meta.git, meta.history_mode, meta.cli_version) == (
        "01a22885-a458-7772-84ef-b9c21f9b3d17",
        "",
        None,
        "legacy",
        "",
    )
    assert meta.model_dump()["later"] == "kept"
