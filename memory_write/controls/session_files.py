"""The file work of an import: what a source is, a private copy of it, what the copy tells.

Invariant: a source is only ever opened for reading, and a copy appears under its name whole or not
at all. Everything here blocks; `transfer` calls it in threads.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from state.errors import RolloutUnreadable
from state.home import Home, make_private_folder, open_private, sync_folder
from state.rollouts.items import SessionMeta
from state.rollouts.store import (
    Opener,
    find_rollouts,
    open_plain,
    read_meta,
    rollout_path,
    thread_id_of,
)
from state.rollouts.telling import Told, created_at_ms, tell
from state.stores.recorded_rows import row_as_told
from state.stores.threads import ThreadRow
from state.stores.withdrawal import OutsideSource

BLOCK_BYTES = 1_048_576
# A compressed file may unfold without end.
COPY_BYTES_MAX = 16 * 1024 * BLOCK_BYTES
_DATED_NAME = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T[0-9-]{1,20}-[0-9a-f-]{36}\.jsonl")

Relation = Literal["same", "grown", "behind", "rewritten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A session file as it was found."""

    path: Path
    meta: SessionMeta
    digest: str
    """Of the bytes as `opened` gives them."""
    archived: bool
    opened: Opener = open_plain
    """How it is read as a rollout."""
    skipped_lines: int = 0
    first_skipped: tuple[int, ...] = ()
    """Lines that are no part of what `opened` gives, since they could not be read."""
    outside: OutsideSource | None = None
    """What bars it from being learned from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the sessions of one program are found and read; both functions raise OSError and
    RolloutUnreadable, and `examine` gives None where nothing is said in a session."""

    find: Callable[[Path], list[Path]]
    examine: Callable[[Path], Source | None]


def examine(path: Path) -> Source:
    """What a rollout is.

    Raises: OSError, RolloutUnreadable.
    """
    meta = read_meta(path)
    archived = "archived_sessions" in path.parent.parts
    return Source(path=path, meta=meta, digest=digest_of(path), archived=archived)


ROLLOUTS = Form(find=find_rollouts, examine=examine)
"""Sessions as the original writes them."""


def digest_of(path: Path) -> str:
    """SHA-256 over the uncompressed bytes.

    Raises: OSError, RolloutUnreadable.
    """
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def relation(source: Source, copy: Path) -> Relation:
    """How a source stands to an earlier copy of it.

    Raises: OSError, RolloutUnreadable.
    """
    with open_plain(copy) as old:
        for block in _blocks(source.path, source.opened):
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


def copy_private(source: Source, target: Path) -> tuple[str, Told]:
    """Copy a session under its name; the digest of what was copied, and what it tells.

    Raises: OSError, RolloutUnreadable, HomeUnusable.
    """
    make_private_folder(target.parent)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    digest = hashlib.sha256()
    try:
        with open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            for block in _blocks(source.path, source.opened):
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


def row_of(
    source: Source, told: Told, *, path: str, digest: str, now_ms: int, name: str | None
) -> ThreadRow:
    """The row of an imported thread; `path` is that of the copy, relative to the home."""
    row = row_as_told(
        source.meta, told, path=path, archived=source.archived, now_ms=now_ms, name=name
    )
    return replace(
        row, imported_from=str(source.path), imported_digest=digest, imported_at_ms=now_ms
    )


def _blocks(path: Path, opened: Opener = open_plain) -> Iterator[bytes]:
    size = 0
    with opened(path) as file:
        while block := file.read(BLOCK_BYTES):
            size += len(block)
            if size > COPY_BYTES_MAX:
                raise RolloutUnreadable(path, f"it holds more than {COPY_BYTES_MAX} bytes")
            yield block
