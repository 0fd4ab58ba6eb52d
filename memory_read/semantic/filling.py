"""Makes the vectors of units that have none, behind everything else.

One thread of low priority does the work, one window at a time; what is made is kept in small
transactions, so that a crash costs the last few. Invariant: a vector is only kept for a unit whose
bytes, read from its file, are those that were indexed, and secrets are masked before a model sees
the text.
"""

import asyncio
import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from memory_read.semantic.embedder import Embedder, Window
from state.errors import PathRefused, StateError
from state.policy.redaction import redact
from state.recovery import State
from state.stores.vectors import BareUnit, UnitVectors, VectorStore
from state.workspace.passages import Passage, read_passages
from state.workspace.root import ConfinedRoot

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Told the version, how many units have vectors, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FillingLimits:
    """Bounds of the work on vectors."""

    units_per_batch: int = 16
    """So many are kept in one transaction; a crash costs them at most."""
    windows_per_unit: int = 40
    """The longest unit has about 4,000 tokens."""
    units_max: int = 200_000
    """Of a version; what comes later is found by its words alone. 77 MB of memory."""
    remembered_max: int = 8_192
    """Vectors of texts that were just taken out, for the same texts in a new place."""
    files_noted_max: int = 20_000
    """Of which it is known when they got vectors; each consolidation brings new files."""
    told_every: int = 64
    """Units."""
    niceness: int = 10


FILLING_LIMITS = FillingLimits()


