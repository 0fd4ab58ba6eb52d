"""Hears a rollout: what of it is evidence, by whom, redacted.

Dropped: what we and other programs put in ourselves (instructions, skills, recalled memory and the
calls that recall it) and what a fork copied from its parent. Invariant: an item is of kind `user`
only if the user typed it, and no text leaves here unredacted.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from state.ids import ThreadId, derived_uuid, uuid7_time_ms
from state.policy.budget import truncate_middle_bytes
from state.policy.redaction import redact_json
from state.rollouts.fragments import (
    PartKind,
    is_inter_agent,
    kinds_of_parts,
    reads_memory,
)
from state.rollouts.items import (
    RolloutLine,
    SessionMeta,
    SkippedLine,
    Transcript,
    TranscriptItem,
    TranscriptKind,
)
from state.rollouts.kept_input import in_place
from state.rollouts.lines import PASSTHROUGH
from state.rollouts.recorded import IMAGE_OMITTED
from state.rollouts.store import parse_time_ms, read_lines, read_meta

TEXT_BYTES_MAX = 262_144
SKIPPED_MAX = 1_000
MEMORY_NAMESPACE = "memories"
# As servers without namespaces, and those of the MCP form, name the same tools.
_FLAT_MEMORY_TOOLS = ("memories__", "mcp__memories__")

_OF_TOOLS: frozenset[TranscriptKind] = frozenset({"tool_call", "tool_output", "web_search"})
_NOT_TYPED: frozenset[TranscriptKind] = frozenset({*_OF_TOOLS, "context", "commentary", "agent"})
THIN_STEPS = ((_OF_TOOLS, 8_000), (_OF_TOOLS, 1_000), (_NOT_TYPED, 120))
"""Whose texts are cut to how many bytes, step by step, where a session is too long for a model."""

_CALLS = frozenset({"local_shell_call", "function_call", "custom_tool_call", "tool_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_NOT_KEPT = frozenset({PASSTHROUGH, "encrypted_content"})
_NESTING_MAX = 64
# A fork of old copies the lines of its parent in one go, without turn ids to tell them by.
_COPYING_MS_MAX = 1_000


def hear(path: Path, *, thread_id: ThreadId, cwd: str, git_branch: str | None) -> Transcript:
    """The evidence in a rollout, item by item. Blocking: call it in a thread.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    listener = _Listener(meta)
    items: list[TranscriptItem] = []
    skipped: list[int] = []
    for line in in_place(read_lines(path)):
        if isinstance(line, SkippedLine):
            if len(skipped) < SKIPPED_MAX:
                skipped.append(line.line_number)
        else:
            items.extend(listener.take(line))
    return Transcript(
        thread_id=thread_id,
        cwd=cwd,
        git_branch=git_branch,
        items=tuple(listener.with_turns(items)),
        service_tier=listener.service_tier,
        skipped_lines=tuple(skipped),
    )


def render_v1(transcript: Transcript) -> str:
    """The kept items in order as one JSON array."""
    return orjson.dumps([dict(item.raw) for item in transcript.items]).decode()


def thinned(transcript: Transcript, step: tuple[frozenset[TranscriptKind], int]) -> Transcript:
    """The same items with some texts cut, so that noise goes before what anybody said."""
    kinds, bytes_max = step
    items = tuple(
        replace(item, raw=_shorten(item.raw, bytes_max)) if item.kind in kinds else item
        for item in transcript.items
    )
    return replace(transcript, items=items)


