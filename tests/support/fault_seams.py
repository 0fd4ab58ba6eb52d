"""Where what lasts is written: each such call is a point that can be counted, failed or killed.

A write is a point too if a file object makes it, and may put down half of its bytes: then it says
so and the rest follows, or the disk is full, or the process ends.

Run as: python fault_seams.py OPERATION HOME FOLDER. For each point of the operation a copy of the
home is made in the folder, and a process ends as by kill -9 exactly there; the points are printed.
"""

import asyncio
import builtins
import errno
import io
import json
import os
import re
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from state.database import Database, Reading, Transaction
from state.named_queries import Query
from state.workspace import staging
from tests.support.faults import kill_this_process

Point = tuple[str, int]
"""A call by its name and by how often that name came before."""
SHORT, TORN = -1, -2
"""In the place of an error: half is written and the count says so; half, and the disk is full."""

_CHANGES = re.compile(r"^\s*(?:--[^\n]*\n)*\s*(insert|update|delete)\b", re.IGNORECASE)
_VARIES = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}|[0-9a-f]{8,}|tmp[\w-]+|\d+")
_SQLITE = {errno.EIO: sqlite3.SQLITE_IOERR, errno.ENOSPC: sqlite3.SQLITE_FULL}
_NEEDS_ROOM = ("write", "pwrite", "open", "mkdir", "link", "fsync", "run", "commit")
"""Calls that a full disk fails; the others only a broken one."""

_WRITES = ("write", "pwrite")
_CALLS = (
    *("write", "pwrite", "fsync", "rename", "replace", "link", "unlink", "rmdir", "mkdir"),
    *("truncate", "ftruncate"),
)


class Seams:
    """Sees every point below a home; does something at one of them."""

    def __init__(self, home: Path, at: Point | None = None) -> None:
        self.points: list[Point] = []
        self.hit = False
        self._home = str(home)
        self._at = at
        self._counts: Counter[str] = Counter()
        self._act: Callable[[], object] = lambda: None
        self._halved = False
        self._full: str | None = None

    def failing(self, number: int) -> "Seams":
        """With this error of the system at the point."""

        if number in (SHORT, TORN):
            self._halved = True
            self._act = (lambda: self._fill()) if number == TORN else (lambda: None)
            return self

        def fail() -> None:
            assert self._at is not None
            if self._at[0].split(" ")[0] in ("run", "commit"):
                error = sqlite3.OperationalError(os.strerror(number))
                error.sqlite_errorcode = _SQLITE[number]
                raise error
            raise OSError(number, os.strerror(number))

        self._act = fail
        return self

    def killing(self, *, halved: bool = False) -> "Seams":
        """With a kill at the point, or behind half of a write."""
        self._act = kill_this_process
        self._halved = halved
        return self

    def come(self, name: str) -> bool:
        """A call of this name is about to happen; whether only half of it may."""
        if name == self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        point = (name, self._counts[name])
        self._counts[name] += 1
        self.points.append(point)
        if point != self._at or self.hit:
            return False
        self.hit = True
        if not self._halved:
            self._act()
        return self._halved

    def halved(self) -> None:
        """Half of a write is on the disk."""
        self._act()

    def _fill(self) -> None:
        assert self._at is not None
        self._full = self._at[0]

    async def step(self, name: str) -> None:
        """A durable step announced itself."""
        self.come(f"step {name}")

    def path(self, kind: str, path: Any, dir_fd: int | None) -> bool:
        """A call about a path, if that lies in the home; whether only half of it may happen."""
        whole = _of_descriptor(path) if isinstance(path, int) else os.fsdecode(path)
        if dir_fd is not None:
            whole = os.path.join(_of_descriptor(dir_fd), whole)
        if whole.startswith(self._home) and not whole.startswith(f"{self._home}/state.sqlite"):
            return self.come(f"{kind} {_VARIES.sub('*', whole.removeprefix(self._home))}")
        return False

    @property
    def distinct(self) -> list[Point]:
        """Every statement, commit, exchange and step; of calls on like files the first."""
        each = ("run", "commit", "exchange", "step")
        return [one for one in self.points if one[1] == 0 or one[0].split(" ")[0] in each]


def takes(point: Point, number: int) -> bool:
    """Whether this error can come at this point."""
    kind = point[0].split(" ")[0]
    if number in (SHORT, TORN):
        return kind in _WRITES
    return kind != "step" and (number != errno.ENOSPC or kind in _NEEDS_ROOM)


