"""Which items of a model bring outside context into a thread. Pure.

What a user's own machine says is not outside: shell commands, patches, functions and custom tools
with their outputs, and text.
"""

from collections.abc import Mapping
from typing import Any

from state.stores.withdrawal import OutsideKind, OutsideSource

_ALWAYS: Mapping[str, OutsideKind] = {
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "tool_search_output": "tool_search",
}


def outside_context(item: Mapping[str, Any]) -> OutsideSource | None:
    """What an item brings in from outside; None for every other item."""
    type_ = str(item.get("type"))
    if type_ in _ALWAYS:
        return OutsideSource(_ALWAYS[type_], type_)
    # The server of the provider ran it, since nobody here was asked to.
    if type_ == "function_call_output" and not item.get("call_id"):
        return OutsideSource("other", type_)
    return None
