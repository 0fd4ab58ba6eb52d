"""From ranked units to the hits that stand: their bytes read from their files, secrets masked.

Invariant: a hit holds what its file holds at this moment, byte for byte as it was indexed, through
the snapshot and its rules. As many units are read as hits are wanted, and more only for those
that do not stand. Blocks on files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from memory_read.ranking import Ranked, without_echoes
from memory_read.rulings import KnownRulings, Rulings
from memory_read.snapshot import MemorySnapshot
from memory_read.standing import Standing
from state.stores.search import UnitRow, heading_places
from state.workspace.passages import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class HitLimits:
    """Bounds of what one search tells."""

    hits_max: int = 50
    text_chars_max: int = 2_000
    """Of one hit; it is cut behind them."""
    rounds_max: int = 9
    """How often hits that do not stand any more are replaced by the next ones, each time as many
    as were looked at before: enough for all that are ranked."""


HIT_LIMITS = HitLimits()


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
class Told:
    """The hits, and what the asker should know of them."""

    hits: tuple[Hit, ...]
    truncated: bool
    """Whether there were more, or texts were cut."""
    changed: bool
    """Whether a file was written since the look, so that something may be missing."""


def told(
    found: Iterable[Ranked],
    memory: MemorySnapshot,
    known: KnownRulings,
    stamps: Mapping[str, str],
    *,
    wanted: int,
    limits: HitLimits = HIT_LIMITS,
) -> Told:
    """The first of the units that stand; the stamps are those of one look at the folder."""
    rulings = known.now(memory)
    wanted = max(1, min(wanted, limits.hits_max))
    best = without_echoes(found)
    hits: list[Hit] = []
    changed = False
    looked_at = 0
    for _ in range(limits.rounds_max):
        chunk = list(islice(best, max(wanted - len(hits), looked_at)))
        looked_at += len(chunk)
        said = _said(memory, rulings.standing, chunk, stamps)
        changed = changed or None in said.values()
        hits += _hits(chunk, said, rulings, limits.text_chars_max)
        if len(hits) >= wanted or not chunk:
            break
    more = len(hits) > wanted or next(best, None) is not None
    kept = tuple(hits[:wanted])
    return Told(hits=kept, truncated=more or any(hit.is_cut for hit in kept), changed=changed)


def _hits(
    chunk: Sequence[Ranked],
    said: Mapping[int, tuple[str, str] | None],
    rulings: Rulings,
    most: int,
) -> Iterable[Hit]:
    gone = rulings.standing.gone
    for one in chunk:
        shown = said.get(one.unit.unit_id)
        if shown is None:
            continue
        heading, text = shown
        yield Hit(
            path=one.unit.path,
            start_line=one.unit.first_line,
            end_line=one.unit.last_line,
            heading=heading,
            text=text[:most],
            is_cut=len(text) > most,
            score=round(one.score, 4),
            thread_ids=tuple(id_ for id_ in one.unit.thread_ids if id_ not in gone),
            at_ms=one.unit.at_ms,
            pending=one.unit.path in rulings.pending,
        )


def _said(
    memory: MemorySnapshot, rules: Standing, chunk: Sequence[Ranked], stamps: Mapping[str, str]
) -> dict[int, tuple[str, str] | None]:
    """By unit its heading and text as they stand; None where the file changed since the look."""
    found: dict[int, tuple[str, str] | None] = {}
    by_path: dict[str, dict[int, list[Passage]]] = {}
    for one in chunk:
        by_path.setdefault(one.unit.path, {})[one.unit.unit_id] = _passages(one.unit)
    wanted = {
        path: (list(dict.fromkeys(chain.from_iterable(units.values()))), stamps.get(path, ""))
        for path, units in by_path.items()
    }
    texts = memory.passages(wanted)
    for path, units in by_path.items():
        pieces = texts[path]
        if pieces is None:
            found |= dict.fromkeys(units)
            continue
        said = dict(zip(wanted[path][0], pieces, strict=True))
        for unit_id, passages in units.items():
            shown = _shown([said[one] for one in passages], path, rules)
            if shown is not None:
                found[unit_id] = shown
    return found


def _shown(pieces: Sequence[str | None], path: str, rules: Standing) -> tuple[str, str] | None:
    """Heading and text of a unit that stands."""
    whole = [piece for piece in pieces if piece is not None]
    if len(whole) < len(pieces):
        return None
    *headings, text = whole
    shown = rules.shown(text, path=path)
    if shown is None:
        return None  # it was withdrawn, or a later note corrected or forgot all of it
    standing = [one for one in headings if rules.instead_of(one.strip(), path=path) is None]
    titles = [heading.strip().lstrip("#").strip() for heading in standing]
    return " > ".join(titles), shown.strip("\r\n")


def _passages(unit: UnitRow) -> list[Passage]:
    """Its headings, then itself."""
    headings = [Passage(*one) for one in heading_places(unit.headings)]
    return [*headings, Passage(unit.begin_byte, unit.end_byte, unit.mark)]
