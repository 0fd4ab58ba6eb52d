"""What the model sees again when a thread goes on: its response items, put right.

Invariant: each call has its output and each output its call, no inline image bytes are held, and
the oldest items go first when there are too many bytes. Recalled memory is left out: it is told
anew, as it stands now.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from state.rollouts.lines import PASSTHROUGH
from state.rollouts.packed import exact
from state.rollouts.recalled import Recalled, told_cut
from state.rollouts.recorded import without_image_bytes

INPUT_BYTES_MAX = 16 * 1_048_576
"""Several times what any model takes in; more would only be held."""
INPUT_ITEMS_MAX = 16_384
INTERRUPTED_OUTPUT = "aborted: the turn ended before this call returned"

_OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "tool_search_call": "tool_search_output",
}
_OUTPUTS = frozenset(_OUTPUT_OF.values())
_OTHERS = frozenset({"message", "reasoning", "web_search_call", "compaction", "agent_message"})


class ModelInput:
    """Response items in order, cut at the front when they grow too many."""

    def __init__(self) -> None:
        self._items: deque[bytes] = deque()
        """Packed, since many values are long to walk over for whoever looks for garbage."""
        self._sizes: deque[int] = deque()
        self._dropped = 0
        self._size = 0
        self.truncated = False
        self.recalled = Recalled()

    @property
    def end(self) -> int:
        """How many items were added so far; a place to cut back to."""
        return self._dropped + len(self._items)

    @property
    def ends_with_user(self) -> bool:
        """Whether the last item is a message of role user."""
        return bool(self._items) and orjson.loads(self._items[-1]).get("role") == "user"

    def add(self, payload: Mapping[str, Any], size: int) -> None:
        """Take one recorded response item."""
        type_ = payload.get("type")
        if type_ not in _OTHERS and type_ not in _OUTPUT_OF and type_ not in _OUTPUTS:
            return
        self.recalled.note(payload)
        kept = self.recalled.without(payload)
        if kept is None:
            return
        item = {key: value for key, value in kept.items() if key != PASSTHROUGH}
        for field in ("content", "output"):
            if isinstance(item.get(field), list):
                item[field] = [without_image_bytes(part) for part in item[field]]
        self._items.append(exact(orjson.dumps(item)))
        self._sizes.append(size)
        self._size += size
        while len(self._items) > 1 and (
            self._size > INPUT_BYTES_MAX or len(self._items) > INPUT_ITEMS_MAX
        ):
            self._items.popleft()
            self._size -= self._sizes.popleft()
            self._dropped += 1
            self.truncated = True

    def compact(self, payload: Mapping[str, Any], size: int) -> None:
        """Replace everything so far, as a compaction recorded it; what its summary repeats of
        memory goes, since another program, or an older one, may have made it.
        """
        summary = payload.get("message")
        if isinstance(summary, str) and summary:
            marks = self.recalled.marks(map(orjson.loads, self._items))
            cut = marks.cut(summary)
            if cut.sentences:
                payload = _with_summary(payload, summary, told_cut(cut))
        self.cut(0)
        replacement = payload.get("replacement_history")
        if isinstance(replacement, list) and replacement:
            for one in replacement:
                if isinstance(one, Mapping):
                    self.add(one, size // len(replacement))
        elif isinstance(payload.get("message"), str):
            text = {"type": "input_text", "text": payload["message"]}
            self.add({"type": "message", "role": "user", "content": [text]}, size)

    def cut(self, end: int) -> None:
        """Drop the items from that place on."""
        while self._items and self.end > end:
            self._items.pop()
            self._size -= self._sizes.pop()

    def balanced(self) -> list[dict[str, Any]]:
        """The items, with an output for each call that has none and without stray outputs."""
        return [dict(item) for item in balanced([orjson.loads(one) for one in self._items])]


class NoInput(ModelInput):
    """Of a reading that is not to be continued: keeps nothing."""

    def add(self, payload: Mapping[str, Any], size: int) -> None:
        """Keep nothing of it."""


def _with_summary(payload: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    changed: dict[str, Any] = {**payload, "message": new}
    replacement = payload.get("replacement_history")
    if isinstance(replacement, list):
        changed["replacement_history"] = [_replaced(one, old, new) for one in replacement]
    return changed


def _replaced(item: Any, old: str, new: str) -> Any:
    content = item.get("content") if isinstance(item, Mapping) else None
    if not isinstance(content, list):
        return item
    parts = [
        {**part, "text": part["text"].replace(old, new)}
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        else part
        for part in content
    ]
    return {**item, "content": parts}


def is_response_item(item: object) -> str | None:
    """What is wrong with something that should be an item for the model; None when nothing is."""
    if not isinstance(item, Mapping):
        return "it is no object"
    type_ = item.get("type")
    if type_ is None:
        return "missing field `type`"
    known = {*_OTHERS, *_OUTPUT_OF, *_OUTPUTS}
    if type_ not in known:
        return f"unknown type `{str(type_)[:50]}`"
    if type_ == "message" and not isinstance(item.get("role"), str):
        return "missing field `role`"
    if type_ == "message" and not isinstance(item.get("content"), list):
        return "missing field `content`"
    if type_ in _OUTPUT_OF and not isinstance(item.get("call_id"), str):
        return "missing field `call_id`"
    if type_ in _OUTPUTS and "output" not in item and type_ != "tool_search_output":
        return "missing field `output`"
    return None


def balanced(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The items, with an output for each call that has none and without stray outputs."""
    answered = {item.get("call_id") for item in items if item.get("type") in _OUTPUTS}
    called: set[Any] = set()
    result: list[Mapping[str, Any]] = []
    for item in items:
        type_, call_id = str(item.get("type")), item.get("call_id")
        if type_ in _OUTPUTS and call_id not in called:
            continue
        result.append(item)
        if type_ in _OUTPUT_OF:
            called.add(call_id)
            if call_id is not None and call_id not in answered:
                kind = _OUTPUT_OF[type_]
                result.append({"type": kind, "call_id": call_id, "output": INTERRUPTED_OUTPUT})
    return result
