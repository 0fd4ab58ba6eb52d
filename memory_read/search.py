"""Ranked search over published memory and the notes that wait to be taken in.

Invariant: every hit stands in its file at this moment, byte for byte as it was indexed, and comes
out through the snapshot with its secrets masked; what was withdrawn or deleted cannot come from an
index that is behind. What is not indexed yet is read from the files, within a bound.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from memory_read.candidates import PLACES_MAX, chosen, looked_for
from memory_read.days import TimeSpan, spans_of
from memory_read.index_standing import Standing
from memory_read.ranking import Asker, Ranked, Statistics, ordered, without_echoes, word_scores
from memory_read.scanning import NOTHING, Scanned, scanned
from memory_read.search_index import SearchIndex
from memory_read.semantic.meaning import Asked, Meaning, Near
from memory_read.snapshot import MemorySnapshot
from memory_read.standing import Standing as Rules
from memory_read.wording import asked_stems
from state.database import Row
from state.errors import DatabaseBroken
from state.recovery import State
from state.stores.search import UnitRow, heading_places, key_of, unit_of_row
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
    candidates_max: int = 100
    centres_max: int = 16
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
class Question:
    """What is asked, read once."""

    text: str
    version: str
    stems: tuple[str, ...]
    spans: tuple[TimeSpan, ...]
    """The days or months that it names."""
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The units that are worth ranking, whatever they are scored by; ids as of their store."""

    rows: Sequence[Row] = ()
    """Of the index."""
    scan: Sequence[UnitRow] = ()
    """Of files that are not indexed yet; their ids are below zero."""
    known: Statistics


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
    ) -> None:
        self._state = state
        self._meaning = meaning
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
        question = Question(
            text=query,
            version=version,
            stems=asked_stems(query),
            spans=spans_of(query),
            cwd=cwd.rstrip("/"),
        )
        standing = await self._index.look(version)
        indexing = bool(standing.missing)
        if not question.stems:
            return SearchReply(hits=(), indexing=indexing), False
        scan = NOTHING
        if standing.missing:
            scan = await self._scanned(question, standing, standing.missing)
        meant = Asked()
        try:
            if self._meaning is not None:
                meant = await self._meaning.asked(query, version, standing)
            candidates = await self._candidates(question, standing, scan.rows, meant.near)
            indexing = indexing or meant.is_behind
        except DatabaseBroken as error:
            log.warning("the search index cannot be read: %s", error.reason)
            self._index.distrust()
            scan = await self._scanned(question, standing, tuple(standing.stamps))
            known = _statistics_of(scan.rows, {}, standing, question.stems)
            candidates = Candidates(scan=scan.rows, known=known)
            indexing, meant = True, Asked()
        return await asyncio.to_thread(
            self._answered,
            question,
            candidates,
            replace(standing, stamps=scan.stamps | standing.stamps) if scan.stamps else standing,
            limit,
            meant.near,
            indexing=indexing,
        )

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

    async def _candidates(
        self,
        question: Question,
        standing: Standing,
        scan: Sequence[UnitRow],
        near: Near | None,
    ) -> Candidates:
        """The best of the index, with what stands beside them, and of the scan all."""
        database, store, limits = self._state.database, self._index.store, self._limits
        version, asked = question.version, question.stems
        frequencies = await self._known(asked, standing)
        known = _statistics_of(scan, frequencies, standing, asked)
        if len(asked) > limits.stems_max:
            asked = tuple(sorted(asked, key=known.rarity, reverse=True)[: limits.stems_max])
        wanted = looked_for(asked, frequencies, known)
        best: list[int] = []
        if wanted:
            places = await store.places(
                database, version, [one.stems for one in wanted], most=PLACES_MAX
            )
            best = await asyncio.to_thread(
                chosen, version, zip(wanted, places, strict=True), known, most=limits.candidates_max
            )
        if near is not None:
            best += near.nearest
        if not best:
            return Candidates(scan=scan, known=known)
        rows = await store.units_and_neighbours(database, version, best, centres=limits.centres_max)
        return Candidates(rows=rows, scan=scan, known=known)

    def _answered(
        self,
        question: Question,
        candidates: Candidates,
        standing: Standing,
        limit: int,
        near: Near | None,
        *,
        indexing: bool,
    ) -> tuple[SearchReply, bool]:
        """Scores by unit id, their order, and the first hits that stand; blocks on files."""
        rows = (unit_of_row(row) for row in candidates.rows if row["file_id"] in standing.file_ids)
        units = {row.unit_id: row for row in (*rows, *candidates.scan)}
        scores = word_scores(question.stems, units, candidates.known)
        if near is not None:
            scores = near.mixed_with(scores, units)
        order = ordered(scores, units, self._asker(question, units))
        reply, changed = self._told(order, question.version, standing, limit, indexing=indexing)
        return replace(reply, mode="lexical" if near is None else "semantic"), changed

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

    def _asker(self, question: Question, units: Mapping[int, UnitRow]) -> Asker:
        return Asker(
            now_ms=self._state.clock.now_ms(),
            cwd=question.cwd,
            corrections=frozenset(row.path for row in units.values() if _is_note(row.path)),
            spans=question.spans,
        )

    def _told(
        self,
        found: Sequence[Ranked],
        version: str,
        look: Standing,
        limit: int,
        *,
        indexing: bool,
    ) -> tuple[SearchReply, bool]:
        """The first of them that stand; blocks on files. True where a file changed meanwhile."""
        memory = MemorySnapshot(self._state.home, version)
        rulings = look.rulings.now(memory)
        wanted = max(1, min(limit, self._limits.hits_max))
        best = without_echoes(found)
        hits: list[Hit] = []
        changed = False
        for _ in range(self._limits.rounds_max):
            chunk = list(islice(best, wanted - len(hits)))
            standing = _standing(memory, rulings.standing, chunk, look.stamps)
            changed = changed or None in standing.values()
            hits += self._hits(chunk, standing)
            if len(hits) >= wanted or not chunk:
                break
        hits = [replace(hit, pending=True) if hit.path in rulings.pending else hit for hit in hits]
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


