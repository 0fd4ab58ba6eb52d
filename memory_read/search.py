"""Ranked search over published memory and the notes that wait to be taken in.

Invariant: every hit stands in its file at this moment, byte for byte as it was indexed, and comes
out through the snapshot with its secrets masked; what was withdrawn or deleted cannot come from an
index that is behind. What is not indexed yet is read from the files, within a bound.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal

from memory_read.ranking import Asker, Ranked, Statistics, ranked, without_echoes
from memory_read.scanning import NOTHING, scanned
from memory_read.search_index import SearchIndex, Standing
from memory_read.snapshot import MemorySnapshot
from memory_read.wording import asked_stems
from state.errors import DatabaseBroken
from state.recovery import State
from state.stores.search import LOOKED_AT_MAX, UnitRow, heading_places
from state.workspace.layout import NOTES
from state.workspace.passages import Passage

log = logging.getLogger(__name__)

Mode = Literal["lexical", "semantic"]

HITS_DEFAULT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Bounds of one search."""

    query_chars_max: int = 4_000
    hits_max: int = 50
    text_chars_max: int = 2_000
    """Of one hit; it is cut behind them."""
    stems_max: int = 24
    """The rarest of a longer question count."""
    candidates_max: int = 80
    centres_max: int = 24
    """Of the candidates, those whose neighbours are looked at too."""
    known_stems_max: int = 20_000
    """Frequencies that are remembered between searches."""
    common_min: int = 500
    """From here on a stem counts as common."""
    rounds_max: int = 3
    """How often hits that do not stand any more are replaced by the next ones."""


SEARCH_LIMITS = SearchLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One piece of memory that answers, with the lines it stands at now."""

    path: str
    start_line: int
    end_line: int
    heading: str
    """The headings above it, the outermost first."""
    text: str
    is_cut: bool
    score: float
    thread_ids: tuple[str, ...]
    at_ms: int | None
    pending: bool
    """Whether it is a note that no consolidation has taken in yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReply:
    """What a search gives."""

    hits: tuple[Hit, ...]
    mode: Mode = "lexical"
    indexing: bool = False
    """Whether files are not indexed yet; a part of them was read for this answer."""
    truncated: bool = False
    """Whether there were more hits, or texts were cut."""


