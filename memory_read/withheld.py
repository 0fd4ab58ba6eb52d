"""What of the files of memory may be read while words of withdrawn threads still stand in them.

A withdrawal is committed at once and carried out behind it; in between this decides. Invariant:
only lines that are known to be left without the withdrawn threads are shown, so a file that
changed, a piece of a line and a file that cannot be judged show too little and never too much.
Notes and what else lies in an inbox are nobody's of these threads and stay. Blocks on files.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from state.errors import PathRefused, WorkspaceUnsafe
from state.ids import ThreadId
from state.stores.withheld import Marks, Withheld
from state.workspace.layout import EXTENSIONS
from state.workspace.repo import Baseline

log = logging.getLogger(__name__)

WITHDRAWN = "[withheld: the session that said this was taken out of memory]"

Lines = Mapping[str, frozenset[str]]
"""By path the lines of a file, without the blanks around them."""
Judge = Callable[[str, frozenset[ThreadId]], Lines]
"""What is left of a version without these threads.

Raises: OSError, WorkspaceUnsafe, PathRefused.
"""


@dataclass(frozen=True, slots=True)
class Left:
    """What of a memory folder stands without the threads that were withdrawn."""

    lines: Lines
    places: frozenset[str]
    """Its files and their folders."""
    threads: frozenset[ThreadId]
    """Who was withdrawn."""

    def stands(self, line: str, *, path: str) -> bool:
        """Whether a line of that file may be read."""
        place = _place(path)
        return _is_of_inbox(place) or line.strip() in self.lines.get(place, _NOTHING)

    def hides(self, path: str) -> bool:
        """Whether there is no such file or folder without the withdrawn threads."""
        place = _place(path)
        return not _is_of_inbox(place) and place not in self.places


_NOTHING: frozenset[str] = frozenset()


class ReadGate:
    """Answers for every reader of one home, from any thread."""

    def __init__(self, withheld: Withheld, judge: Judge, folder_of: Callable[[str], Path]) -> None:
        """`folder_of` tells where the memory of a version lies."""
        self._withheld = withheld
        self._judge = judge
        self._folder_of = folder_of
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Marks, str, Left]] = {}
        self._judging: dict[str, asyncio.Task[Left | None]] = {}

    async def ready(self, version: str) -> None:
        """Have it judged what may be read, in one thread for all who ask; for the event loop.

        Without it whoever reads first judges, and each further reader keeps a thread waiting.
        """
        if not self._withheld.of(version):
            return
        task = self._judging.get(version)
        if task is None or task.done():
            task = asyncio.create_task(asyncio.to_thread(self.left, version))
            self._judging[version] = task
        await asyncio.wait({task})

    def left(self, version: str) -> Left | None:
        """What may be read of it; None where all may, which costs one look."""
        marks = self._withheld.of(version)
        if not marks:
            return None
        with self._lock:
            published = Baseline(self._folder_of(version)).stamp()
            known = self._known.get(version)
            if known is not None and known[0] is marks and known[1] == published:
                return known[2]
            left = left_of(self._judged(version, frozenset(marks)), frozenset(marks))
            self._known[version] = (marks, published, left)
            return left

    def _judged(self, version: str, threads: frozenset[ThreadId]) -> Lines:
        try:
            return self._judge(version, threads)
        except (OSError, PathRefused, WorkspaceUnsafe) as error:
            log.warning("memory %s is withheld until it can be judged: %s", version, error)
            return {}


def left_of(lines: Lines, threads: frozenset[ThreadId]) -> Left:
    """The same with its folders."""
    parts = [path.split("/") for path in lines]
    places = {"/".join(one[:depth]) for one in parts for depth in range(len(one) + 1)}
    return Left(lines, frozenset(places), threads)


def _place(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _is_of_inbox(place: str) -> bool:
    return place == EXTENSIONS or place.startswith(f"{EXTENSIONS}/")


OPEN = ReadGate(Withheld(), lambda version, threads: {}, Path)
"""Of a memory from which nobody is withdrawn."""
