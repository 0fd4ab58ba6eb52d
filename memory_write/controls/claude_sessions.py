"""The sessions that Claude Code keeps by project, read as if they were rollouts.

Its layout: `projects/<key>/<session id>.jsonl`; what its own agents did lies in `agent-*.jsonl`
and below `subagents/`, and is nobody's session. Invariant: a file is only ever opened for reading
and no link is followed; a line that cannot be read is told by its number, the rest is read.
Everything here blocks.
"""

import hashlib
import io
import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import orjson

from memory_write.controls.agent_memory_files import has_projects
from memory_write.controls.claude_entries import SessionLines
from memory_write.controls.session_files import Form, Source
from state.errors import RolloutUnreadable
from state.ids import ThreadId
from state.rollouts.store import is_one_file, raw_lines
from state.rollouts.telling import SKIPPED_TOLD_MAX

FILES_MAX = 100_000
SESSION_BYTES_MAX = 2 * 1024 * 1_048_576
_OWN_AGENT, _OF_AGENTS = "agent-", "subagents"


def find_sessions(path: Path) -> list[Path]:
    """The session files of a home of that program, of a folder of it, or the file itself.

    Raises: FileNotFoundError, RolloutUnreadable.
    """
    if is_one_file(path):
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path / "projects" if has_projects(path) else path):
        folders[:] = sorted(one for one in folders if one != _OF_AGENTS)
        for name in sorted(names):
            file = Path(folder, name)
            own = name.endswith(".jsonl") and not name.startswith(_OWN_AGENT)
            if own and file.is_file() and not file.is_symlink():
                found.append(file)
                if len(found) > FILES_MAX:
                    raise RolloutUnreadable(path, f"it holds more than {FILES_MAX} sessions")
    return found


def examine(path: Path) -> Source | None:
    """What a session is; None where nothing is said in it.

    Raises: OSError, RolloutUnreadable.
    """
    reading = _Reading(path)
    digest = hashlib.sha256()
    for line in reading.lines():
        digest.update(line)
    session = reading.session
    if session is None or session.meta is None:
        return None

    return Source(
        path=path,
        meta=session.meta,
        digest=digest.hexdigest(),
        archived=False,
        opened=_opened,
        skipped_lines=reading.skipped,
        first_skipped=tuple(reading.first_skipped),
        outside=session.outside,
    )


SESSIONS = Form(find=find_sessions, examine=examine)
"""Sessions as Claude Code writes them."""


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with closing(_Reading(path).lines()) as lines:
        yield io.BufferedReader(_Stream(lines))


class _Reading:
    """One reading of a session from its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.session: SessionLines | None = None
        self.skipped = 0
        self.first_skipped: list[int] = []

    def lines(self) -> Generator[bytes, None, None]:
        """The lines of the rollout that is made of it.

        Raises: OSError, RolloutUnreadable.
        """
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            for number, offset, data in raw_lines(file):
                if offset > SESSION_BYTES_MAX:
                    raise RolloutUnreadable(self._path, f"it is larger than {SESSION_BYTES_MAX}")
                entry = _entry(data)
                if entry is None:
                    self._skip(number)
                elif (session := self._session_of(entry)) is not None:
                    for line in session.lines_of(entry):
                        yield orjson.dumps(line) + b"\n"

    def _session_of(self, entry: dict[str, object]) -> SessionLines | None:
        """The session, known by the name of its file or else by its first entry that tells it."""
        if self.session is None:
            named = _uuid(self._path.stem) or _uuid(entry.get("sessionId"))
            if named is not None:
                self.session = SessionLines(named)
        return self.session

    def _skip(self, number: int) -> None:
        self.skipped += 1
        if self.skipped <= SKIPPED_TOLD_MAX:
            self.first_skipped.append(number)


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file to read from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """So many bytes as fit; 0 at the end."""
        self._left = self._left or next(self._pieces, b"")
        with memoryview(buffer).cast("B") as room:
            size = min(len(room), len(self._left))
            room[:size], self._left = self._left[:size], self._left[size:]
        return size


def _entry(data: bytes | None) -> dict[str, object] | None:
    """An entry; {} for a blank line, None for what cannot be read."""
    if data is None:
        return None
    if not data.strip():
        return {}
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _uuid(text: object) -> ThreadId | None:
    try:
        return ThreadId(str(UUID(text))) if isinstance(text, str) else None
    except ValueError:
        return None