class MemorySearch:
    """Answers questions from the memory of every version of one home."""

    def __init__(
        self, state: State, index: SearchIndex, limits: SearchLimits = SEARCH_LIMITS
    ) -> None:
        self._state = state
        self._index = index
        self._limits = limits
        self._frequencies: dict[str, int] = {}
        self._counted: tuple[int, int] = (0, 0)

    async def search(
        self, query: str, *, version: str, limit: int = HITS_DEFAULT, cwd: str = ""
    ) -> SearchReply:
        """The best answers that stand in memory now.

        Raises: PathRefused, OSError, DatabaseBusy, DatabaseUnusable.
        """
        reply, changed = await self._once(query, version, limit, cwd)
        if changed:
            # A file was written between look and answer: once more, as it is now.
            reply, changed = await self._once(query, version, limit, cwd)
        return replace(reply, indexing=True) if changed else reply

    async def _once(
        self, query: str, version: str, limit: int, cwd: str
    ) -> tuple[SearchReply, bool]:
        asked = asked_stems(query)
        standing = await self._index.look(version)
        indexing = bool(standing.missing)
        if not asked:
            return SearchReply(hits=(), indexing=indexing), False
        home = self._state.home
        scan = NOTHING
        if standing.missing:
            scan = await asyncio.to_thread(
                scanned, home, version, asked, standing.missing, standing.stamps
            )
        try:
            order = await self._found(asked, version, standing, scan.rows, cwd)
        except DatabaseBroken as error:
            log.warning("the search index cannot be read: %s", error.reason)
            self._index.distrust()
            scan = await asyncio.to_thread(
                scanned, home, version, asked, tuple(standing.stamps), standing.stamps
            )
            known = _statistics_of(scan.rows, {}, standing, asked)
            units = {row.unit_id: row for row in scan.rows}
            order = partial(ranked, asked, units, known, self._asker(units.values(), cwd, {}))
            indexing = True
        stamps = {path: file.stamp for path, file in standing.files.items()} | scan.stamps
        return await asyncio.to_thread(
            lambda: self._told(order(), version, stamps, limit, indexing=indexing)
        )

    async def _found(
        self,
        asked: Sequence[str],
        version: str,
        standing: Standing,
        scan: Sequence[UnitRow],
        cwd: str,
    ) -> Callable[[], list[Ranked]]:
        """What ranks every candidate of index and scan together."""
        database, store, limits = self._state.database, self._index.store, self._limits
        frequencies = await self._known(asked, standing)
        known = _statistics_of(scan, frequencies, standing, asked)
        if len(asked) > limits.stems_max:
            asked = sorted(asked, key=known.rarity, reverse=True)[: limits.stems_max]
        wanted, all_of = _looked_for(asked, frequencies)
        look = partial(
            store.candidates_and_neighbours,
            database,
            version,
            most=limits.candidates_max,
            centres=limits.centres_max,
        )
        rows, usage = await asyncio.gather(
            look(wanted, all_of=all_of), store.usage(database, version)
        )
        if not rows and all_of:
            rows = await look(wanted[:1], all_of=False)
        valid = {file.file_id for file in standing.files.values()}
        units = {row.unit_id: row for row in rows if row.file_id in valid}
        units |= {row.unit_id: row for row in scan}
        return partial(ranked, asked, units, known, self._asker(units.values(), cwd, usage))

    async def _known(self, asked: Sequence[str], standing: Standing) -> Mapping[str, int]:
        """In how many units each stem stands.

        Counting a common one means reading all its places, so those are remembered while the
        index stays about the same; a rare one is counted afresh, for it may be new.
        """
        counted = (standing.units // 64, standing.words // 4_096)
        if counted != self._counted or len(self._frequencies) > self._limits.known_stems_max:
            self._frequencies.clear()
            self._counted = counted
        unknown = [stem for stem in asked if stem not in self._frequencies]
        found: dict[str, int] = {}
        if unknown:
            found = await self._index.store.frequencies(self._state.database, unknown)
        common = {stem: n for stem, n in found.items() if n >= self._limits.common_min}
        self._frequencies |= common
        return {stem: self._frequencies.get(stem, found.get(stem, 0)) for stem in asked}

    def _asker(self, units: Iterable[UnitRow], cwd: str, usage: Mapping[str, int]) -> Asker:
        return Asker(
            now_ms=self._state.clock.now_ms(),
            cwd=cwd.rstrip("/"),
            usage=usage,
            corrections=frozenset(unit.path for unit in units if unit.path.startswith(f"{NOTES}/")),
        )

    def _told(
        self,
        found: Sequence[Ranked],
        version: str,
        stamps: Mapping[str, str],
        limit: int,
        *,
        indexing: bool,
    ) -> tuple[SearchReply, bool]:
        """The first of them that stand; blocks on files. True where a file changed meanwhile."""
        memory = MemorySnapshot(self._state.home, version)
        wanted = max(1, min(limit, self._limits.hits_max))
        best = without_echoes(found)
        hits: list[Hit] = []
        changed = False
        for _ in range(self._limits.rounds_max):
            chunk = list(islice(best, wanted - len(hits)))
            standing = _standing(memory, chunk, stamps)
            changed = changed or None in standing.values()
            hits += self._hits(chunk, standing)
            if len(hits) >= wanted or not chunk:
                break
        pending = _pending(memory, hits)
        hits = [replace(hit, pending=hit.path in pending) for hit in hits]
        truncated = next(best, None) is not None or any(hit.is_cut for hit in hits)
        reply = SearchReply(hits=tuple(hits), indexing=indexing, truncated=truncated)
        return reply, changed

    def _hits(
        self, chunk: Sequence[Ranked], standing: Mapping[int, tuple[str, str] | None]
    ) -> Iterable[Hit]:
        most = self._limits.text_chars_max
        for one in chunk:
            said = standing.get(one.unit.unit_id)
            if said is None:
                continue
            heading, text = said
            yield Hit(
                path=one.unit.path,
                start_line=one.unit.first_line,
                end_line=one.unit.last_line,
                heading=heading,
                text=text[:most],
                is_cut=len(text) > most,
                score=round(one.score, 4),
                thread_ids=one.unit.thread_ids,
                at_ms=one.unit.at_ms,
                pending=False,
            )


def _looked_for(asked: Sequence[str], frequencies: Mapping[str, int]) -> tuple[list[str], bool]:
    """The rarest stems, as many as their units can be looked through; or two that must meet."""
    known = sorted((stem for stem in asked if frequencies[stem]), key=lambda one: frequencies[one])
    if len(known) > 1 and frequencies[known[0]] > LOOKED_AT_MAX:
        return known[:2], True
    wanted: list[str] = []
    looked_at = 0
    for stem in known:
        looked_at += frequencies[stem]
        if wanted and looked_at > LOOKED_AT_MAX:
            break
        wanted.append(stem)
    return wanted, False


def _statistics_of(
    scan: Sequence[UnitRow],
    frequencies: Mapping[str, int],
    standing: Standing,
    asked: Sequence[str],
) -> Statistics:
    """Of index and scan together."""
    counts = dict(frequencies)
    for stem in asked:
        word = f" {stem} "
        seen = sum(word in row.stems or word in row.heading_stems for row in scan)
        counts[stem] = counts.get(stem, 0) + seen
    return Statistics(
        units=standing.units + len(scan),
        words=standing.words + sum(row.length for row in scan),
        frequencies=counts,
    )


def _standing(
    memory: MemorySnapshot, chunk: Sequence[Ranked], stamps: Mapping[str, str]
) -> dict[int, tuple[str, str] | None]:
    """By unit its heading and text as they stand; None where the file changed since the look."""
    found: dict[int, tuple[str, str] | None] = {}
    rules = memory.standing()
    by_path: dict[str, list[UnitRow]] = {}
    for one in chunk:
        by_path.setdefault(one.unit.path, []).append(one.unit)
    for path, units in by_path.items():
        wanted = {unit.unit_id: _passages(unit) for unit in units}
        every = list(dict.fromkeys(one for passages in wanted.values() for one in passages))
        texts = memory.passages(path, every, stamp=stamps.get(path, ""))
        if texts is None:
            found |= dict.fromkeys(wanted)
            continue
        said = dict(zip(every, texts, strict=True))
        for unit_id, passages in wanted.items():
            pieces = [piece for one in passages if (piece := said[one]) is not None]
            if len(pieces) == len(passages):
                *headings, text = pieces
                shown = rules.shown(text, path=path)
                if shown is None:
                    continue  # a later note corrected or forgot all of it
                titles = [heading.strip().lstrip("#").strip() for heading in headings]
                found[unit_id] = (" > ".join(titles), shown.strip("\r\n"))
    return found


def _passages(unit: UnitRow) -> list[Passage]:
    """Its headings, then itself."""
    headings = [Passage(*one) for one in heading_places(unit.headings)]
    return [*headings, Passage(unit.begin_byte, unit.end_byte, unit.mark)]


def _pending(memory: MemorySnapshot, hits: Iterable[Hit]) -> frozenset[str]:
    if not any(hit.path.startswith(f"{NOTES}/") for hit in hits):
        return frozenset()
    return frozenset(note.path for note in memory.pending_notes())
