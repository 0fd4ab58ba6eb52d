"""Ranked search over published memory and the notes that wait to be taken in.

Invariant: every hit stands in its file at this moment, byte for byte as it was indexed, and comes
out through the snapshot with its secrets masked; what was withdrawn or deleted cannot come from an
index that is behind. What is not indexed yet is read from the files, within a bound. From the look
at the folder to the hits an answer is one trip to a thread, on one state of the index.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from memory_read.candidates import PLACES_MAX, chosen, looked_for
from memory_read.days import TimeSpan, spans_of
from memory_read.hits import Hit, HitLimits, told
from memory_read.index_standing import Standing
from memory_read.ranking import Asker, Statistics, ordered, word_scores
from memory_read.scanning import NOTHING, Scanned, scanned
from memory_read.search_index import SearchIndex
from memory_read.semantic.meaning import Asked, Meaning, Near
from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import OPEN, ReadGate
from memory_read.wording import asked_stems
from state.errors import DatabaseBroken
from state.recovery import State
from state.stores.search import UnitRow, key_of
from state.visits import Visit
from state.workspace.layout import NOTES

log = logging.getLogger(__name__)

Mode = Literal["lexical", "semantic"]

HITS_DEFAULT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits(HitLimits):
    """Bounds of one search."""

    query_chars_max: int = 4_000
    stems_max: int = 24
    """The rarest of a longer question count."""
    candidates_max: int = 100
    centres_max: int = 16
    """Of the candidates, those whose neighbours are looked at too."""
    known_stems_max: int = 20_000
    """Frequencies that are remembered between searches."""
    common_min: int = 500
    """From here on a stem counts as common."""


SEARCH_LIMITS = SearchLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, read once."""

    text: str
    version: str
    stems: tuple[str, ...]
    spans: tuple[TimeSpan, ...]
    """The days or months that it names."""
    cwd: str
    hits_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """How many units common stems stand in; replaced as a whole, since threads read it."""

    of: tuple[int, int]
    """About how large the index was."""
    frequencies: Mapping[str, int]


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
        self,
        state: State,
        index: SearchIndex,
        limits: SearchLimits = SEARCH_LIMITS,
        meaning: Meaning | None = None,
        gate: ReadGate = OPEN,
    ) -> None:
        self._state = state
        self._meaning = meaning
        self._gate = gate
        self._index = index
        self._limits = limits
        self._common = _Common(of=(0, 0), frequencies={})

    async def search(
        self, query: str, *, version: str, limit: int = HITS_DEFAULT, cwd: str = ""
    ) -> SearchReply:
        """The best answers that stand in memory now.

        Raises: PathRefused, OSError, DatabaseBusy, DatabaseUnusable.
        """
        question = Question(
            text=query,
            version=version,
            stems=asked_stems(query),
            spans=spans_of(query),
            cwd=cwd.rstrip("/"),
            hits_max=limit,
        )
        reply, changed = await self._once(question)
        if changed:
            # A file was written between look and answer: once more, as it is now.
            reply, changed = await self._once(question)
        return replace(reply, indexing=True) if changed else reply

    async def _once(self, question: Question) -> tuple[SearchReply, bool]:
        """An answer, and whether a file was written between the look and the answer."""
        version = question.version
        standing = await self._index.look(version)
        indexing = bool(standing.missing)
        if not question.stems:
            return SearchReply(hits=(), indexing=indexing), False
        scan = NOTHING
        if standing.missing:
            scan = await self._scanned(question, standing, standing.missing)
        await self._gate.ready(version)
        try:
            meant = Asked()
            if self._meaning is not None:
                meant = await self._meaning.asked(question.text, version, standing)
            reply, changed = await self._state.database.visit(
                partial(self._from_index, question, standing, scan, meant.near)
            )
            indexing = indexing or meant.is_behind
        except DatabaseBroken as error:
            log.warning("the search index cannot be read: %s", error.reason)
            self._index.distrust()
            scan = await self._scanned(question, standing, tuple(standing.stamps))
            known = _statistics_of(scan.rows, {}, standing, question.stems)
            reply, changed = await asyncio.to_thread(
                self._answered, question, scan.rows, known, standing, scan, None
            )
            indexing = True
        return replace(reply, indexing=indexing), changed

    async def _scanned(
        self, question: Question, standing: Standing, paths: Sequence[str]
    ) -> Scanned:
        """What is not indexed yet, read from its files."""
        version = question.version
        found = await asyncio.to_thread(
            scanned, self._state.home, version, question.stems, paths, standing.stamps
        )
        threads = {one for row in found.rows for one in row.thread_ids}
        if not threads:
            return found
        usage = await self._index.store.usage(self._state.database, version, threads)
        rows = (
            row._replace(used=max((usage.get(one, 0) for one in row.thread_ids), default=0))
            for row in found.rows
        )
        return replace(found, rows=tuple(rows))

    def _from_index(
        self,
        question: Question,
        standing: Standing,
        scan: Scanned,
        near: Near | None,
        visit: Visit,
    ) -> tuple[SearchReply, bool]:
        """Of the index the best, with what stands beside them, and of the scan all; blocks."""
        store, limits = self._index.store, self._limits
        version, asked = question.version, question.stems
        frequencies = self._known(visit, asked, standing)
        known = _statistics_of(scan.rows, frequencies, standing, asked)
        if len(asked) > limits.stems_max:
            asked = tuple(sorted(asked, key=known.rarity, reverse=True)[: limits.stems_max])
        wanted = looked_for(asked, frequencies, known)
        best: list[int] = []
        if wanted:
            places = store.places(visit, version, [one.stems for one in wanted], most=PLACES_MAX)
            best = chosen(
                version, zip(wanted, places, strict=True), known, most=limits.candidates_max
            )
        if near is not None:
            best += near.nearest
        rows = list(scan.rows)
        if best:
            found = store.units_and_neighbours(visit, version, best, centres=limits.centres_max)
            rows += [row for row in found if row.file_id in standing.file_ids]
        return self._answered(question, rows, known, standing, scan, near)

    def _answered(
        self,
        question: Question,
        rows: Sequence[UnitRow],
        known: Statistics,
        standing: Standing,
        scan: Scanned,
        near: Near | None,
    ) -> tuple[SearchReply, bool]:
        """Scores by unit id, their order, and the first hits that stand; blocks on files."""
        units = {row.unit_id: row for row in rows}
        scores = word_scores(question.stems, units, known)
        if near is not None:
            scores = near.mixed_with(scores, units)
        asker = Asker(
            now_ms=self._state.clock.now_ms(),
            cwd=question.cwd,
            corrections=frozenset(row.path for row in rows if row.path.startswith(f"{NOTES}/")),
            spans=question.spans,
        )
        found = told(
            ordered(scores, units, asker),
            MemorySnapshot(self._state.home, question.version, self._gate),
            standing.rulings,
            scan.stamps | standing.stamps if scan.stamps else standing.stamps,
            wanted=question.hits_max,
            limits=self._limits,
        )
        reply = SearchReply(
            hits=found.hits,
            mode="lexical" if near is None else "semantic",
            truncated=found.truncated,
        )
        return reply, found.changed

    def _known(self, visit: Visit, asked: Sequence[str], standing: Standing) -> Mapping[str, int]:
        """In how many units each stem stands.

        Counting a common one means reading all its places, so those are remembered while the
        index stays about the same; a rare one is counted afresh, for it may be new.
        """
        size = (standing.units // 64, standing.words // 4_096)
        common = self._common
        if common.of != size or len(common.frequencies) > self._limits.known_stems_max:
            common = _Common(of=size, frequencies={})
        unknown = [stem for stem in asked if stem not in common.frequencies]
        found = self._index.store.frequencies(visit, unknown) if unknown else {}
        more = {stem: n for stem, n in found.items() if n >= self._limits.common_min}
        if more:
            # What another thread found meanwhile is lost, and counted again when it is asked for.
            self._common = _Common(of=size, frequencies={**common.frequencies, **more})
        return {stem: common.frequencies.get(stem, found.get(stem, 0)) for stem in asked}


def _statistics_of(
    scan: Sequence[UnitRow],
    frequencies: Mapping[str, int],
    standing: Standing,
    asked: Sequence[str],
) -> Statistics:
    """Of index and scan together."""
    counts = dict(frequencies)
    for stem in asked:
        key = key_of(stem)
        seen = sum(key in row.stems or key in row.heading_stems for row in scan)
        counts[stem] = counts.get(stem, 0) + seen
    return Statistics(
        units=standing.units + len(scan),
        words=standing.words + sum(row.length for row in scan),
        frequencies=counts,
    )
