"""Orders the units of memory by how well they answer a question. Pure.

A unit scores by its own words (BM25 over body and headings), by how much of the question it covers,
and by the units before and behind it, since an answer often stands beside the words that were asked
for. Recency and use only break near ties; a user's own correction outranks any use. Every weight is
a named constant; its reason was measured on one half of the conversations of `memoryd eval
retrieval` (even ones), and the figures are told for all.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from state.stores.search import UnitRow

SATURATION = 1.0
LENGTH_SHARE = 0.6
HEADING_WEIGHT = 0.5
COVER_WEIGHT = 0.8
NEIGHBOUR_WEIGHTS = (0.6, 0.3, 0.15)
FILE_WEIGHT = 0.6
RECENCY_SHARE = 0.05
RECENCY_HALF_MS = 90 * 86_400_000
USE_SHARE = 0.08
USE_FULL = 8
CORRECTION_FACTOR = 1.5
PLACE_FACTOR = 1.15
SAME_SHARE = 0.8
"""Units that share so much of their stems say the same; only the better one is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What is known of all units together."""

    units: int
    words: int
    frequencies: Mapping[str, int]
    """In how many units each stem of the question stands."""

    def rarity(self, stem: str) -> float:
        """How much a stem tells."""
        found = min(self.frequencies.get(stem, 0), self.units)
        return math.log(1 + (self.units - found + 0.5) / (found + 0.5))

    @property
    def length(self) -> float:
        """Of an average unit, in stems."""
        return max(self.words / self.units, 1.0) if self.units else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """What beside the words matters to the order."""

    now_ms: int
    cwd: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    corrections: frozenset[str] = frozenset()
    """Paths of files in which the user told what is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A unit and its score; the higher the better."""

    unit: UnitRow
    score: float


@dataclass(frozen=True, slots=True)
class _Own:
    """What a unit scores by its own words and headings, and which stems of the question it holds.

    Those are a bit each, in the order of the question.
    """

    score: float
    held: int


def _own_scores(
    asked: Sequence[str], units: Iterable[UnitRow], known: Statistics
) -> dict[int, _Own]:
    """By unit id; every text is looked through once, since this is most of a search's time."""
    weighed = [(1 << place, f" {stem} ", known.rarity(stem)) for place, stem in enumerate(asked)]
    whole = sum(weight for _, _, weight in weighed) or 1.0
    return {unit.unit_id: _own(unit, weighed, whole, known.length) for unit in units}


def _own(
    unit: UnitRow, weighed: Sequence[tuple[int, str, float]], whole: float, average: float
) -> _Own:
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * unit.length / average)
    stems, headings = unit.stems, unit.heading_stems
    score = covered = 0.0
    held = 0
    for bit, word, weight in weighed:
        times: float = stems.count(word)
        if word in headings:
            times += HEADING_WEIGHT * headings.count(word)
        if times:
            score += weight * times * (SATURATION + 1) / (times + norm)
            covered += weight
            held |= bit
    return _Own(score * (1 + COVER_WEIGHT * covered / whole), held)


def ranked(
    asked: Sequence[str], units: Mapping[int, UnitRow], known: Statistics, asker: Asker
) -> list[Ranked]:
    """The units that answer, the best first; units beside the best ones should be among them."""
    own = _own_scores(asked, units.values(), known)
    by_file = _file_scores(asked, units.values(), own, known)
    found = []
    for unit_id, unit in units.items():
        score = own[unit_id].score
        if score > 0:
            score += _beside(unit, units, own) + FILE_WEIGHT * by_file[unit.file_id]
            found.append(Ranked(unit=unit, score=score * _boost(unit, asker)))
    found.sort(key=lambda one: (-one.score, one.unit.path, one.unit.first_line))
    return found


def _beside(unit: UnitRow, units: Mapping[int, UnitRow], own: Mapping[int, _Own]) -> float:
    score = 0.0
    for distance, weight in enumerate(NEIGHBOUR_WEIGHTS, 1):
        for unit_id in (unit.unit_id - distance, unit.unit_id + distance):
            other = units.get(unit_id)
            if other is not None and other.file_id == unit.file_id:
                # Only under the same heading one is about what the other is about.
                if other.headings == unit.headings:
                    score += weight * own[unit_id].score
    return score


def _file_scores(
    asked: Sequence[str],
    units: Iterable[UnitRow],
    own: Mapping[int, _Own],
    known: Statistics,
) -> dict[int, float]:
    """By file id how much of the question its units cover together."""
    held: dict[int, int] = {}
    for unit in units:
        held[unit.file_id] = held.get(unit.file_id, 0) | own[unit.unit_id].held
    rarity = [(1 << place, known.rarity(stem)) for place, stem in enumerate(asked)]
    return {
        file_id: sum(weight for bit, weight in rarity if bits & bit)
        for file_id, bits in held.items()
    }


def _boost(unit: UnitRow, asker: Asker) -> float:
    if unit.path in asker.corrections:
        return CORRECTION_FACTOR
    used = max((asker.usage.get(thread_id, 0) for thread_id in unit.thread_ids), default=0)
    factor = 1 + USE_SHARE * min(used, USE_FULL) / USE_FULL
    if unit.at_ms is not None:
        age_ms = max(asker.now_ms - unit.at_ms, 0)
        factor += RECENCY_SHARE * 0.5 ** (age_ms / RECENCY_HALF_MS)
    if unit.cwd and asker.cwd and f"{asker.cwd}/".startswith(f"{unit.cwd.rstrip('/')}/"):
        factor *= PLACE_FACTOR
    return factor


def without_echoes(found: Iterable[Ranked]) -> Iterator[Ranked]:
    """The first of those that say the same; worked out as they are taken."""
    said: list[frozenset[str]] = []
    for one in found:
        stems = frozenset(one.unit.stems.split())
        if not any(_same(stems, other) for other in said):
            said.append(stems)
            yield one


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    if not one or not other:
        return one == other
    least, most = sorted((len(one), len(other)))
    return least >= SAME_SHARE * most and len(one & other) >= SAME_SHARE * len(one | other)
