"""A conversation as providers take it: each call has its output, and each output its call. Pure.

A call is left without output when the process died while its tool ran, or when a session came from
elsewhere; providers refuse such a conversation for good.
"""

from collections.abc import Iterable

from server.agent.models.base import Item
from server.agent.tools.base import ABORTED

OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
}
_OUTPUTS = frozenset(OUTPUT_OF.values())


def paired(items: Iterable[Item]) -> tuple[Item, ...]:
    """The same items, an `aborted` output behind each call that has none, lone outputs left out."""
    items = tuple(items)
    answered = {_key(item) for item in items if item.get("type") in _OUTPUTS}
    called: set[tuple[object, object]] = set()
    told: list[Item] = []
    for item in items:
        type_ = item.get("type")
        if type_ in _OUTPUTS:
            if _key(item) in called:
                told.append(item)
            continue
        told.append(item)
        if type_ in OUTPUT_OF:
            output = {
                "type": OUTPUT_OF[str(type_)],
                "call_id": str(item.get("call_id", "")),
                "output": ABORTED,
            }
            called.add(_key(output))
            if _key(output) not in answered:
                told.append(output)
    return tuple(told)


def _key(item: Item) -> tuple[object, object]:
    return item.get("type"), item.get("call_id")
