"""What a rollout tells of its thread: preview, last change, model, memory mode, source, name.

Read line by line, so that a large file costs no memory. Everything here blocks.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from state.ids import ThreadId, uuid7_time_ms
from state.policy.preview import preview_of
from state.policy.redaction import redact
from state.rollouts.fragments import typed_text
from state.rollouts.history import FindRollout, placed_lines
from state.rollouts.items import RolloutLine, SessionMeta, SkippedLine
from state.rollouts.store import Opener, open_plain, parse_time_ms, read_lines, read_meta

NAME_CHARS_MAX = 200
SKIPPED_TOLD_MAX = 20
_NAMES_BYTES_MAX = 64 * 1_048_576

RecordedMode = Literal["enabled", "disabled", "polluted"]
_MEMORY_MODES: tuple[RecordedMode, ...] = ("enabled", "disabled", "polluted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the lines of a session tell of it."""

    preview: str
    updated_at_ms: int | None
    model: str | None
    memory_mode: RecordedMode
    skipped_lines: int
    first_skipped: tuple[int, ...]
    """The numbers of the first lines that could not be read."""


def tell(path: Path, *, find_base: FindRollout | None = None, opened: Opener = open_plain) -> Told:
    """What the lines of a session tell of it; of those it inherited only the first words typed.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path, opened=opened)
    mode, model = meta.memory_mode, None
    typed = _inherited_words(path, find_base) if meta.history_base and find_base else None
    updated_at_ms: int | None = None
    skipped, first_skipped = 0, []
    for line in read_lines(path, opened=opened):
        if isinstance(line, SkippedLine):
            skipped += 1
            if skipped <= SKIPPED_TOLD_MAX:
                first_skipped.append(line.line_number)
            continue
        updated_at_ms = parse_time_ms(line.timestamp) or updated_at_ms
        typed = typed or typed_text(line)
        if line.type == "turn_context":
            model = line.payload.get("model", model)
        elif line.type == "session_meta":
            mode = _mode_in(line, meta.id) or mode
    return Told(
        preview=preview_of(typed or ""),
        updated_at_ms=updated_at_ms,
        model=model if isinstance(model, str) else None,
        memory_mode=_memory_mode(mode),
        skipped_lines=skipped,
        first_skipped=tuple(first_skipped),
    )


def _inherited_words(path: Path, find_base: FindRollout) -> str | None:
    for place, line in placed_lines(path, find_base=find_base):
        if place == path:
            return None
        if isinstance(line, RolloutLine) and (typed := typed_text(line)):
            return typed
    return None


def created_at_ms(meta: SessionMeta) -> int | None:
    """When the thread was made, by its own word or else by its id."""
    return parse_time_ms(meta.timestamp) or uuid7_time_ms(meta.id)


def wire_source(source: str | dict[str, Any]) -> str:
    """The JSON text of a recorded source as clients know it."""
    value: Any = source
    if isinstance(source, str):
        known = ("cli", "vscode", "exec", "appServer", "unknown")
        value = source if source in known else {"custom": source}
        value = "appServer" if source in ("mcp", "app_server") else value
    elif (agent := source.get("subagent", source.get("subAgent"))) is not None:
        value = {"subAgent": agent if _is_known_agent(agent) else {"other": _word(agent)}}
    elif (inner := source.get("internal")) is not None:
        value = {"subAgent": inner if _is_known_agent(inner) else {"other": _word(inner)}}
    elif not isinstance(source.get("custom"), str):
        value = "unknown"
    return orjson.dumps(value).decode()


def names_of(root: Path) -> dict[ThreadId, str]:
    """The names that people gave to the threads of a Codex home; the last one counts."""
    index = root / "session_index.jsonl"
    names: dict[ThreadId, str] = {}
    try:
        with index.open("rb") as file:
            for data in file.read(_NAMES_BYTES_MAX).splitlines():
                _take_name(names, data)
    except OSError:
        # As good as a home whose threads nobody named.
        return {}
    return names


def _take_name(names: dict[ThreadId, str], data: bytes) -> None:
    try:
        entry = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    match entry:
        case {"id": str(thread_id), "thread_name": str(name)}:
            names[ThreadId(thread_id.lower())] = redact(name.strip())[:NAME_CHARS_MAX]
        case _:
            pass


def _mode_in(line: RolloutLine, thread_id: ThreadId) -> str | None:
    meta = SessionMeta.parse(line.payload)
    return meta.memory_mode if meta and meta.id == thread_id else None


def _memory_mode(text: str | None) -> RecordedMode:
    return next((mode for mode in _MEMORY_MODES if mode == text), "enabled")


def _is_known_agent(agent: Any) -> bool:
    if isinstance(agent, str):
        return agent in ("review", "compact", "memory_consolidation")
    spawn = agent.get("thread_spawn") if isinstance(agent, dict) else None
    if isinstance(spawn, dict):
        return isinstance(spawn.get("parent_thread_id"), str) and isinstance(
            spawn.get("depth"), int
        )
    return isinstance(agent, dict) and isinstance(agent.get("other"), str)


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value[:64]
    return str(next(iter(value), "unknown"))[:64] if isinstance(value, dict) else "unknown"
