"""The file work of an import: what a source is, a private copy of it, what the copy tells.

Invariant: a source is only ever opened for reading, and a copy appears under its name whole or not
at all. Everything here blocks; `transfer` calls it in threads.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from state.errors import RolloutUnreadable
from state.home import Home, make_private_folder, open_private, sync_folder
from state.ids import ThreadId, uuid7_time_ms
from state.policy.preview import preview_of
from state.policy.redaction import redact
from state.rollouts.fragments import typed_text
from state.rollouts.items import RolloutLine, SessionMeta, SkippedLine
from state.rollouts.store import (
    open_plain,
    parse_time_ms,
    read_lines,
    read_meta,
    rollout_path,
    thread_id_of,
)
from state.stores.threads import MemoryMode, ThreadRow

BLOCK_BYTES = 1_048_576
# A compressed file may unfold without end.
COPY_BYTES_MAX = 16 * 1024 * BLOCK_BYTES
NAME_CHARS_MAX = 200
_NAMES_BYTES_MAX = 64 * BLOCK_BYTES
_DATED_NAME = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T[0-9-]{1,20}-[0-9a-f-]{36}\.jsonl")
_MEMORY_MODES: tuple[MemoryMode, ...] = ("enabled", "disabled", "polluted")

Relation = Literal["same", "grown", "behind", "rewritten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A session file as it was found."""

    path: Path
    meta: SessionMeta
    digest: str
    """Of the uncompressed bytes."""
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the lines of a session tell of it."""

    preview: str
    updated_at_ms: int | None
    model: str | None
    memory_mode: MemoryMode
    skipped_lines: int


def examine(path: Path) -> Source:
    """What a source is.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    archived = "archived_sessions" in path.parent.parts
    return Source(path=path, meta=meta, digest=digest_of(path), archived=archived)


def digest_of(path: Path) -> str:
    """SHA-256 over the uncompressed bytes.

    Raises: OSError, RolloutUnreadable.
    """
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def relation(source: Path, copy: Path) -> Relation:
    """How a source stands to an earlier copy of it.

    Raises: OSError, RolloutUnreadable.
    """
    with open_plain(copy) as old:
        for block in _blocks(source):
            known = old.read(len(block))
            if known != block[: len(known)]:
                return "rewritten"
            if len(known) < len(block):
                return "grown"
        return "behind" if old.read(1) else "same"


def target_of(source: Source, home: Home) -> Path:
    """Where the copy of a session lies: by the date in its name, or of its making."""
    name = source.path.name.removesuffix(".zst")
    dated = _DATED_NAME.fullmatch(name)
    if dated is None or thread_id_of(source.path) != source.meta.id:
        plain = rollout_path(home, source.meta.id, created_at_ms(source.meta) or 0)
        return home.archived_sessions / plain.name if source.archived else plain
    if source.archived:
        return home.archived_sessions / name
    return home.sessions / dated[1] / dated[2] / dated[3] / name


def copy_private(source: Path, target: Path) -> tuple[str, Told]:
    """Copy a session under its name; the digest of what was copied, and what it tells.

    Raises: OSError, RolloutUnreadable, HomeUnusable.
    """
    make_private_folder(target.parent)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    digest = hashlib.sha256()
    try:
        with open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            for block in _blocks(source):
                digest.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        # Read from the copy: the source may grow while we look.
        told = tell(partial)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)
    return digest.hexdigest(), told


def tell(path: Path) -> Told:
    """What the lines of a session tell of it.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    mode, model = meta.memory_mode, None
    typed: str | None = None
    updated_at_ms: int | None = None
    skipped = 0
    for line in read_lines(path):
        if isinstance(line, SkippedLine):
            skipped += 1
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
    )


def row_of(
    source: Source, told: Told, *, path: str, digest: str, now_ms: int, name: str | None
) -> ThreadRow:
    """The row of an imported thread; `path` is that of the copy, relative to the home."""
    meta = source.meta
    made_ms = created_at_ms(meta) or told.updated_at_ms or now_ms
    git = meta.git
    return ThreadRow(
        thread_id=meta.id,
        rollout_path=path,
        created_at_ms=made_ms,
        updated_at_ms=told.updated_at_ms or made_ms,
        cwd=meta.cwd,
        preview=told.preview,
        name=name,
        source=wire_source(meta.source),
        thread_source=meta.thread_source,
        model_provider=meta.model_provider or "openai",
        model=told.model,
        cli_version=meta.cli_version,
        originator=meta.originator,
        history_mode=meta.history_mode,
        memory_mode=told.memory_mode,
        archived=source.archived,
        git_branch=git.branch if git else None,
        git_sha=git.commit_hash if git else None,
        git_origin_url=redact(git.repository_url) if git and git.repository_url else None,
        forked_from_id=meta.forked_from_id,
        imported_from=str(source.path),
        imported_digest=digest,
        imported_at_ms=now_ms,
    )


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


def _blocks(path: Path) -> Iterator[bytes]:
    size = 0
    with open_plain(path) as file:
        while block := file.read(BLOCK_BYTES):
            size += len(block)
            if size > COPY_BYTES_MAX:
                raise RolloutUnreadable(path, f"it holds more than {COPY_BYTES_MAX} bytes")
            yield block


def _mode_in(line: RolloutLine, thread_id: ThreadId) -> str | None:
    meta = SessionMeta.parse(line.payload)
    return meta.memory_mode if meta and meta.id == thread_id else None


def _memory_mode(text: str | None) -> MemoryMode:
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
