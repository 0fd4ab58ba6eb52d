"""Rollout files: append and stream, JSONL in the format of the field.

Invariant: a line is in the file, whole, before anyone is told of it; what a crash tore off at the
end never swallows the line that follows. Readers hold one line at a time, skip a bad one and tell
its number.
"""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import orjson
import zstandard

from state.clock import Clock
from state.errors import RolloutMissing, RolloutUnreadable
from state.home import Home, make_private_folder, open_private, sync_folder
from state.ids import ThreadId
from state.rollouts.items import LINE_TYPES, RolloutLine, SessionMeta, SkippedLine

LINE_BYTES_MAX = 20 * 1_048_576
META_LINES_MAX = 64
_TAIL_BLOCK_BYTES = 65_536
_WINDOW_BYTES_MAX = 128 * 1_048_576
_PLAIN = ".jsonl"
_PACKED = ".jsonl.zst"
_PREFIX = "rollout-"


class RolloutWriter:
    """Appends to one thread's file. Blocking: call it in a thread, one call at a time."""

    def __init__(
        self, path: Path, meta: SessionMeta, clock: Clock, *, file: BinaryIO, torn: bool, next_: int
    ) -> None:
        self.path = path
        self.meta = meta
        self._clock = clock
        self._file = file
        self._torn = torn
        self._next_ordinal = next_

    @classmethod
    def create(
        cls, home: Home, meta: SessionMeta, *, created_at_ms: int, clock: Clock
    ) -> "RolloutWriter":
        """Make the file of a new thread and write its first line; the file is on disk after.

        Raises: OSError (FileExistsError when the thread already has one), HomeUnusable.
        """
        path = rollout_path(home, meta.id, created_at_ms)
        make_private_folder(path.parent)
        file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        # A fork goes on counting where its part of the other thread's history ends.
        first = meta.history_base.end_ordinal_exclusive if meta.history_base else 0
        writer = cls(path, meta, clock, file=file, torn=False, next_=first)
        try:
            payload = meta.model_dump(mode="json", exclude_none=True)
            writer.append([{"type": "session_meta", "payload": payload}])
            writer.sync()
            sync_folder(path.parent)
        except BaseException:
            file.close()
            path.unlink(missing_ok=True)
            raise
        return writer

    @classmethod
    def open(cls, path: Path, *, clock: Clock) -> "RolloutWriter":
        """Continue a thread's file.

        Raises: OSError, RolloutUnreadable.
        """
        if path.suffix == ".zst":
            raise RolloutUnreadable(path, "a compressed file cannot be continued")
        meta = read_meta(path)
        file = open_private(path, os.O_WRONLY | os.O_APPEND)
        try:
            torn = _ends_torn(path)
            next_ordinal = _last_ordinal(path) + 1 if meta.history_mode == "paginated" else 0
        except BaseException:
            file.close()
            raise
        return cls(path, meta, clock, file=file, torn=torn, next_=next_ordinal)

    def append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write lines (`type`, `payload`, maybe `metadata`) as one write, or none of them.

        Raises: OSError.
        """
        stamp = rfc3339(self._clock.now_ms())
        numbered = self.meta.history_mode == "paginated"
        chunks = [b"\n"] if self._torn else []
        for offset, line in enumerate(lines):
            whole: dict[str, Any] = {"timestamp": stamp}
            if numbered:
                whole["ordinal"] = self._next_ordinal + offset
            whole.update(line)
            chunks.append(orjson.dumps(whole) + b"\n")
        self._write(b"".join(chunks))
        self._next_ordinal += len(lines)

    def sync(self) -> None:
        """Wait until all that was appended is on disk.

        Raises: OSError.
        """
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; what was appended is on disk after.

        Raises: OSError.
        """
        if self._file.closed:
            return
        try:
            self.sync()
        finally:
            self._file.close()

    def _write(self, data: bytes) -> None:
        descriptor = self._file.fileno()
        before = os.fstat(descriptor).st_size
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError:
            # A full disk may have taken half a line: take it back, or at least end it later.
            self._torn = True
            os.ftruncate(descriptor, before)
            self._torn = _ends_torn(self.path)
            raise
        self._torn = False


def rollout_path(home: Home, thread_id: ThreadId, created_at_ms: int) -> Path:
    """Where the file of a thread lies or will lie; days and hours are local, as in the field."""
    local = datetime.fromtimestamp(created_at_ms / 1000, UTC).astimezone()
    name = f"{_PREFIX}{local:%Y-%m-%dT%H-%M-%S}-{thread_id}{_PLAIN}"
    return home.sessions / f"{local:%Y}" / f"{local:%m}" / f"{local:%d}" / name


def rfc3339(at_ms: int) -> str:
    """A time of a rollout line: UTC with milliseconds."""
    seconds, millis = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{millis:03d}Z"


def parse_time_ms(text: str) -> int | None:
    """The Unix time of a rollout line in milliseconds; None when it is no time with a zone."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if value.tzinfo is None else round(value.timestamp() * 1000)


@contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a rollout as a stream.

    Raises: OSError, RolloutUnreadable (also inside the block: the compression is broken).
    """
    with path.open("rb") as raw:
        if path.suffix != ".zst":
            yield raw
            return
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES_MAX)
        try:
            with unpacker.stream_reader(raw, read_across_frames=True) as stream:
                yield io.BufferedReader(stream, 1_048_576)
        except zstandard.ZstdError as error:
            raise RolloutUnreadable(path, f"its compression is broken ({error})") from error


