"""What the model sees again when a thread goes on: its response items, put right.

Invariant: each call has its output and each output its call, no inline image bytes are held, and
the oldest items go first when there are too many bytes.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from state.rollouts.lines import PASSTHROUGH
from state.rollouts.recorded import without_image_bytes

INPUT_BYTES_MAX = 64 * 1_048_576
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
        self._items: deque[tuple[dict[str, Any], int]] = deque()
        self._dropped = 0
        self._size = 0
        self.truncated = False

    @property
    def end(self) -> int:
        """How many items were added so far; a place to cut back to."""
        return self._dropped + len(self._items)

    @property
    def ends_with_user(self) -> bool:
        """Whether the last item is a message of role user."""
        return bool(self._items) and self._items[-1][0].get("role") == "user"

    def add(self, payload: Mapping[str, Any], size: int) -> None:
        """Take one recorded response item."""
        type_ = payload.get("type")
        if type_ not in _OTHERS and type_ not in _OUTPUT_OF and type_ not in _OUTPUTS:
            return
        item = {key: value for key, value in payload.items() if key != PASSTHROUGH}
        for field in ("content", "output"):
            if isinstance(item.get(field), list):
                item[field] = [without_image_bytes(part) for part in item[field]]
        self._items.append((item, size))
        self._size += size
        while self._size > INPUT_BYTES_MAX and len(self._items) > 1:
            self._size -= self._items.popleft()[1]
            self._dropped += 1
            self.truncated = True

    def compact(self, payload: Mapping[str, Any], size: int) -> None:
        """Replace everything so far, as a compaction recorded it."""
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
            self._size -= self._items.pop()[1]

    def balanced(self) -> list[dict[str, Any]]:
        """The items, with an output for each call that has none and without stray outputs."""
        answered = {item.get("call_id") for item, _ in self._items if item.get("type") in _OUTPUTS}
        called: set[Any] = set()
        result = []
        for item, _ in self._items:
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
