"""A thread's history out of its file, in both history modes."""

import ctypes
import gc
from pathlib import Path
from typing import Any

import pytest

from state.home import Home
from state.ids import ThreadId, derived_uuid
from state.rollouts import history as history_module
from state.rollouts import lines, model_input
from state.rollouts.history import History, read_history
from state.rollouts.items import RecordedItem, RolloutLine, SessionMeta
from state.rollouts.packed import packed, unpacked
from state.rollouts.store import RolloutWriter, find_rollouts
from tests.support.clock import ManualClock
from tests.support.rollout_files import (
    ABOUT,
    OTHER,
    THREAD,
    TURN,
    completed,
    event,
    item,
    legacy_turn,
    message,
    session_meta,
    write_rollout,
)
from tests.support.shared_data import needs_shared, shared

USER = {"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "hello"}]}
AGENT = {"type": "AgentMessage", "id": "a1", "content": [{"type": "Text", "text": "hi"}]}


def types(history: History) -> list[list[str]]:
    return [[one.type for one in turn.items] for turn in history.turns]


def texts(history: History) -> list[str]:
    return [
        one.body["text"] if "text" in one.body else one.body["content"][0]["text"]
        for turn in history.turns
        for one in turn.items
        if one.type in ("userMessage", "agentMessage")
    ]


def paginated(*rest: dict[str, Any]) -> list[dict[str, Any]]:
    return [session_meta(history_mode="paginated"), *rest]


def test_what_the_builders_write_is_read_back_as_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    meta = SessionMeta.model_validate({"id": THREAD, "cwd": "/w", "history_mode": "paginated"})
    writer = RolloutWriter.create(home, meta, created_at_ms=0, clock=ManualClock())
    content = [{"type": "text", "text": "hello", "text_elements": []}]
    user = RecordedItem(
        item_id="u1",
        turn_id=TURN,
        type="userMessage",
        body={"clientId": None, "content": content},
        started_at_ms=5,
        completed_at_ms=6,
    )
    body = {"text": "hi", "phase": "final_answer", "memoryCitation": None}
    agent = RecordedItem(item_id="a1", turn_id=TURN, type="agentMessage", body=body)
    asked = message("user", "hello")["payload"]
    answered = message("assistant", "hi", phase="final_answer")["payload"]
    use = {"input_tokens": 3, "output_tokens": 2}
    parts = [("what memory says", "memories.instructions"), ("a rule", "developer.instructions")]
    writer.append(
        [
            lines.task_started(TURN, started_at_s=7),
            lines.context_message("developer", parts, turn_id=TURN, message_id="m0"),
            lines.turn_context(TURN, {"cwd": "/w", "model": "m"}),
            *lines.user_message_lines(THREAD, user, response=asked),
            *lines.agent_message_lines(THREAD, agent, response=answered),
            lines.token_count(total=use, last=use, context_window=None),
            lines.task_complete(
                TURN, last_agent_message="hi", started_at_s=7, completed_at_s=9, duration_ms=2_000
            ),
        ]
    )
    writer.close()
    history = read_history(writer.path)
    (turn,) = history.turns
    assert turn.items == (user, agent)
    assert (turn.turn_id, turn.status, turn.started_at_s, turn.completed_at_s) == (
        TURN,
        "completed",
        7,
        9,
    )
    assert turn.duration_ms == 2_000
    # The memory section is told anew, so it is not among what the model sees again.
    told, *rest = history.response_items
    assert [part["text"] for part in told["content"]] == ["a rule"]
    assert [one.get("role") for one in rest] == ["user", "assistant"]
    assert all(ABOUT not in one for one in history.response_items)
    assert history.token_usage is not None and history.token_usage["total_token_usage"] == use
    assert history.context is not None and history.context["model"] == "m"
    assert history.skipped == [] and not history.truncated


def test_a_failed_turn_keeps_its_error(tmp_path: Path) -> None:
    error = {"message": "no luck", "codexErrorInfo": "other"}
    ended = lines.task_complete(
        TURN, last_agent_message=None, started_at_s=1, completed_at_s=2, duration_ms=3, error=error
    )
    path = write_rollout(
        tmp_path, *paginated(lines.task_started(TURN, started_at_s=1), completed(USER), ended)
    )
    (turn,) = read_history(path).turns
    assert turn.status == "failed" and turn.error == error


@pytest.mark.parametrize(
    "ending", [[], [event("turn_aborted", turn_id=TURN, reason="interrupted")]]
)
def test_a_turn_cut_off_or_aborted_is_interrupted(
    tmp_path: Path, ending: list[dict[str, Any]]
) -> None:
    began = lines.task_started(TURN, started_at_s=1)
    path = write_rollout(tmp_path, *paginated(began, completed(USER), *ending))
    (turn,) = read_history(path).turns
    assert turn.status == "interrupted"


def test_old_files_without_turn_ids_begin_a_turn_at_each_user_message(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(),
        message("developer", "<permissions instructions>x</permissions instructions>"),
        message("user", "<environment_context>x</environment_context>"),
        *legacy_turn("first", "one"),
        *legacy_turn("second", "two"),
        message("user", "third"),
        event("user_message", message="third", images=[]),
    )
    history = read_history(path)
    assert texts(history) == ["first", "one", "second", "two", "third"]
    assert [turn.status for turn in history.turns] == ["completed", "completed", "interrupted"]
    assert history.turns[0].turn_id == derived_uuid(ThreadId(THREAD), 5, "turn")
    assert history.turns[0].items[0].item_id == derived_uuid(ThreadId(THREAD), 5, "item")
    again = read_history(path)
    assert (again.turns, again.response_items) == (history.turns, history.response_items)


def test_old_files_with_turn_ids_keep_them_and_steering_stays_in_its_turn(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(),
        event("task_started", turn_id=TURN, started_at=1),
        *legacy_turn("do", "working"),
        *legacy_turn("no, like this", "done"),
        event("task_complete", turn_id=TURN, completed_at=2, duration_ms=3),
    )
    (turn,) = read_history(path).turns
    assert (turn.turn_id, turn.status, len(turn.items)) == (TURN, "completed", 4)


def test_commands_of_old_files_are_made_of_calls_and_outputs(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(),
        *legacy_turn("run", "running")[:2],
        item("function_call", name="shell", call_id="c1", arguments='{"command":["ls","-l a"]}'),
        item("function_call_output", call_id="c1", output="Exit code: 2\nOutput:\nno such file\n"),
        item("local_shell_call", call_id="c2", action={"type": "exec", "command": ["true"]}),
        item("function_call", name="update_plan", call_id="c3", arguments="{}"),
        event(
            "patch_apply_end",
            call_id="c4",
            success=True,
            changes={
                "/a": {"add": {"content": "x"}},
                "/b": {"type": "update", "unified_diff": "d"},
            },
        ),
        event(
            "mcp_tool_call_end",
            call_id="c5",
            invocation={"server": "s", "tool": "t", "arguments": {}},
            duration={"secs": 1, "nanos": 5_000_000},
            result={"Err": "nope"},
        ),
    )
    (turn,) = read_history(path).turns
    by_id = {one.item_id: one.body for one in turn.items}
    assert by_id["c1"]["command"] == "ls '-l a'"
    assert (by_id["c1"]["exitCode"], by_id["c1"]["status"]) == (2, "failed")
    assert by_id["c1"]["aggregatedOutput"] == "no such file\n"
    assert by_id["c2"]["status"] == "failed"
    assert "c3" not in by_id
    assert [one["kind"]["type"] for one in by_id["c4"]["changes"]] == ["add", "update"]
    assert (by_id["c5"]["durationMs"], by_id["c5"]["status"]) == (1_005, "failed")


def test_a_call_without_output_gets_one_and_a_stray_output_goes(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        *paginated(
            item("function_call_output", call_id="stray", output="x"),
            item("function_call", name="f", call_id="c1", arguments="{}"),
            item("ghost_snapshot", id="g"),
        ),
    )
    items = read_history(path).response_items
    assert [(one["type"], one["call_id"]) for one in items] == [
        ("function_call", "c1"),
        ("function_call_output", "c1"),
    ]


def test_compaction_replaces_what_the_model_sees_but_not_what_clients_see(tmp_path: Path) -> None:
    kept = message("user", "summary")["payload"]
    path = write_rollout(
        tmp_path,
        session_meta(),
        *legacy_turn("first", "one"),
        lines.compacted("", [kept]),
        *legacy_turn("second", "two"),
    )
    history = read_history(path)
    assert texts(history) == ["first", "one", "second", "two"]
    seen = [one["content"][0]["text"] for one in history.response_items]
    assert seen == ["summary", "second", "two"]


def test_rolled_back_turns_count_no_more(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(),
        *legacy_turn("first", "one"),
        *legacy_turn("second", "two"),
        *legacy_turn("third", "three"),
        lines.thread_rolled_back(2),
        *legacy_turn("again", "yes"),
    )
    history = read_history(path)
    assert texts(history) == ["first", "one", "again", "yes"]
    seen = [one["content"][0]["text"] for one in history.response_items]
    assert seen == ["first", "one", "again", "yes"]


@pytest.mark.requirement("MR-9-19")
def test_a_later_metadata_line_changes_the_mode_and_a_forks_copy_does_not(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(forked_from_id=OTHER),
        session_meta(OTHER, memory_mode="polluted", cwd="/elsewhere"),
        session_meta(memory_mode="disabled"),
        *legacy_turn("first", "one"),
    )
    meta = read_history(path).meta
    assert (meta.id, meta.cwd, meta.memory_mode) == (THREAD, "/home/ann/calc", "disabled")


def test_a_paginated_fork_reads_the_prefix_of_its_source(tmp_path: Path) -> None:
    numbered = [
        {"ordinal": number, **line}
        for number, line in enumerate(
            paginated(
                lines.task_started(TURN, started_at_s=1),
                message("user", "hello"),
                completed(USER),
                lines.task_started(OTHER, started_at_s=2),
                message("user", "too late"),
            )
        )
    ]
    source = write_rollout(tmp_path / "a", *numbered)
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 4, "end_byte_offset": 1}
    fork = write_rollout(
        tmp_path / "b",
        session_meta(OTHER, history_mode="paginated", history_base=base),
        completed(AGENT, turn_id="own"),
        thread_id=OTHER,
    )
    history = read_history(fork, find_base={THREAD: source}.get)
    assert history.meta.id == OTHER
    assert texts(history) == ["hello", "hi"]
    assert len(history.response_items) == 1
    assert texts(read_history(fork)) == ["hi"]