class VectorFilling:
    """The work for every version of one home; one object for a process."""

    def __init__(
        self,
        state: State,
        embedder: Embedder,
        tell: Progress | None = None,
        limits: FillingLimits = FILLING_LIMITS,
    ) -> None:
        self._state = state
        self._embedder = embedder
        self._tell = tell
        self._limits = limits
        self._store = VectorStore()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._made: OrderedDict[int, int] = OrderedDict()
        self.made_in_all = 0
        """Grows whenever units got vectors."""
        self._rested: dict[str, int] = {}
        """Of how many units there were, when nothing was left to do."""
        self._thread: ThreadPoolExecutor | None = None
        self._working = asyncio.Lock()
        self._closed = self._failed = False

    @property
    def failed(self) -> bool:
        """Whether the model cannot be used in this process."""
        return self._failed

    async def count(self, version: str) -> tuple[int, int]:
        """How many units a version has, and how many of them have vectors.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        return await self._store.count(self._state.database, version, self._embedder.model_id)

    def made(self, file_id: int) -> int:
        """A number that changes whenever units of a file got vectors, or that was long ago."""
        return self._made.get(file_id, 0)

    def follow(self, version: str) -> None:
        """Units of this version may have no vectors; returns at once."""
        if self._closed or self._failed:
            return
        if self._is_under_way(version):
            self._again.add(version)
            return
        self._tasks[version] = asyncio.create_task(self._work(version), name=f"vectors {version}")

    def is_behind(self, version: str, *, units: int) -> bool:
        """Whether a version of so many units will get more vectors than it has; work begins then.

        What is beyond the bound gets none, and nobody waits for it.
        """
        if self._closed or self._failed or self._rested.get(version) == units:
            return self._is_under_way(version)
        self.follow(version)
        return True

    async def finished(self, version: str) -> None:
        """Wait until the work that goes on for a version has ended."""
        task = self._tasks.get(version)
        if task is not None:
            await asyncio.wait({task})

    def _is_under_way(self, version: str) -> bool:
        task = self._tasks.get(version)
        return task is not None and not task.done()

    async def remember(self, file_id: int) -> None:
        """A file is about to be indexed anew: what stays in it need not be embedded again."""
        for one in await self._store.of_files(
            self._state.database, self._embedder.model_id, [file_id]
        ):
            self._keep(one.mark, one.windows)

    async def close(self) -> None:
        """End all work; it goes on at the next start."""
        self._closed = True
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._thread is not None:
            # One window at most is under way in it.
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _note_made(self, file_id: int) -> None:
        # Of all files together, so that a number never comes again after it was forgotten.
        self._made[file_id] = self.made_in_all
        self._made.move_to_end(file_id)
        while len(self._made) > self._limits.files_noted_max:
            self._made.popitem(last=False)

    def _keep(self, mark: bytes, windows: bytes) -> None:
        self._kept[mark] = windows
        while len(self._kept) > self._limits.remembered_max:
            self._kept.popitem(last=False)

    async def _work(self, version: str) -> None:
        try:
            while True:
                self._again.discard(version)
                async with self._working:
                    await self._fill(version)
                if version not in self._again:
                    break
        except (StateError, OSError) as error:
            # Words find meanwhile; the next look at the index tries again.
            log.warning("vectors of %s are behind: %s", version, error)
        if len(self._again) == 0:
            self._kept.clear()

    async def _fill(self, version: str) -> None:
        store, database, limits = self._store, self._state.database, self._limits
        model = self._embedder.model_id
        units, held = await self.count(version)
        room = limits.units_max - held
        last: BareUnit | None = None
        while room > 0:
            most = min(limits.units_per_batch, room)
            bare = await store.without(database, version, model, behind=last, most=most)
            if not bare:
                break
            last = bare[-1]
            made = await self._embedded(version, bare)
            if made is None:
                self._failed = True
                return
            async with database.writing() as tx:
                await store.add(tx, model, made)
            self.made_in_all += len(made)
            for file_id in {one.file_id for one in made}:
                self._note_made(file_id)
            room -= len(made)
            told, held = held // limits.told_every, held + len(made)
            if self._tell is not None and held // limits.told_every > told:
                self._tell(version, held, units)
        self._rested[version] = units

    async def _embedded(self, version: str, bare: Sequence[BareUnit]) -> list[UnitVectors] | None:
        """Vectors of those that still stand; None where the model cannot be used."""
        made: list[UnitVectors] = []
        texts = await asyncio.to_thread(self._texts, version, bare)
        for one, text in zip(bare, texts, strict=True):
            if text is None:
                continue  # its file changed: the index comes to it again, and then to us
            windows = self._kept.get(one.mark)
            if windows is None:
                windows = await self._vectors(text)
                if windows is None:
                    return None
            made.append(
                UnitVectors(
                    unit_id=one.unit_id, mark=one.mark, windows=windows, file_id=one.file_id
                )
            )
        return made

    async def _vectors(self, text: str) -> bytes | None:
        found: list[bytes] = []
        aside, thread = asyncio.get_running_loop().run_in_executor, self._own_thread()
        for window in await aside(thread, self._windows, text) or ():
            vector = await aside(thread, self._embedder.vector, window)
            if vector is None:
                return None
            found.append(vector)
        return b"".join(found) or None

    def _windows(self, text: str) -> Sequence[Window] | None:
        return self._embedder.windows(text, most=self._limits.windows_per_unit)

    def _own_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(
                1, "vectors", initializer=_stand_back, initargs=(self._limits.niceness,)
            )
        return self._thread

    def _texts(self, version: str, bare: Sequence[BareUnit]) -> list[str | None]:
        """What the units say now, masked; blocks on files."""
        root = ConfinedRoot(self._state.home.memories(version))
        found: dict[int, str] = {}
        for path, stamp in dict.fromkeys((one.path, one.stamp) for one in bare):
            units = [one for one in bare if one.path == path]
            passages = [Passage(one.begin_byte, one.end_byte, one.mark) for one in units]
            try:
                pieces = read_passages(root, path, passages, stamp=stamp)
            except (PathRefused, OSError):
                pieces = None
            for one, piece in zip(units, pieces or (), strict=pieces is not None):
                if piece is not None:
                    found[one.unit_id] = embedded_text(piece.decode(errors="replace"))
        return [found.get(one.unit_id) for one in bare]


def embedded_text(text: str) -> str:
    """What a model is given of a unit: without secrets, and without the mark of a list."""
    return redact(text).strip().removeprefix("- ").strip()


def _stand_back(niceness: int) -> None:
    """Let other work of this machine go first, where a thread alone can."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        if os.getpriority(os.PRIO_PROCESS, thread) < niceness:
            os.setpriority(os.PRIO_PROCESS, thread, niceness)