@contextmanager
def installed(seams: Seams) -> Iterator[Seams]:
    """All seams in place; one at a time."""
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        former = getattr(owner, name)
        undo.append((owner, name, former))
        setattr(owner, name, made(former))

    put(Transaction, "run", lambda former: _run_seam(former, seams))
    put(Transaction, "run_each", lambda former: _run_each_seam(former, seams))
    put(Reading, "all", lambda former: _all_seam(former, seams))
    put(Database, "_commit", lambda former: _commit_seam(former, seams))
    for name in _CALLS:
        put(os, name, partial(_os_seam, seams=seams, kind=name))
    put(os, "open", lambda former: _os_open_seam(former, seams))
    # What `Path.open` and `os.fdopen` call, and what code calls by the bare name.
    for owner in (io, builtins):
        put(owner, "open", lambda former: _open_seam(former, seams))
    put(staging, "exchange", lambda former: _exchange_seam(former, seams))
    try:
        yield seams
    finally:
        for owner, name, former in reversed(undo):
            setattr(owner, name, former)


def _run_seam(former: Any, seams: Seams) -> Any:
    async def run(self: Transaction, query: Query, /, **parameters: Any) -> Any:
        seams.come(f"run {query.name}")
        return await former(self, query, **parameters)

    return run


def _run_each_seam(former: Any, seams: Seams) -> Any:
    async def run_each(self: Transaction, query: Query, rows: Any, /) -> None:
        seams.come(f"run {query.name}")
        await former(self, query, rows)

    return run_each


def _all_seam(former: Any, seams: Seams) -> Any:
    async def all_rows(self: Reading, query: Query, /, **parameters: Any) -> Any:
        if _CHANGES.match(query.sql):
            seams.come(f"run {query.name}")
        return await former(self, query, **parameters)

    return all_rows


def _commit_seam(former: Any, seams: Seams) -> Any:
    async def commit(self: Database) -> None:
        seams.come("commit before")
        await former(self)
        # A commit that the disk took cannot fail any more; a kill may come right after it.
        seams.come("step committed")

    return commit


def _os_seam(former: Any, seams: Seams, kind: str) -> Any:
    def call(path: Any, *rest: Any, **named: Any) -> Any:
        if seams.path(kind, path, named.get("dir_fd")) and kind in _WRITES:
            written = former(path, _half(rest[0]), *rest[1:])
            seams.halved()
            return written
        return former(path, *rest, **named)

    return call


def _half(data: Any) -> bytes:
    whole = bytes(data)
    return whole[: (len(whole) + 1) // 2]


def _os_open_seam(former: Any, seams: Seams) -> Any:
    def call(path: Any, flags: int, *rest: Any, **named: Any) -> Any:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seams.path("open", path, named.get("dir_fd"))
        return former(path, flags, *rest, **named)

    return call


class _SeenWrites(io.FileIO):
    """A file whose writes are points; the objects above it call nothing else to write."""

    def __init__(self, file: Any, mode: str, seams: Seams, **more: Any) -> None:
        self._seams = seams
        super().__init__(file, mode, **more)

    def write(self, data: Any, /) -> int:
        """As far as the point allows."""
        if not self._seams.path("write", self.fileno(), None):
            return super().write(data)
        written = super().write(_half(data))
        self._seams.halved()
        return written


def _open_seam(former: Any, seams: Seams) -> Any:
    def call(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        **more: Any,
    ) -> Any:
        if not set(mode) & set("wax+"):
            return former(file, mode, buffering, encoding, errors, newline, **more)
        if not isinstance(file, int):
            seams.path("open", file, None)
        raw = _SeenWrites(file, mode.replace("b", "").replace("t", ""), seams, **more)
        if buffering == 0:
            return raw
        made: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return made if "b" in mode else io.TextIOWrapper(made, encoding, errors, newline)

    return call


def _exchange_seam(former: Any, seams: Seams) -> Any:
    def call(one: Path, other: Path) -> None:
        seams.come("exchange")
        former(one, other)
        seams.come("step exchanged")

    return call


def _of_descriptor(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


Operation = Callable[[Path, Seams], Awaitable[None]]


def sweep_kills(operation: Operation, home: Path, folder: Path) -> dict[str, Point]:
    """Kill once at each point; which copy of the home was killed where."""
    counted = Seams(folder / "counted")
    shutil.copytree(home, folder / "counted")
    if (child := os.fork()) == 0:
        with installed(counted):
            asyncio.run(operation(folder / "counted", counted))  # type: ignore[arg-type]
        (folder / "points.json").write_text(json.dumps(counted.distinct))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the operation failed without a fault"
    killed: dict[str, Point] = {}
    for number, (name, count) in enumerate(json.loads((folder / "points.json").read_text())):
        for halved in (False, True)[: 1 + takes((name, count), SHORT)]:
            copy = folder / f"{number}{'-halved' * halved}"
            shutil.copytree(home, copy)
            if (child := os.fork()) == 0:
                with installed(Seams(copy, (name, count)).killing(halved=halved)) as seams:
                    asyncio.run(operation(copy, seams))  # type: ignore[arg-type]
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            if os.WIFSIGNALED(status):
                killed[copy.name] = (name, count)
            else:
                assert os.WEXITSTATUS(status) == 0
    return killed


if __name__ == "__main__":
    from tests.support.swept_operations import OPERATIONS

    found = sweep_kills(OPERATIONS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]))
    print(json.dumps(found))