class _Listener:
    """Takes lines in order; knows which calls recalled memory and which turn is on."""

    def __init__(self, meta: SessionMeta) -> None:
        self.service_tier: str | None = None
        self._thread_id = meta.id
        self._forked_at_ms = parse_time_ms(meta.timestamp) if meta.forked_from_id else None
        self._copied_lines = meta.copied_lines or 0
        self._copied_until_ms: int | None = None
        self._copied: bool | None = None
        self._turn_id: str | None = None
        self._turn_lines: list[int] = []
        self._recalls: set[str] = set()

    def take(self, line: RolloutLine) -> Iterator[TranscriptItem]:
        """The evidence of one line, mostly none or one item."""
        match line.type:
            case "session_meta" if self._forked_at_ms is not None:
                if line.payload.get("id") != self._thread_id:
                    written_ms = parse_time_ms(line.timestamp) or self._forked_at_ms
                    self._copied_until_ms = written_ms + _COPYING_MS_MAX
            case "event_msg":
                self._event(line)
            case "turn_context":
                tier = line.payload.get("service_tier")
                self.service_tier = tier if isinstance(tier, str) else None
                if isinstance(line.payload.get("turn_id"), str):
                    self._begin_turn(line.payload.get("turn_id"))
            case "response_item" if not self._is_copied(line):
                yield from self._response(line)
            case "inter_agent_communication" if not self._is_copied(line):
                yield self._item("agent", line, line.payload)
            case _:
                pass

    def with_turns(self, items: Sequence[TranscriptItem]) -> Iterator[TranscriptItem]:
        """The items, those without a turn in the one that history derives for them."""
        lines = self._turn_lines
        for item in items:
            if item.turn_id is not None or not lines:
                yield item
                continue
            # What the user says stands just before the event that begins the turn.
            at = bisect_right(lines, item.line) - (item.kind not in ("user", "context"))
            line = lines[min(max(at, 0), len(lines) - 1)]
            yield replace(item, turn_id=derived_uuid(self._thread_id, line, "turn"))

    def _event(self, line: RolloutLine) -> None:
        match line.payload.get("type"):
            case "task_started" | "turn_started":
                self._begin_turn(line.payload.get("turn_id"))
            case "user_message" if self._turn_id is None:
                self._turn_lines.append(line.line_number)
            case _:
                pass

    def _begin_turn(self, turn_id: Any) -> None:
        self._turn_id = turn_id if isinstance(turn_id, str) else None
        began_ms = uuid7_time_ms(self._turn_id) if self._turn_id else None
        if self._forked_at_ms is not None and began_ms is not None:
            self._copied = began_ms < self._forked_at_ms

    def _is_copied(self, line: RolloutLine) -> bool:
        """Whether the line is a fork's copy of what its parent said, and so the parent's."""
        if self._copied_lines and line.line_number <= 1 + self._copied_lines:
            return True
        if self._copied is not None:
            return self._copied
        at_ms = parse_time_ms(line.timestamp)
        until_ms = self._copied_until_ms
        return until_ms is not None and at_ms is not None and at_ms <= until_ms

    def _response(self, line: RolloutLine) -> Iterator[TranscriptItem]:
        item = line.payload
        type_, call_id = item.get("type"), item.get("call_id")
        if type_ == "message":
            yield from self._message(line)
        elif type_ == "agent_message":
            yield self._item("agent", line, item)
        elif type_ == "web_search_call":
            yield self._item("web_search", line, item)
        elif type_ in _CALLS:
            if _recalls(item):
                if isinstance(call_id, str):
                    self._recalls.add(call_id)
            else:
                yield self._item("tool_call", line, item)
        elif type_ in _OUTPUTS and call_id not in self._recalls:
            yield self._item("tool_output", line, item)

    def _message(self, line: RolloutLine) -> Iterator[TranscriptItem]:
        role = line.payload.get("role")
        if role == "user":
            yield from self._user_message(line)
        elif role not in ("developer", "system"):
            phase = line.payload.get("phase")
            kind: TranscriptKind = "commentary" if phase == "commentary" else "assistant"
            if is_inter_agent(line.payload):
                kind = "agent"
            yield self._item(kind, line, line.payload)

    def _user_message(self, line: RolloutLine) -> Iterator[TranscriptItem]:
        groups: dict[TranscriptKind, list[Any]] = {}
        for kind, _, part in kinds_of_parts(line.payload):
            if kind is not PartKind.OURS:
                groups.setdefault(_GROUPS[kind], []).append(part)
        for group, parts in groups.items():
            raw = {key: value for key, value in line.payload.items() if key != "status"}
            yield self._item(group, line, {**raw, "content": parts})

    def _item(
        self, kind: TranscriptKind, line: RolloutLine, item: Mapping[str, Any]
    ) -> TranscriptItem:
        kept = {key: _light(value) for key, value in item.items() if key not in _NOT_KEPT}
        raw = _shorten(redact_json(kept))
        return TranscriptItem(
            kind=kind,
            text=_text_of(raw),
            line=line.line_number,
            turn_id=_turn_of(line.payload) or self._turn_id,
            at_ms=parse_time_ms(line.timestamp),
            raw=raw,
        )