def _standing(
    memory: MemorySnapshot, rules: Rules, chunk: Sequence[Ranked], stamps: Mapping[str, str]
) -> dict[int, tuple[str, str] | None]:
    """By unit its heading and text as they stand; None where the file changed since the look."""
    found: dict[int, tuple[str, str] | None] = {}
    by_path: dict[str, list[UnitRow]] = {}
    for one in chunk:
        by_path.setdefault(one.unit.path, []).append(one.unit)
    wanted = {
        path: (
            list(dict.fromkeys(one for unit in units for one in _passages(unit))),
            stamps.get(path, ""),
        )
        for path, units in by_path.items()
    }
    texts = memory.passages(wanted)
    for path, units in by_path.items():
        pieces = texts[path]
        if pieces is None:
            found |= dict.fromkeys(unit.unit_id for unit in units)
            continue
        said = dict(zip(wanted[path][0], pieces, strict=True))
        for unit in units:
            shown = _shown([said[one] for one in _passages(unit)], path, rules)
            if shown is not None:
                found[unit.unit_id] = shown
    return found


def _shown(pieces: Sequence[str | None], path: str, rules: Rules) -> tuple[str, str] | None:
    """Heading and text of a unit that stands."""
    whole = [piece for piece in pieces if piece is not None]
    if len(whole) < len(pieces):
        return None
    *headings, text = whole
    shown = rules.shown(text, path=path)
    if shown is None:
        return None  # a later note corrected or forgot all of it
    titles = [heading.strip().lstrip("#").strip() for heading in headings]
    return " > ".join(titles), shown.strip("\r\n")


def _passages(unit: UnitRow) -> list[Passage]:
    """Its headings, then itself."""
    headings = [Passage(*one) for one in heading_places(unit.headings)]
    return [*headings, Passage(unit.begin_byte, unit.end_byte, unit.mark)]


def _is_note(path: str) -> bool:
    return path.startswith(f"{NOTES}/")
