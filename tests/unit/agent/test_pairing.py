"""A conversation that providers take: every call answered, every output called for."""

from server.agent.pairing import paired


def _call(number: int, type_: str = "function_call") -> dict[str, object]:
    return {"type": type_, "call_id": f"c{number}", "name": "x"}


def _output(number: int, type_: str = "function_call_output") -> dict[str, object]:
    return {"type": type_, "call_id": f"c{number}", "output": "done"}


MESSAGE = {"type": "message", "role": "user", "content": []}


def test_what_is_whole_stays_as_it_is() -> None:
    """Also outputs that come in another order than their calls."""
    items = (MESSAGE, _call(1), _call(2), _output(2), _output(1), MESSAGE)
    assert paired(items) == items


def test_a_call_without_output_is_answered_as_aborted_behind_it() -> None:
    """In the form of its kind."""
    items = (_call(1), MESSAGE, _call(2, "custom_tool_call"))
    aborted = {"type": "function_call_output", "call_id": "c1", "output": "aborted"}
    custom = {"type": "custom_tool_call_output", "call_id": "c2", "output": "aborted"}
    assert paired(items) == (_call(1), aborted, MESSAGE, items[2], custom)


def test_an_output_without_its_call_is_left_out() -> None:
    """Also one of another kind, and one that comes before its call."""
    custom = _output(1, "custom_tool_call_output")
    assert paired((_output(3), _call(1), custom, _output(1))) == (_call(1), _output(1))
