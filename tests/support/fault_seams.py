"""Where what lasts is written: each such call is a point that can be counted, failed or killed.

Run as: python fault_seams.py OPERATION HOME FOLDER. For each point of the operation a copy of the
home is made in the folder, and a process ends as by kill -9 exactly there; the points are printed.
"""

import asyncio
import errno
import json
import os
import pathlib
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

_CHANGES = re.compile(r"^\s*(?:--[^\n]*\n)*\s*(insert|update|delete)\b", re.IGNORECASE)
_VARIES = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}|[0-9a-f]{8,}|tmp[\w-]+|\d+")
_SQLITE = {errno.EIO: sqlite3.SQLITE_IOERR, errno.ENOSPC: sqlite3.SQLITE_FULL}
_NEEDS_ROOM = ("write", "pwrite", "open", "mkdir", "link", "fsync", "run", "commit")
"""Calls that a full disk fails; the others only a broken one."""

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

    def failing(self, number: int) -> "Seams":
        """With this error of the system at the point."""

        def fail() -> None:
            assert self._at is not None
            if self._at[0].split(" ")[0] in ("run", "commit"):
                error = sqlite3.OperationalError(os.strerror(number))
                error.sqlite_errorcode = _SQLITE[number]
                raise error
            raise OSError(number, os.strerror(number))

        self._act = fail
        return self

    def killing(self) -> "Seams":
        """With a kill at the point."""
        self._act = kill_this_process
        return self

    def come(self, name: str) -> None:
        """A call of this name is about to happen."""
        point = (name, self._counts[name])
        self._counts[name] += 1
        self.points.append(point)
        if point == self._at and not self.hit:
            self.hit = True
            self._act()

    async def step(self, name: str) -> None:
        """A durable step announced itself."""
        self.come(f"step {name}")

    def path(self, kind: str, path: Any, dir_fd: int | None) -> None:
        """A call about a path, if that lies in the home."""
        whole = _of_descriptor(path) if isinstance(path, int) else os.fsdecode(path)
        if dir_fd is not None:
            whole = os.path.join(_of_descriptor(dir_fd), whole)
        if whole.startswith(self._home) and not whole.startswith(f"{self._home}/state.sqlite"):
            self.come(f"{kind} {_VARIES.sub('*', whole.removeprefix(self._home))}")

    @property
    def distinct(self) -> list[Point]:
        """Every statement, commit, exchange and step; of calls on like files the first."""
        each = ("run", "commit", "exchange", "step")
        return [one for one in self.points if one[1] == 0 or one[0].split(" ")[0] in each]


def takes(point: Point, number: int) -> bool:
    """Whether this error can come at this point."""
    kind = point[0].split(" ")[0]
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
    put(pathlib.Path, "open", lambda former: _path_open_seam(former, seams))
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
        seams.path(kind, path, named.get("dir_fd"))
        return former(path, *rest, **named)

    return call


def _os_open_seam(former: Any, seams: Seams) -> Any:
    def call(path: Any, flags: int, *rest: Any, **named: Any) -> Any:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seams.path("open", path, named.get("dir_fd"))
        return former(path, flags, *rest, **named)

    return call


def _path_open_seam(former: Any, seams: Seams) -> Any:
    def call(self: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if set(mode) & set("wax+"):
            seams.path("open", self, None)
        return former(self, mode, *rest, **named)

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
        copy = folder / str(number)
        shutil.copytree(home, copy)
        if (child := os.fork()) == 0:
            with installed(Seams(copy, (name, count)).killing()) as seams:
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
