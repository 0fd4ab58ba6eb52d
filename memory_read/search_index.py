"""Keeps the index of ranked search at what stands in the memory folders.

It follows the files themselves: whoever changed them, the next look sees it by their stamps, reads
those files again, and indexes anew what differs. Invariant: the index is never the truth. A file
whose units are not all there, or that changed since, counts as not indexed; after a crash the work
goes on where it was, and an index that is damaged or of other stems is made anew.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from memory_read.searched_files import chunks_of, first_ones, rows_of, stamps_of
from memory_read.units import Unit, cut_units
from memory_read.wording import MADE_BY
from state.database import Database
from state.errors import DatabaseBroken, PathRefused, StateError
from state.home import Home
from state.recovery import State
from state.stores.search import VERSIONS, IndexedFile, SearchStore
from state.workspace.passages import read_whole, size_of
from state.workspace.root import FILE_BYTES_MAX, ConfinedRoot

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Told the version, how many files are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLimits:
    """Bounds of the work on the index."""

    units_per_transaction: int = 100
    """About 15 ms of the writer (measured)."""
    pages_per_sweep: int = 64
    """About 10 ms of the writer (measured)."""
    bytes_awaited_max: int = 262_144
    """Changes of up to so many bytes are indexed before an answer."""
    files_awaited_max: int = 64
    awaited_s: float = 1.0
    settled_s: float = 5.0


INDEX_LIMITS = IndexLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the index of a version stands to its folder at one look."""

    stamps: dict[str, str]
    """Of every file that can be found by a search."""
    files: dict[str, IndexedFile]
    """Those of them that the index holds as they are."""
    missing: tuple[str, ...] = ()
    """The others."""

    @property
    def units(self) -> int:
        """Units that are indexed."""
        return sum(file.units for file in self.files.values())

    @property
    def words(self) -> int:
        """Their stems."""
        return sum(file.words for file in self.files.values())


@dataclass(slots=True)
class _Following:
    """The work that goes on for one version."""

    task: "asyncio.Task[None] | None" = None
    again: bool = False
    files: dict[str, IndexedFile] = field(default_factory=dict)
    loaded: bool = False
    littered: bool = True


