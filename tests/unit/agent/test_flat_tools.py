"""Tools for servers that know functions alone, and a conversation that such a server takes."""

from server.agent.models.flat_tools import needs_more_than_functions, plain_functions, plain_item

FUNCTION = {"type": "function", "name": "f", "description": "d", "parameters": {}}
CUSTOM = {"type": "custom", "name": "apply_patch", "description": "edits",
          "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}}  # fmt: skip
SPACE = {"type": "namespace", "name": "memories", "tools": [FUNCTION]}
HOSTED = {"type": "web_search"}


def test_every_tool_becomes_a_function_or_is_left_out() -> None:
    """A free-form one takes one text, with its grammar in words; a hosted one cannot be run."""
    assert not needs_more_than_functions([FUNCTION])
    assert all(needs_more_than_functions([one]) for one in (CUSTOM, SPACE, HOSTED))
    plain = plain_functions([FUNCTION, CUSTOM, SPACE, HOSTED])
    assert [tool["name"] for tool in plain] == ["f", "apply_patch", "memories__f"]
    assert all(tool["type"] == "function" for tool in plain)
    assert plain[1]["parameters"]["required"] == ["input"]
    assert "start: x" in plain[1]["description"]


def test_recorded_free_form_calls_are_shown_as_calls_of_functions() -> None:
    """Call and output stay a pair."""
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": 'a "b"'}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "done"}
    assert plain_item(call) == {
        "type": "function_call",
        "name": "apply_patch",
        "call_id": "c",
        "arguments": '{"input": "a \\"b\\""}',
    }
    assert plain_item(output) == {**output, "type": "function_call_output"}
    message = {"type": "message", "role": "user", "content": []}
    assert plain_item(message) == message
