"""Recalled memory in a transcript: what is not replayed, and which ids it leaves behind."""

from typing import Any

import pytest

from state.ids import ThreadId
from state.rollouts.lines import PASSTHROUGH
from state.rollouts.recalled import CALLS_MAX, IDS_MAX, NOT_KEPT, Recalled, without_section

ONE = "0194f5a6-89ab-7cde-8123-000000000001"
TWO = "0194f5a6-89ab-7cde-8123-000000000002"
BEGINS = "========= MEMORY_SUMMARY BEGINS ========="


def developer(*texts: str, kinds: list[str] | None = None) -> dict[str, Any]:
    """A message of ours."""
    content = [{"type": "input_text", "text": text} for text in texts]
    item: dict[str, Any] = {"type": "message", "role": "developer", "content": content}
    return item if kinds is None else {**item, PASSTHROUGH: {"content_item_kinds": kinds}}


@pytest.mark.requirement("MW-F-forgotten-now")
def test_a_section_leaves_its_message_by_its_kind_or_by_its_frame() -> None:
    """The second part of a long section carries no frame; its kind tells it."""
    kinds = ["memories.instructions", "memories.instructions", "developer.instructions"]
    kept = without_section(developer("a", "b", "rules", kinds=kinds))
    assert kept is not None and [part["text"] for part in kept["content"]] == ["rules"]
    assert kept[PASSTHROUGH]["content_item_kinds"] == ["developer.instructions"]
    assert without_section(developer(f"## Memory\n{BEGINS}\nx")) is None
    plain = developer("just rules")
    assert without_section(plain) == plain
    said = {"type": "message", "role": "user", "content": [{"text": BEGINS}]}
    assert without_section(said) == said


@pytest.mark.parametrize(
    ("call", "recalls"),
    [
        ({"type": "function_call", "namespace": "memories", "name": "search"}, True),
        ({"type": "function_call", "name": "memories__read", "arguments": "{}"}, True),
        ({"type": "function_call", "namespace": "memories", "name": "add_ad_hoc_note"}, False),
        (
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": '{"cmd":"cat /h/memories/MEMORY.md"}',
            },
            True,
        ),
        ({"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"ls"}'}, False),
        (
            {"type": "local_shell_call", "action": {"command": ["cat", "memories_v2/MEMORY.md"]}},
            True,
        ),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "x"}, False),
    ],
)
def test_the_result_of_a_look_up_is_not_replayed_and_its_ids_are_known(
    call: dict[str, Any], recalls: bool
) -> None:
    """By the tools of memory, or by a shell that reads its files."""
    seen = Recalled()
    output = {"type": f"{call['type']}_output", "call_id": "c1", "output": f"fact {ONE.upper()}"}
    for item in ({**call, "call_id": "c1"}, output):
        seen.note(item)
    kept = seen.without(output)
    assert kept is not None and (kept["output"] == NOT_KEPT) is recalls
    assert seen.names(ThreadId(ONE)) is recalls
    assert not seen.names(ThreadId(TWO))


def test_what_is_kept_of_a_thread_is_bounded() -> None:
    """The newest stay."""
    seen = Recalled()
    for number in range(CALLS_MAX + 10):
        seen.note({"type": "function_call", "namespace": "memories", "call_id": str(number)})
    for number in range(IDS_MAX + 10):
        seen.note_text(f"0194f5a6-89ab-7cde-8123-{number:012d}")
    assert not seen.names(ThreadId("0194f5a6-89ab-7cde-8123-000000000009"))
    assert seen.names(ThreadId(f"0194f5a6-89ab-7cde-8123-{IDS_MAX + 9:012d}"))
    first = {"type": "function_call_output", "call_id": "0", "output": "x"}
    assert seen.without(first) == first