@pytest.mark.requirement("FR-T20")
def test_image_bytes_leave_with_their_line(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9_000}
    shown = {"type": "image", "url": picture["image_url"]}
    path = write_rollout(
        tmp_path,
        *paginated(
            item("message", role="user", content=[{"type": "input_text", "text": "x"}, picture]),
            completed({"type": "UserMessage", "id": "u1", "content": [shown]}),
        ),
    )
    history = read_history(path)
    assert "AAAA" not in repr(history)
    assert history.response_items[0]["content"][1] == {
        "type": "input_text",
        "text": "[image omitted]",
    }


@pytest.mark.requirement("FR-T20")
def test_a_very_long_history_keeps_its_newest_part_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "ITEM_BYTES_MAX", 3_000)
    monkeypatch.setattr(model_input, "INPUT_BYTES_MAX", 3_000)
    turns = [line for n in range(50) for line in legacy_turn(f"ask {n}", f"tell {n}")]
    history = read_history(write_rollout(tmp_path, session_meta(), *turns))
    assert history.truncated
    assert len(history.turns) == 50
    assert texts(history)[-1] == "tell 49" and len(texts(history)) < 40
    assert len(history.response_items) < 40
    assert history.response_items[-1]["content"][0]["text"] == "tell 49"


@pytest.mark.requirement("FR-T21")
def test_a_long_history_gives_the_collector_little_to_walk_over(tmp_path: Path) -> None:
    """While it walks nobody else in the process does anything; bytes and plain tables it skips."""
    turns = [line for n in range(1_000) for line in legacy_turn(f"ask {n}", f"tell {n}")]
    path = write_rollout(tmp_path, session_meta(), *turns)
    walked = []

    def count(line: RolloutLine) -> bool:
        if line.line_number in (1_000, 3_000):
            gc.collect()
            walked.append(len(gc.get_objects()))
        return False

    history = read_history(path, until=count)
    assert len(history.turns) == 1_000
    between = sum(1_000 < line <= 3_000 for line in history.turn_lines)
    assert walked[1] - walked[0] < 1.5 * between
    made = len(gc.get_objects())
    del history.turns[:]
    gc.collect()
    assert made - len(gc.get_objects()) < 4 * 1_000


