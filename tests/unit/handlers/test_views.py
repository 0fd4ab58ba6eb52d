"""Views: what is stored and live, as clients see it, and never more than they can read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protocol.messages.items import AgentMessageItem, UserMessageItem
from server.agent.events import ThreadStatus, TurnFault
from server.agent.inputs import ThreadSettings
from server.handlers.sizes import ITEM_BYTES_MAX, shortened, shortened_text
from server.handlers.views import (
    draft_thread,
    fault_view,
    item_view,
    recorded_error,
    source_view,
    status_view,
    stored_thread,
    turn_view,
)
from state.home import Home
from state.ids import ThreadId
from state.rollouts.items import RecordedItem, RecordedTurn
from state.stores.threads import ThreadRow

HOME = Home(Path("/home/user/.memoryd"))
ID = ThreadId("01a228a9-3643-7e51-a1eb-e71498059b9f")
ROW = ThreadRow(
    thread_id=ID,
    rollout_path="sessions/2026/11/29/rollout.jsonl",
    created_at_ms=1_795_978_507_845,
    updated_at_ms=1_795_978_508_999,
    cwd="/home/user/project",
    preview="hello there",
    name=None,
    source='"vscode"',
    thread_source=None,
    model_provider="mock",
    model="mock-model",
    cli_version="0.171.0",
    originator="frames",
    history_mode="paginated",
    memory_mode="enabled",
    archived=False,
    git_branch=None,
    git_sha=None,
    git_origin_url=None,
    forked_from_id=None,
    imported_from=None,
    imported_digest=None,
    imported_at_ms=None,
)


def _message(text: str, **more: Any) -> RecordedItem:
    body = {"text": text, "phase": "final_answer", **more}
    return RecordedItem(item_id="i", turn_id="t", type="agentMessage", body=body)


def test_times_of_threads_are_whole_seconds() -> None:
    """A fraction is an error to clients."""
    thread = stored_thread(HOME, ROW)
    assert (thread.created_at, thread.updated_at) == (1_795_978_507, 1_795_978_508)


def test_a_stored_thread_is_not_loaded_and_has_no_environment() -> None:
    """Its path is absolute."""
    thread = stored_thread(HOME, ROW)
    assert thread.status.type == "notLoaded"
    assert thread.environments is None
    assert thread.path == "/home/user/.memoryd/sessions/2026/11/29/rollout.jsonl"
    assert thread.turns == []


def test_a_loaded_thread_shows_what_it_runs_with() -> None:
    """Its settings win over its row; an ephemeral one has no path."""
    settings = ThreadSettings(provider="p", model="m", cwd="/w", effort="high")
    status = ThreadStatus("active", ("waitingOnApproval",))
    thread = draft_thread(HOME, ROW, status=status, settings=settings, ephemeral=True)
    assert (thread.model, thread.model_provider, thread.cwd) == ("m", "p", "/w")
    assert thread.reasoning_effort == "high"
    assert thread.path is None and thread.ephemeral
    assert thread.can_accept_direct_input is True
    assert thread.to_wire()["status"] == {"type": "active", "activeFlags": ["waitingOnApproval"]}


def test_a_long_preview_is_cut_and_says_so() -> None:
    """A list of long previews would not fit into a frame."""
    thread = stored_thread(HOME, replace(ROW, preview="x" * 100_000))
    assert len(thread.preview) < 1_100
    assert "99000 chars truncated" in thread.preview


def test_long_names_out_of_a_file_are_cut() -> None:
    """One long row would spoil the whole page that it stands in."""
    long = "x" * 100_000
    row = replace(
        ROW,
        model=long,
        model_provider=long,
        originator=long,
        thread_source=long,
        source=f'{{"custom": "{long}"}}',
        git_branch=long,
    )
    assert len(stored_thread(HOME, row).to_json()) < 10_000


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('"cli"', "cli"),
        ('"exec"', "exec"),
        ('"mcp"', "appServer"),
        ('"something new"', "unknown"),
        ("not json", "unknown"),
        ('{"custom": "mine"}', {"custom": "mine"}),
        ('{"subagent": "review"}', {"subAgent": "review"}),
        ('{"subagent": "odd"}', {"subAgent": {"other": "odd"}}),
        ('{"internal": "x"}', "unknown"),
    ],
)
def test_sources_are_told_in_the_words_of_the_wire(stored: str, shown: object) -> None:
    """What clients cannot know is unknown."""
    assert source_view(stored) == shown


def test_an_item_carries_every_key_of_its_type() -> None:
    """Also those that are null."""
    view = item_view(_message("hello"))
    assert isinstance(view, AgentMessageItem)
    assert view.to_wire() == {
        "type": "agentMessage",
        "id": "i",
        "text": "hello",
        "phase": "final_answer",
        "memoryCitation": None,
        "moderation": None,
        "delivery": None,
        "questions": None,
        "startedAtMs": None,
        "completedAtMs": None,
    }


def test_keys_that_the_wire_does_not_know_are_left_out() -> None:
    """A later release may record more."""
    assert item_view(_message("hello", novelty=1)) is not None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("hologram", {}),
        ("agentMessage", {}),
        ("agentMessage", {"text": 5}),
        ("userMessage", {"content": 1}),
    ],
)
def test_what_does_not_fit_has_no_view(kind: str, body: dict[str, Any]) -> None:
    """One bad item would make a client refuse its whole page."""
    assert item_view(RecordedItem(item_id="i", turn_id="t", type=kind, body=body)) is None


def test_what_is_nested_too_deeply_to_be_sent_has_no_view() -> None:
    """A file may hold it; its thread must still be read."""
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    body = {
        "server": "s",
        "tool": "t",
        "status": "completed",
        "result": None,
        "error": None,
        "durationMs": None,
    }
    for arguments, is_shown in (({"a": {}}, True), (deep, False)):
        item = RecordedItem(
            item_id="i",
            turn_id="t",
            type="mcpToolCall",
            body={**body, "arguments": arguments},
        )
        assert (item_view(item) is not None) is is_shown


def test_a_huge_prompt_is_echoed_short_enough_for_a_frame() -> None:
    """Three clients break for good above 64 KiB."""
    content = [{"type": "text", "text": "é" * 200_000, "text_elements": []}]
    item = RecordedItem(item_id="i", turn_id="t", type="userMessage", body={"content": content})
    view = item_view(item)
    assert isinstance(view, UserMessageItem)
    assert len(view.to_json()) <= ITEM_BYTES_MAX
    assert "chars truncated" in view.content[0]["text"]
    assert len(content[0]["text"]) == 200_000


def test_short_texts_stay_as_they_are() -> None:
    """The same object even."""
    body = {"text": "x" * 40_000}
    assert shortened(body) is body
    assert shortened_text("abc", characters_max=3) == "abc"


def test_a_turn_tells_its_error_in_full() -> None:
    """All four keys of it."""
    error = {"message": "no", "codexErrorInfo": "other"}
    turn = turn_view(RecordedTurn(turn_id="t", status="failed", error=error), "full")
    assert turn.error is not None
    assert turn.error.to_wire() == {
        "message": "no",
        "codexErrorInfo": "other",
        "additionalDetails": None,
        "misalignment": None,
    }
    assert recorded_error({"codexErrorInfo": 5}) is not None
    fault = TurnFault(message="m", error_info={"httpConnectionFailed": {"httpStatusCode": 502}})
    assert fault_view(fault).codex_error_info == {"httpConnectionFailed": {"httpStatusCode": 502}}


@pytest.mark.parametrize("kind", ["notLoaded", "idle", "systemError"])
def test_only_an_active_status_has_flags(kind: Any) -> None:
    """Clients refuse any other shape."""
    assert status_view(ThreadStatus(kind)).to_wire() == {"type": kind}
    assert status_view(ThreadStatus("active")).to_wire() == {"type": "active", "activeFlags": []}