class SearchIndex:
    """The index of every version of one home; one object for a process."""

    def __init__(
        self, state: State, tell: Progress | None = None, limits: IndexLimits = INDEX_LIMITS
    ) -> None:
        self._home: Home = state.home
        self._database: Database = state.database
        self._tell = tell
        self._limits = limits
        self._store = SearchStore()
        self._following = {version: _Following() for version in VERSIONS}
        self._closed = False
        # One version after the other: whoever makes the index anew must not meet one who fills it.
        self._working = asyncio.Lock()
        self._distrusted = False

    @property
    def store(self) -> SearchStore:
        """Its rows."""
        return self._store

    async def look(self, version: str) -> Standing:
        """Compare the index with the folder; small changes are indexed before this returns.

        Raises: PathRefused, OSError, DatabaseBusy, DatabaseUnusable.
        """
        stamps = await asyncio.to_thread(stamps_of, self._home, version)
        standing = await self._standing(version, stamps)
        following = self._following[version]
        if not standing.missing and not self._gone(version, stamps) and not following.littered:
            return standing
        task = self._follow(version)
        if task is not None and self._is_small(standing):
            await asyncio.wait({task}, timeout=self._limits.awaited_s)
            standing = await self._standing(version, stamps)
        return standing

    async def settle(self) -> None:
        """Bring every version up to date to the end, and deleted words out of the database's file.

        What takes longer than its bound goes on behind. Failures are logged: what could not be
        done is done at the next look.
        """
        tasks = {task for version in VERSIONS if (task := self._follow(version)) is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=self._limits.settled_s)

    async def finished(self, version: str) -> None:
        """Wait until the work that goes on for a version has ended."""
        task = self._following[version].task
        if task is not None:
            await asyncio.wait({task})

    def nudge(self) -> None:
        """Something may have changed; returns at once."""
        for version in VERSIONS:
            self._follow(version)

    def distrust(self) -> None:
        """The index could not be read: it is made anew behind."""
        self._distrusted = True
        self.nudge()

    async def close(self) -> None:
        """End all work; it goes on at the next start."""
        self._closed = True
        tasks = [one.task for one in self._following.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_small(self, standing: Standing) -> bool:
        missing = standing.missing
        total = sum(size_of(standing.stamps[path]) for path in missing)
        limits = self._limits
        return len(missing) <= limits.files_awaited_max and total <= limits.bytes_awaited_max

    async def _standing(self, version: str, stamps: dict[str, str]) -> Standing:
        known = await self._known(version)
        files: dict[str, IndexedFile] = {}
        missing: list[str] = []
        for path, stamp in stamps.items():
            file = known.get(path)
            if file is not None and file.stamp == stamp:
                files[path] = file
            else:
                missing.append(path)
        return Standing(stamps=stamps, files=files, missing=tuple(missing))

    def _gone(self, version: str, stamps: dict[str, str]) -> bool:
        return any(path not in stamps for path in self._following[version].files)

    async def _known(self, version: str) -> dict[str, IndexedFile]:
        following = self._following[version]
        if not following.loaded:
            await self._load(version)
        return following.files

    async def _load(self, version: str) -> None:
        following = self._following[version]
        async with self._database.reading() as read:
            made_by = await self._store.made_by(read)
            if not await self._store.is_sound(read):
                made_by = ""
            following.files = await self._store.files(read, version) if made_by == MADE_BY else {}
            following.littered = made_by != MADE_BY or await self._store.is_littered(read)
        following.loaded = True

    def _follow(self, version: str) -> "asyncio.Task[None] | None":
        """The task that brings a version up to date; one that runs looks once more at its end."""
        following = self._following[version]
        if self._closed:
            return None
        if following.task is None or following.task.done():
            following.task = asyncio.create_task(
                self._work(version), name=f"search index {version}"
            )
        else:
            following.again = True
        return following.task

    async def _work(self, version: str) -> None:
        following = self._following[version]
        try:
            while True:
                following.again = False
                async with self._working:
                    try:
                        await self._catch_up(version)
                    except DatabaseBroken:
                        log.warning("the search index is damaged and is made anew")
                        await self._clear()
                        await self._catch_up(version)
                if not following.again:
                    return
        except (StateError, OSError) as error:
            # A search reads the files themselves meanwhile; the next look tries again.
            log.warning("the search index of %s is behind: %s", version, error)

    async def _clear(self) -> None:
        async with self._database.writing() as tx:
            await self._store.clear(tx, MADE_BY)
        self._distrusted = False
        for following in self._following.values():
            following.loaded, following.files = False, {}

    async def _catch_up(self, version: str) -> None:
        following = self._following[version]
        async with self._database.reading() as read:
            made_by = await self._store.made_by(read)
            is_sound = await self._store.is_sound(read)
        if made_by != MADE_BY or not is_sound or self._distrusted:
            await self._clear()
        await self._load(version)
        stamps = await asyncio.to_thread(stamps_of, self._home, version)
        for path in [path for path in following.files if path not in stamps]:
            await self._remove(version, path)
        stale = [
            path
            for path in sorted(stamps, key=first_ones)
            if (file := following.files.get(path)) is None or file.stamp != stamps[path]
        ]
        for done, path in enumerate(stale):
            self._told(version, done, len(stale))
            await self._index(version, path)
        if stale:
            self._told(version, len(stale), len(stale))
        await self._sweep(following)

    def _told(self, version: str, done: int, total: int) -> None:
        if self._tell is not None and total > self._limits.files_awaited_max:
            self._tell(version, done, total)

    async def _remove(self, version: str, path: str) -> None:
        """Take out a file that is not there any more."""
        following = self._following[version]
        file = following.files.pop(path)
        most = self._limits.units_per_transaction
        following.littered = True
        while True:
            async with self._database.writing() as tx:
                await self._store.open_file(tx, version, path)
                if await self._store.drop_units(tx, file.file_id, most=most) < most:
                    await self._store.drop_file(tx, file.file_id)
                    return

    async def _index(self, version: str, path: str) -> None:
        """Make a file's units those of the bytes it holds now."""
        following = self._following[version]
        former = following.files.get(path)
        root = ConfinedRoot(self._home.memories(version))
        try:
            stamp, data = await asyncio.to_thread(read_whole, root, path, bytes_max=FILE_BYTES_MAX)
        except (PathRefused, OSError):
            # Gone meanwhile, or of no kind that anyone may read: it has no units.
            if former is not None:
                await self._remove(version, path)
            return
        digest = hashlib.blake2b(data, digest_size=32).digest()
        if former is not None and former.stamp and former.digest == digest:
            async with self._database.writing() as tx:
                await self._store.restamp(tx, former.file_id, stamp)
            following.files[path] = replace(former, stamp=stamp)
        else:
            following.files.pop(path, None)
            units = await asyncio.to_thread(cut_units, data, path=path)
            following.files[path] = await self._replace(
                version, path, units, data, stamp=stamp, digest=digest
            )

    async def _replace(
        self,
        version: str,
        path: str,
        units: Sequence[Unit],
        data: bytes,
        *,
        stamp: str,
        digest: bytes,
    ) -> IndexedFile:
        """Remove the former units and add these, in transactions of bounded length."""
        most, words = self._limits.units_per_transaction, 0
        file_id, first = await self._emptied(version, path)
        chunks = list(chunks_of(units, most)) or [()]
        for number, chunk in enumerate(chunks):
            rows = await asyncio.to_thread(rows_of, chunk, data)
            words += sum(row.length for row in rows)
            async with self._database.writing() as tx:
                begin = first + number * most
                await self._store.add_units(tx, file_id, rows, first_unit=begin)
                if number == len(chunks) - 1:
                    await self._store.close_file(
                        tx,
                        file_id,
                        stamp=stamp,
                        digest=digest,
                        first_unit=first,
                        units=len(units),
                        words=words,
                    )
        return IndexedFile(
            file_id=file_id,
            path=path,
            stamp=stamp,
            digest=digest,
            units=len(units),
            words=words,
        )

    async def _emptied(self, version: str, path: str) -> tuple[int, int]:
        """A file without units, and the id of its first one to come."""
        most = self._limits.units_per_transaction
        while True:
            async with self._database.writing() as tx:
                file_id = await self._store.open_file(tx, version, path)
                dropped = await self._store.drop_units(tx, file_id, most=most)
                if dropped:
                    self._following[version].littered = True
                if dropped < most:
                    return file_id, await self._store.next_unit(tx, version)

    async def _sweep(self, following: _Following) -> None:
        """Work deleted words out of the index, then out of the log; a crash leaves the mark."""
        async with self._database.reading() as read:
            following.littered = await self._store.is_littered(read)
        if not following.littered:
            return
        swept, anew = False, True
        while not swept:
            async with self._database.writing() as tx:
                swept = await self._store.sweep(tx, pages=self._limits.pages_per_sweep, anew=anew)
            anew = False
        # A reader in the way keeps old pages alive: the next look tries again.
        if await self._database.fold_log():
            async with self._database.writing() as tx:
                await self._store.set_swept(tx)
            following.littered = False
