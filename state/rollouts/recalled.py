"""Which items of a thread carry recalled memory, and which threads that memory named.

Recalled memory is a copy of what was published when it was read. Invariant: what `without` gives
holds neither a memory section nor the result of a memory look-up, so text that was withdrawn since
does not come back with an old transcript. Ids are kept, since a citation may name them later; of
the words only marks, by which a summary of the thread is cleared of them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from state.ids import ThreadId
from state.rollouts.echoes import Cut, Marks, Said
from state.rollouts.fragments import PartKind, is_memory_section, kinds_of_parts, reads_memory
from state.rollouts.lines import PASSTHROUGH

IDS_MAX = 4_096
CALLS_MAX = 4_096
NOT_KEPT = "what was recalled here is not kept; look it up again if it is needed"
ECHOES_CUT = "(What was repeated from memory here is not kept; look it up again if it is needed.)"
_NAMESPACE = "memories"
_NOTE_TOOL = "add_ad_hoc_note"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})


class Recalled:
    """What one thread was told out of memory, seen in the order of its items."""

    def __init__(self) -> None:
        self._ids: dict[ThreadId, None] = {}
        self._calls: dict[str, None] = {}
        self._said = Said()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recalled) and (self._ids, self._calls) == (
            other._ids,
            other._calls,
        )

    __hash__ = None  # type: ignore[assignment]  # it changes

    def names(self, thread_id: ThreadId) -> bool:
        """Whether memory that this thread saw named that thread."""
        return thread_id in self._ids

    def note(self, item: Mapping[str, Any]) -> None:
        """Look at the next item."""
        type_ = item.get("type")
        if type_ in _CALLS:
            if _looks_up(item):
                _add(self._calls, str(item.get("call_id")), CALLS_MAX)
        elif type_ in _OUTPUTS and str(item.get("call_id")) in self._calls:
            self.note_text(*_texts(item.get("output")))
        elif type_ == "message":
            self.note_text(*(str(part.get("text", "")) for part in _section_parts(item)))

    def note_text(self, *parts: str) -> None:
        """Keep the ids that this memory text names, the newest where they are too many."""
        text = "".join(parts)
        for found in _UUID.findall(text):
            _add(self._ids, ThreadId(found.lower()), IDS_MAX)
        self._said.add(text)

    def let_go(self) -> None:
        """Something was withdrawn: hold none of the words any more, their marks alone."""
        self._said.fold()

    def marks(self, items: Iterable[Mapping[str, Any]]) -> Marks:
        """By what to know memory's words, where nobody else in these items said them."""
        return self._said.marks([text for item in items for text in self._own(item)])

    def unechoed(self, item: Mapping[str, Any], marks: Marks) -> dict[str, Any] | None:
        """The item as a summary may be made of it: without look-ups and what repeats them."""
        kept = self.without(item)
        if kept is None or kept.get("type") != "message" or kept.get("role") != "assistant":
            return kept
        content = kept.get("content")
        if not isinstance(content, list | tuple):
            return kept
        return {**kept, "content": [_unechoed_part(part, marks) for part in content]}

    def _own(self, item: Mapping[str, Any]) -> list[str]:
        """What somebody but memory and the model says in an item."""
        type_ = item.get("type")
        if type_ in _OUTPUTS and str(item.get("call_id")) not in self._calls:
            return _texts(item.get("output"))
        if type_ == "message" and item.get("role") == "user":
            return [text for kind, text, _ in kinds_of_parts(item) if kind is not PartKind.OURS]
        return []

    def without(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """The item as it may be replayed; None when it was nothing but a memory section."""
        if item.get("type") in _OUTPUTS and str(item.get("call_id")) in self._calls:
            return {**item, "output": NOT_KEPT}
        return without_section(item)


def without_section(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message without the parts of a memory section; None when nothing is left of it."""
    sections = list(_section_places(item))
    if not sections:
        return dict(item)
    content = [part for place, part in enumerate(item["content"]) if place not in sections]
    if not content:
        return None
    kept = {**item, "content": content}
    about = item.get(PASSTHROUGH)
    if isinstance(about, Mapping) and isinstance(about.get("content_item_kinds"), list):
        kinds = about["content_item_kinds"]
        left = [kind for place, kind in enumerate(kinds) if place not in sections]
        kept[PASSTHROUGH] = {**about, "content_item_kinds": left}
    return kept


def told_cut(cut: Cut) -> str:
    """The text, which says what was left out of it."""
    if not cut.sentences:
        return cut.text
    return f"{cut.text.strip()}\n{ECHOES_CUT}".strip()


def _unechoed_part(part: Any, marks: Marks) -> Any:
    if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
        return part
    return {**part, "text": told_cut(marks.cut(part["text"]))}


def _section_parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [item["content"][place] for place in _section_places(item)]


def _section_places(item: Mapping[str, Any]) -> Iterator[int]:
    content = item.get("content")
    if item.get("role") not in ("developer", "system") or not isinstance(content, list | tuple):
        return
    about = item.get(PASSTHROUGH)
    told = about.get("content_item_kinds") if isinstance(about, Mapping) else None
    kinds = told if isinstance(told, list) else []
    for place, part in enumerate(content):
        if not isinstance(part, Mapping):
            continue
        kind = kinds[place] if place < len(kinds) else None
        if is_memory_section(str(part.get("text", "")), kind):
            yield place


def _looks_up(call: Mapping[str, Any]) -> bool:
    name, namespace = str(call.get("name", "")), call.get("namespace")
    plain = name.removeprefix(f"{_NAMESPACE}__")
    if namespace == _NAMESPACE or plain != name:
        return plain != _NOTE_TOOL
    asked = call.get("arguments", call.get("input", call.get("action")))
    return reads_memory(asked if isinstance(asked, str) else json.dumps(asked, default=str))


def _texts(output: Any) -> list[str]:
    if isinstance(output, str):
        return [output]
    if isinstance(output, list):
        return [str(part.get("text", "")) for part in output if isinstance(part, Mapping)]
    return []


def _add(kept: dict[Any, None], one: Any, most: int) -> None:
    kept.pop(one, None)
    kept[one] = None
    if len(kept) > most:
        del kept[next(iter(kept))]