Opener = Callable[[Path], AbstractContextManager[BinaryIO]]
"""How a file is read as a rollout: its bytes as they would stand in one."""


def read_lines(path: Path, *, opened: Opener = open_plain) -> Iterator[RolloutLine | SkippedLine]:
    """The lines of a rollout in order, plain or compressed; a bad one is told, not raised.

    Raises: OSError, RolloutUnreadable (the compression is broken).
    """
    with opened(path) as file:
        for number, offset, data in raw_lines(file):
            if data is None:
                yield SkippedLine(number, f"longer than {LINE_BYTES_MAX} bytes")
            elif data.strip():
                yield _parse(data, number, offset)


def raw_lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes | None]]:
    """Each line with its number, counted from 1, and its offset; None for one that is too long."""
    number, offset = 0, 0
    while data := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        begin, offset = offset, offset + len(data)
        if len(data) > LINE_BYTES_MAX and not data.endswith(b"\n"):
            offset += _skip_to_next_line(file)
            yield number, begin, None
        else:
            yield number, begin, data


def read_meta(path: Path, *, opened: Opener = open_plain) -> SessionMeta:
    """The identity of the thread: the first `session_meta` line.

    Raises: OSError, RolloutUnreadable.
    """
    for count, line in enumerate(read_lines(path, opened=opened)):
        if isinstance(line, RolloutLine) and line.type == "session_meta":
            meta = SessionMeta.parse(line.payload)
            if meta is None:
                raise RolloutUnreadable(path, "its session_meta has no usable id")
            return meta
        if count >= META_LINES_MAX:
            break
    raise RolloutUnreadable(path, "it has no session_meta line")


def is_one_file(path: Path) -> bool:
    """Whether a named source of sessions is a file; otherwise it is a folder.

    Raises: FileNotFoundError, RolloutUnreadable when it is neither.
    """
    if path.is_file():
        return True
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_dir():
        raise RolloutUnreadable(path, "it is neither a file nor a folder")
    return False


def find_rollouts(path: Path) -> list[Path]:
    """The rollout files that a path stands for: a file, a folder with all below, or a Codex home.

    Links below the path are not followed. Of a plain and a compressed form the plain one counts.

    Raises: FileNotFoundError, RolloutUnreadable.
    """
    if is_one_file(path):
        return [path]
    homes = [path / "sessions", path / "archived_sessions"]
    roots = [one for one in homes if one.is_dir()] if homes[0].is_dir() else [path]
    found: set[Path] = set()
    for root in roots:
        for folder, _, names in os.walk(root):
            found.update(Path(folder, name) for name in names if is_rollout_name(name))
    return sorted(
        one
        for one in found
        if one.is_file()
        and not one.is_symlink()
        and not (one.name.endswith(_PACKED) and one.with_suffix("") in found)
    )


def thread_id_of(path: Path) -> ThreadId | None:
    """The thread id in a rollout's file name, read from the right; None when there is none."""
    stem = path.name.removesuffix(".zst").removesuffix(_PLAIN)
    try:
        return ThreadId(str(UUID(stem[-36:]))) if stem[-37:-36] == "-" else None
    except ValueError:
        return None


def locate(home: Home, thread_id: ThreadId) -> Path:
    """The file of a thread, found by name; for a home whose index is lost.

    Raises: RolloutMissing.
    """
    for root in (home.sessions, home.archived_sessions):
        for path in find_rollouts(root) if root.is_dir() else []:
            if thread_id_of(path) == thread_id:
                return path
    raise RolloutMissing(thread_id)


def is_rollout_name(name: str) -> bool:
    """Whether a file of that name is a transcript, plain or compressed."""
    return name.startswith(_PREFIX) and name.endswith((_PLAIN, _PACKED))


def _skip_to_next_line(file: BinaryIO) -> int:
    """How many bytes were left of the line."""
    passed = 0
    while rest := file.readline(1_048_576):
        passed += len(rest)
        if rest.endswith(b"\n"):
            break
    return passed


def _parse(data: bytes, number: int, offset: int) -> RolloutLine | SkippedLine:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return SkippedLine(number, "not valid JSON")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return SkippedLine(number, "not a rollout line")
    if value["type"] not in LINE_TYPES:
        return SkippedLine(number, "of a type not known here")
    line = RolloutLine.parse(value, line_number=number, size=len(data), offset=offset)
    return line or SkippedLine(number, "not a rollout line")


def _ends_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _last_ordinal(path: Path) -> int:
    """The highest ordinal near the end of the file, or -1 where lines carry none."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        tail = b""
        while start > 0 and len(tail) <= 2 * LINE_BYTES_MAX:
            block = min(max(_TAIL_BLOCK_BYTES, len(tail)), start)
            start -= block
            file.seek(start)
            tail = file.read(block) + tail
            lines = tail.split(b"\n")
            whole = lines if start == 0 else lines[1:]
            found = [one for data in whole if (one := _ordinal(data)) is not None]
            if found:
                return max(found)
    return -1


def _ordinal(data: bytes) -> int | None:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    ordinal = value.get("ordinal") if isinstance(value, dict) else None
    return ordinal if isinstance(ordinal, int) else None