def test_what_is_kept_long_is_as_long_as_what_it_holds() -> None:
    """What the encoder gives holds on to its whole buffer."""
    item = RecordedItem(item_id="i", turn_id="t", type="agentMessage", body={"text": "x" * 5_000})
    kept = packed(item)
    assert unpacked(kept) == item
    size_of = ctypes.CDLL(None).malloc_usable_size
    size_of.argtypes, size_of.restype = [ctypes.c_void_p], ctypes.c_size_t
    assert size_of(id(kept)) < 1.1 * len(kept)


@pytest.mark.requirement("FR-S9")
def test_a_bad_line_in_the_middle_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, session_meta(), *legacy_turn("first", "one"))
    with path.open("ab") as file:
        file.write(b'{"torn": "\n')
    whole = write_rollout(tmp_path / "x", *legacy_turn("second", "two")).read_bytes()
    with path.open("ab") as file:
        file.write(whole)
    history = read_history(path)
    assert texts(history) == ["first", "one", "second", "two"]
    assert [line.line_number for line in history.skipped] == [6]


@needs_shared
def test_real_files_of_three_releases_are_read_whole() -> None:
    files = find_rollouts(shared("rollouts"))
    histories = [read_history(path) for path in files]
    assert len(histories) == 7
    assert {one.meta.history_mode for one in histories} == {"legacy", "paginated"}
    for one in histories:
        assert one.skipped == []
        assert {turn.status for turn in one.turns} == {"completed"}
        assert all(names[0] == "userMessage" for names in types(one))
        assert all(names[-1] == "agentMessage" for names in types(one))
        assert one.token_usage is not None
