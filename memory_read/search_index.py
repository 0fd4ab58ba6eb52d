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

from memory_read.index_standing import INDEX_LIMITS, IndexLimits, Standing, standing_of
from memory_read.searched_files import chunks_of, first_ones, is_searched, rows_of
from memory_read.semantic.filling import VectorFilling
from memory_read.units import Unit, cut_units
from memory_read.wording import MADE_BY
from state.database import Database
from state.errors import DatabaseBroken, PathRefused, StateError
from state.home import Home
from state.recovery import State
from state.stores.search import VERSIONS, IndexedFile, SearchStore
from state.workspace.passages import read_whole, size_of
from state.workspace.root import FILE_BYTES_MAX, ConfinedRoot
from state.workspace.watched import Stamps, WatchedFolder

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Told the version, how many files are done, and of how many."""


@dataclass(slots=True)
class _Following:
    """The work that goes on for one version, and what is known of it."""

    watched: WatchedFolder
    task: "asyncio.Task[None] | None" = None
    again: bool = False
    caught_up: "asyncio.Future[None] | None" = None
    """Done when the work that goes on has indexed every file, whatever it does then."""
    files: dict[str, IndexedFile] = field(default_factory=dict)
    """Changed by `put` and `take` alone, so that a standing is known to be of now."""
    loaded: bool = False
    littered: bool = True
    standing: Standing | None = None
    """As long as neither files nor stamps change."""
    walked_s: float = 0.0

    def put(self, path: str, file: IndexedFile) -> None:
        """The index holds this."""
        self.files[path] = file
        self.standing = None

    def take(self, path: str) -> IndexedFile | None:
        """The index holds it no longer as a whole."""
        self.standing = None
        return self.files.pop(path, None)

    def load(self, files: dict[str, IndexedFile], *, littered: bool) -> None:
        """The index holds these."""
        self.files, self.littered, self.loaded, self.standing = files, littered, True, None

    def unload(self) -> None:
        """Nothing is known of the index."""
        self.files, self.loaded, self.standing = {}, False, None


class SearchIndex:
    """The index of every version of one home; one object for a process."""

    def __init__(
        self,
        state: State,
        tell: Progress | None = None,
        limits: IndexLimits = INDEX_LIMITS,
        filling: VectorFilling | None = None,
    ) -> None:
        self._home: Home = state.home
        self._database: Database = state.database
        self._tell = tell
        self._limits = limits
        self._filling = filling
        self._store = SearchStore()
        self._following = {
            version: _Following(WatchedFolder(state.home.memories(version), is_searched))
            for version in VERSIONS
        }
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
        following = self._following[version]
        standing = await self._standing(version, await self._stamps(version))
        if not standing.missing and not standing.gone:
            age_s = asyncio.get_running_loop().time() - following.walked_s
            if following.littered or age_s > self._limits.trusted_s:
                self._follow(version)
            return standing
        task = self._follow(version)
        if task is not None and self._is_small(standing):
            # What is swept out of the database behind it is nothing that a search could find.
            await asyncio.wait(
                {one for one in (task, following.caught_up) if one is not None},
                timeout=self._limits.awaited_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            standing = await self._standing(version, standing.stamps)
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
        for following in self._following.values():
            following.watched.close()

    def _is_small(self, standing: Standing) -> bool:
        missing = standing.missing
        total = sum(size_of(standing.stamps[path]) for path in missing)
        limits = self._limits
        return len(missing) <= limits.files_awaited_max and total <= limits.bytes_awaited_max

    async def _stamps(self, version: str) -> Stamps:
        """Of every file as it is now; a walk only where the kernel does not tell.

        Raises: PathRefused, OSError.
        """
        stamps = self._following[version].watched.current()
        return await self._walked(version) if stamps is None else stamps

    async def _walked(self, version: str) -> Stamps:
        following = self._following[version]
        walked = await asyncio.to_thread(following.watched.walk)
        following.walked_s = asyncio.get_running_loop().time()
        stamps = following.watched.adopt(walked)
        if self._closed:
            following.watched.close()
        return stamps

    async def _standing(self, version: str, stamps: Stamps) -> Standing:
        following = self._following[version]
        if not following.loaded:
            await self._load(version)
        standing = following.standing
        if standing is None or standing.stamps is not stamps:
            standing = following.standing = standing_of(stamps, following.files)
        return standing

    async def _load(self, version: str) -> None:
        following = self._following[version]
        async with self._database.reading() as read:
            made_by = await self._store.made_by(read)
            if not await self._store.is_sound(read):
                made_by = ""
            files = await self._store.files(read, version) if made_by == MADE_BY else {}
            littered = made_by != MADE_BY or await self._store.is_littered(read)
        following.load(files, littered=littered)

    def _follow(self, version: str) -> "asyncio.Task[None] | None":
        """The task that brings a version up to date; one that runs looks once more at its end."""
        following = self._following[version]
        if self._closed:
            return None
        if following.task is None or following.task.done():
            following.caught_up = asyncio.get_running_loop().create_future()
            following.task = asyncio.create_task(
                self._work(version), name=f"search index {version}"
            )
        else:
            following.again = True
            if following.caught_up is None or following.caught_up.done():
                following.caught_up = asyncio.get_running_loop().create_future()
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
        except asyncio.CancelledError:
            following.unload()
            raise
        except (StateError, OSError) as error:
            # A search reads the files themselves meanwhile; the next look tries again.
            following.unload()
            log.warning("the search index of %s is behind: %s", version, error)

    async def _clear(self) -> None:
        async with self._database.writing() as tx:
            await self._store.clear(tx, MADE_BY)
        self._distrusted = False
        for following in self._following.values():
            following.unload()

    async def _catch_up(self, version: str) -> None:
        following = self._following[version]
        async with self._database.reading() as read:
            made_by = await self._store.made_by(read)
            is_sound = await self._store.is_sound(read)
        if made_by != MADE_BY or not is_sound or self._distrusted:
            await self._clear()
        if not following.loaded:
            await self._load(version)
        # A walk, so that what the kernel did not tell is seen in the end.
        stamps = await self._walked(version)
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
        caught_up = following.caught_up
        if not following.again and caught_up is not None and not caught_up.done():
            caught_up.set_result(None)
        await self._sweep(following)
        if self._filling is not None:
            self._filling.follow(version)

    def _told(self, version: str, done: int, total: int) -> None:
        if self._tell is not None and total > self._limits.files_awaited_max:
            self._tell(version, done, total)

    async def _remove(self, version: str, path: str) -> None:
        """Take out a file that is not there any more."""
        following = self._following[version]
        file = following.take(path)
        assert file is not None
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
            following.put(path, replace(former, stamp=stamp))
        else:
            following.take(path)
            if former is not None and self._filling is not None:
                await self._filling.remember(former.file_id)
            units = await asyncio.to_thread(cut_units, data, path=path)
            following.put(
                path,
                await self._replace(version, path, units, data, stamp=stamp, digest=digest),
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
            if following.again:
                # Somebody waits for what changed meanwhile; the mark stays for the next round.
                return
            async with self._database.writing() as tx:
                swept = await self._store.sweep(tx, pages=self._limits.pages_per_sweep, anew=anew)
            anew = False
        # A reader in the way keeps old pages alive: the next look tries again.
        if await self._database.fold_log():
            async with self._database.writing() as tx:
                await self._store.set_swept(tx)
            following.littered = False
