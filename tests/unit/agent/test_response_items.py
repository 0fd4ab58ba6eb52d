"""Output items of servers that only resemble the API: what is sound in them is kept."""

from typing import Any

import pytest

from server.agent.json_bounds import why_not_writable
from server.agent.models.response_events import usable_item

TEXT = {"type": "output_text", "text": "hi"}


def deep(levels: int = 300) -> dict[str, Any]:
    """What is nested so deeply that nobody could write it."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ([TEXT], [TEXT]),
        (None, []),
        ("hi", []),
        ([None, 5, [], TEXT, {"type": "output_text", "text": 5}], [TEXT]),
        ([{**TEXT, "annotations": [deep()]}], [TEXT]),
    ],
)
def test_of_a_message_the_sound_parts_are_kept(content: Any, kept: list[Any]) -> None:
    """Nothing else of it is lost."""
    item = {"type": "message", "role": "assistant", "id": "m", "content": content}
    assert usable_item(item) == {**item, "content": kept}


def test_a_thought_needs_lists_and_keeps_its_encrypted_content() -> None:
    """Its content may be missing, which is not the same as empty."""
    item = {"type": "reasoning", "summary": "x", "encrypted_content": "e", "content": None}
    assert usable_item(item) == {**item, "summary": []}
    odd = usable_item({**item, "content": 5, "extra": deep()})
    assert odd == {"type": "reasoning", "encrypted_content": "e", "summary": [], "content": []}


def test_any_other_item_can_be_written_or_is_none() -> None:
    """A call keeps its words whatever stands beside them."""
    call = {"type": "function_call", "name": "a", "arguments": "{}", "call_id": "c"}
    assert usable_item(call) == call
    assert usable_item({**call, "extra": deep()}) == call
    search = usable_item({"type": "web_search_call", "id": "w", "action": deep()})
    assert search == {"type": "web_search_call", "id": "w"}
    assert why_not_writable(search) is None
    assert usable_item({"type": 5}) is None
