"""What of a rollout counts as evidence, and by whom."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory_write.phase1.transcript import hear, render_v1
from state.ids import ThreadId, derived_uuid
from state.policy.redaction import MARK
from state.rollouts.history import read_history
from state.rollouts.items import Transcript
from state.rollouts.store import find_rollouts, read_meta
from tests.support.rollout_files import (
    OTHER,
    STAMP,
    THREAD,
    TURN,
    event,
    item,
    legacy_turn,
    message,
    session_meta,
    write_rollout,
)
from tests.support.shared_data import needs_shared, shared

AGENTS = "# AGENTS.md instructions for /home/ann\n\n<INSTRUCTIONS>\nrun make\n</INSTRUCTIONS>"
SUMMARY = "## Memory\n========= MEMORY_SUMMARY BEGINS =========\nold\n"


def heard(tmp_path: Path, *lines: dict[str, Any]) -> Transcript:
    path = write_rollout(tmp_path, session_meta(), *lines)
    return hear(path, thread_id=ThreadId(THREAD), cwd="/home/ann", git_branch="main")


def kinds(transcript: Transcript) -> list[str]:
    return [one.kind for one in transcript.items]


@pytest.mark.requirement("FR-E4", "MW-8.2-excluded")
@pytest.mark.parametrize(
    "text",
    [
        AGENTS,
        "  # agents.md instructions\n<INSTRUCTIONS>\nx\n</instructions>\n",
        AGENTS[:60] + "…[cut 2789 characters]",
        "<user_instructions>\nx\n</user_instructions>",
        "<skill>\n<name>x</name>\n</skill>",
        "<permissions instructions>x</permissions instructions>",
        "<skills_instructions>## Skills</skills_instructions>",
        SUMMARY,
    ],
)
def test_what_programs_put_in_is_no_evidence(tmp_path: Path, text: str) -> None:
    assert heard(tmp_path, message("user", text)).items == ()


@pytest.mark.requirement("MW-8.2-excluded", "MW-9-3")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<environment_context>\n<cwd>/w</cwd>\n</environment_context>", "context"),
        ("<turn_aborted>stopped</turn_aborted>", "context"),
        ("<subagent_notification>{}</subagent_notification>", "agent"),
        ("<user_action>\n  <action>review</action>\n{}\n</user_action>\n", "agent"),
        ("Message Type: x\nTask name: y\nSender: z\nPayload:\nhello", "agent"),
    ],
)
@pytest.mark.parametrize("told", [None, ["user.text"]])
def test_a_programs_word_is_never_the_users(
    tmp_path: Path, text: str, kind: str, told: list[str] | None
) -> None:
    assert kinds(heard(tmp_path, message("user", text, kinds=told))) == [kind]


@pytest.mark.requirement("MW-8.2-excluded")
def test_who_wrote_each_part_is_taken_from_the_line_where_it_says_so(tmp_path: Path) -> None:
    parts = ("recalled", "skills", "plain surroundings", "mail", "use tabs")
    told = [
        "memories.instructions",
        "host_skills.instructions",
        "environments.environment_context",
        "multi_agent.mail",
        "user.text",
    ]
    transcript = heard(tmp_path, message("user", *parts, kinds=told))
    assert [(one.kind, one.text) for one in transcript.items] == [
        ("context", "plain surroundings"),
        ("agent", "mail"),
        ("user", "use tabs"),
    ]
    assert transcript.items[-1].raw["content"] == [{"type": "input_text", "text": "use tabs"}]


@pytest.mark.requirement("MW-9-25")
def test_what_an_editor_puts_before_the_request_is_not_typed(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n## Open tabs: a.py\n## My request for Codex:\nfix it\n"
    transcript = heard(tmp_path, message("user", text))
    assert [one.kind for one in transcript.items] == ["context", "user"]
    assert transcript.items[1].text == "fix it"


@pytest.mark.requirement("FR-E4")
def test_recalled_memory_never_becomes_evidence(tmp_path: Path) -> None:
    transcript = heard(
        tmp_path,
        message("developer", SUMMARY),
        message("user", "What do I like?", kinds=["user.text"]),
        item("function_call", namespace="memories", name="read", call_id="c1", arguments="{}"),
        item("function_call_output", call_id="c1", output="RECALLED-ONE"),
        item(
            "function_call",
            name="exec_command",
            call_id="c2",
            arguments='{"cmd":"cat ~/.codex/memories/MEMORY.md"}',
        ),
        item("function_call_output", call_id="c2", output="RECALLED-TWO"),
        item("function_call", name="memories__search", call_id="c4", arguments="{}"),
        item("function_call_output", call_id="c4", output="RECALLED-THREE"),
        item("function_call", name="exec_command", call_id="c3", arguments='{"cmd":"ls"}'),
        item("function_call_output", call_id="c3", output="a.py"),
        message("assistant", "Looking.", phase="commentary"),
        message("assistant", "Tabs.", phase="final_answer"),
    )
    assert kinds(transcript) == ["user", "tool_call", "tool_output", "commentary", "assistant"]
    assert "RECALLED" not in render_v1(transcript)


def test_other_lines_are_left_out(tmp_path: Path) -> None:
    transcript = heard(
        tmp_path,
        {"type": "world_state", "payload": {"full": True}},
        {"type": "compacted", "payload": {"message": "summary"}},
        item("reasoning", summary=[], encrypted_content="x"),
        item("image_generation_call", id="i"),
        event("agent_message", message="seen elsewhere"),
        item("web_search_call", action={"type": "search", "query": "weather"}),
        item("agent_message", content=[{"type": "text", "text": "from a helper"}]),
        {"type": "inter_agent_communication", "payload": {"content": "mail"}},
    )
    assert [(one.kind, one.text) for one in transcript.items] == [
        ("web_search", "weather"),
        ("agent", "from a helper"),
        ("agent", "mail"),
    ]


@pytest.mark.requirement("FR-F18")
def test_no_secret_leaves_in_text_or_raw_form(tmp_path: Path) -> None:
    arguments = json.dumps({"cmd": 'export X_TOKEN="abcdef123456"; deploy'})
    transcript = heard(
        tmp_path,
        message("user", 'My key is sk-proj-FAKE-KEY-FOR-TESTS and password = "hunter2hunter2"'),
        item("function_call", name="exec_command", call_id="c1", arguments=arguments),
        item("function_call_output", call_id="c1", output="password: hunter2hunter2"),
    )
    for text in (render_v1(transcript), *(one.text for one in transcript.items)):
        assert "FAKE" not in text and "hunter2" not in text and "abcdef123456" not in text
        assert MARK in text


@pytest.mark.requirement("FR-T20")
def test_images_and_long_outputs_are_not_carried_along(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9_000}
    transcript = heard(
        tmp_path,
        item("message", role="user", content=[{"type": "input_text", "text": "see"}, picture]),
        item("function_call_output", call_id="c1", output="y" * 1_000_000),
    )
    text = render_v1(transcript)
    assert "AAAA" not in text and "[image omitted]" in text
    assert len(text) < 300_000 and "chars truncated" in text
    assert transcript.items[0].text.strip() == "see"


@pytest.mark.requirement("FR-S9")
def test_a_bad_line_is_skipped_and_its_number_kept(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, session_meta(), message("user", "one"))
    path.write_bytes(path.read_bytes() + b'{"torn\n' + path.read_bytes())
    transcript = hear(path, thread_id=ThreadId(THREAD), cwd="", git_branch=None)
    assert [one.text for one in transcript.items] == ["one", "one"]
    assert transcript.skipped_lines == (3,)


def test_items_know_their_turn_also_in_old_files(tmp_path: Path) -> None:
    path = write_rollout(
        tmp_path,
        session_meta(),
        message("user", "<environment_context>x</environment_context>"),
        *legacy_turn("first", "one"),
        *legacy_turn("second", "two"),
    )
    transcript = hear(path, thread_id=ThreadId(THREAD), cwd="", git_branch=None)
    turns = [turn.turn_id for turn in read_history(path).turns]
    assert [one.turn_id for one in transcript.items] == [turns[0]] * 3 + [turns[1]] * 2
    assert turns[0] == derived_uuid(ThreadId(THREAD), 4, "turn")


@pytest.mark.requirement("FR-E6")
def test_turns_copied_by_a_fork_belong_to_its_parent(tmp_path: Path) -> None:
    forked_at = "2026-11-29T18:20:00.000Z"
    later = "01a22889-a46e-7000-937a-ef1997f9fd17"
    path = write_rollout(
        tmp_path,
        session_meta(forked_from_id=OTHER, timestamp=forked_at),
        session_meta(OTHER),
        event("task_started", turn_id=TURN),
        message("user", "said in the parent"),
        event("task_started", turn_id=later),
        message("user", "said in the fork"),
    )
    transcript = hear(path, thread_id=ThreadId(THREAD), cwd="", git_branch=None)
    assert [one.text for one in transcript.items] == ["said in the fork"]


@pytest.mark.requirement("FR-E6")
def test_a_fork_without_turn_ids_is_told_by_the_time_of_copying(tmp_path: Path) -> None:
    copied = {"timestamp": STAMP.format(0)}
    path = write_rollout(
        tmp_path,
        {**session_meta(forked_from_id=OTHER), **copied},
        {**session_meta(OTHER), **copied},
        *({**line, **copied} for line in legacy_turn("said in the parent", "yes")),
        *legacy_turn("said in the fork", "yes"),
    )
    transcript = hear(path, thread_id=ThreadId(THREAD), cwd="", git_branch=None)
    assert [one.text for one in transcript.items] == ["said in the fork", "yes"]


@needs_shared
def test_real_files_give_what_the_user_typed_and_nothing_of_the_harness() -> None:
    typed: list[str] = []
    for path in find_rollouts(shared("rollouts")):
        meta = read_meta(path)
        transcript = hear(path, thread_id=meta.id, cwd=meta.cwd, git_branch=None)
        typed += [one.text for one in transcript.items if one.kind == "user"]
        text = render_v1(transcript)
        assert "AGENTS-ONLY" not in text and "FAKE-KEY" not in text and "hunter2" not in text
        assert "A skill is a set of local instructions" not in text
    assert len(typed) == 14
    assert not any(text.startswith(("<", "#")) for text in typed)