_MARKS = tuple({"type": "input_text", "text": text} for text in (IMAGE_OMITTED, "[audio omitted]"))
_GROUPS: Mapping[PartKind, TranscriptKind] = {
    PartKind.TYPED: "user",
    PartKind.CONTEXT: "context",
    PartKind.AGENT: "agent",
}


def _recalls(call: Mapping[str, Any]) -> bool:
    """Whether what the call returns is memory, by its tool or by a file it names."""
    name = call.get("name")
    flat = isinstance(name, str) and name.startswith(_FLAT_MEMORY_TOOLS)
    return flat or call.get("namespace") == MEMORY_NAMESPACE or reads_memory(_call_text(call))


def _turn_of(item: Mapping[str, Any]) -> str | None:
    about = item.get(PASSTHROUGH)
    found = about.get("turn_id") if isinstance(about, Mapping) else None
    return found if isinstance(found, str) else None


def _text_of(item: Mapping[str, Any]) -> str:
    type_ = item.get("type")
    if type_ in _CALLS:
        return _call_text(item)
    content = item.get("content")
    if isinstance(content, list):
        return "\n".join(filter(None, (_all_text(part) for part in content if part not in _MARKS)))
    for field in ("content", "output", "action"):
        if field in item:
            return _all_text(item[field])
    return _all_text(item)


def _call_text(item: Mapping[str, Any]) -> str:
    name = item.get("name")
    said = item.get("arguments", item.get("input", item.get("action")))
    text = said if isinstance(said, str) else _all_text(said)
    return f"{name} {text}" if isinstance(name, str) else text


def _all_text(value: Any, depth: int = _NESTING_MAX) -> str:
    """The strings of a value, each on its own line; a message part gives its text alone."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        inner = [one for key, one in value.items() if key not in ("type", "image_url")]
        return "\n".join(filter(None, (_all_text(one, depth - 1) for one in inner)))
    if isinstance(value, list):
        return "\n".join(filter(None, (_all_text(one, depth - 1) for one in value)))
    return ""


def _light(value: Any, depth: int = _NESTING_MAX) -> Any:
    """The value without the bytes of images and sounds, and without encrypted text."""
    if isinstance(value, list) and depth:
        return [_light(one, depth - 1) for one in value]
    if not isinstance(value, Mapping) or not depth:
        return value
    if value.get("type") in ("input_image", "input_audio"):
        return _MARKS[value["type"] == "input_audio"]
    return {key: _light(one, depth - 1) for key, one in value.items() if key != "encrypted_content"}


def _shorten(value: Any, bytes_max: int = TEXT_BYTES_MAX) -> Any:
    # Nesting is bounded by the redaction that came before.
    if isinstance(value, str):
        return truncate_middle_bytes(value, bytes_max=bytes_max)
    if isinstance(value, list):
        return [_shorten(one, bytes_max) for one in value]
    if isinstance(value, Mapping):
        return {key: _shorten(one, bytes_max) for key, one in value.items()}
    return value
