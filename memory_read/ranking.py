"""Orders the units of memory by how well they answer a question. Pure.

In two steps, so that scores of another kind can be mixed in between: `word_scores` gives each
candidate a score by unit id, `ordered` puts scored units in order. A unit scores by its own words
(BM25 over body and headings), by how much of the question it covers, and by the units before and
behind it, since an answer often stands beside the words that were asked for. Recency and use only
break near ties; a user's own correction outranks any use; a day that the question names counts more
than both. Every weight is a named constant; its reason was measured on one half of the
conversations of `memoryd eval retrieval` (even ones), and the figures are told for all.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_read.days import TimeSpan
from state.stores.search import KEY_BYTES, SIZES, UnitRow, key_of, length_of_size

SATURATION = 1.0
LENGTH_SHARE = 0.3
"""Of the length of a unit beside that of an average one."""
LONG_STEMS = 150
LONGER_STEMS = 100
"""What is longer than `LONG_STEMS` holds any word by chance: by so much more a word counts less."""
HEADING_WEIGHT = 0.5
COVER_WEIGHT = 0.8
NEIGHBOUR_WEIGHTS = {-1: 0.6, 1: 0.6, -2: 0.3, 2: 0.3, -3: 0.15, 3: 0.15}
"""By how many units further it stands."""
FILE_WEIGHT = 0.6
RECENCY_SHARE = 0.05
RECENCY_HALF_MS = 90 * 86_400_000
USE_SHARE = 0.08
USE_FULL = 8
CORRECTION_FACTOR = 1.5
PLACE_FACTOR = 1.15
DAY_SHARE = 0.8
"""Of a unit that is of the day or month that the question names."""
DAY_HALF_MS = 6 * 86_400_000
"""What is told of a day is told on it or soon after; by so much later it counts half."""
EARLY_FACTOR = 3
"""What is as long before the day counts as if it were so much further away."""
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

    def shares(self) -> list[float]:
        """By size what a word counts in a unit of about it, on the scale of a unit's score."""
        average = self.length
        return [1 / (1 + _norm(length_of_size(size), average)) for size in range(SIZES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """What beside the words matters to the order."""

    now_ms: int
    cwd: str = ""
    corrections: frozenset[str] = frozenset()
    """Paths of files in which the user told what is right."""
    spans: tuple[TimeSpan, ...] = ()
    """The days or months that the question names."""


class Ranked(NamedTuple):
    """A unit and its score; the higher the better."""

    unit: UnitRow
    score: float


class _Own(NamedTuple):
    """What a unit scores by its own words and headings, and which stems of the question it holds.

    Those are a bit each, in the order of the question.
    """

    score: float
    held: int


def word_scores(
    asked: Sequence[str], units: Mapping[int, UnitRow], known: Statistics
) -> dict[int, float]:
    """By unit id how well each unit answers by its words, those that do at all.

    Units beside the best ones should be among them.
    """
    own = _own_scores(asked, units.values(), known)
    by_file = _file_scores(asked, units.values(), own, known)
    telling = {unit_id: found.score for unit_id, found in own.items() if found.held}
    return {
        unit_id: score
        + _beside(units[unit_id], units, telling)
        + FILE_WEIGHT * by_file[units[unit_id].file_id]
        for unit_id, score in telling.items()
    }


def ordered(
    scores: Mapping[int, float], units: Mapping[int, UnitRow], asker: Asker
) -> list[Ranked]:
    """The units that have a score, the best first, with what beside the words matters."""
    found = [
        Ranked(unit=units[unit_id], score=score * _boost(units[unit_id], asker))
        for unit_id, score in scores.items()
    ]
    found.sort(key=lambda one: (-one.score, one.unit.path, one.unit.first_line))
    return found


def _own_scores(
    asked: Sequence[str], units: Iterable[UnitRow], known: Statistics
) -> dict[int, _Own]:
    """By unit id; every text is looked through once, since this is most of a search's time."""
    weighed = [(1 << place, key_of(stem), known.rarity(stem)) for place, stem in enumerate(asked)]
    whole = sum(weight for _, _, weight in weighed) or 1.0
    average = known.length
    return {unit.unit_id: _own(unit, weighed, whole, average) for unit in units}


def _own(
    unit: UnitRow, weighed: Sequence[tuple[int, bytes, float]], whole: float, average: float
) -> _Own:
    norm = _norm(unit.length, average)
    stems, headings = unit.stems, unit.heading_stems
    score = covered = 0.0
    held = 0
    for bit, key, weight in weighed:
        times: float = stems.count(key)
        if headings and key in headings:
            times += HEADING_WEIGHT * headings.count(key)
        if times:
            score += weight * times * (SATURATION + 1) / (times + norm)
            covered += weight
            held |= bit
    return _Own(score * (1 + COVER_WEIGHT * covered / whole), held)


def _norm(length: float, average: float) -> float:
    beyond = max(0.0, length - LONG_STEMS) / LONGER_STEMS
    return SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average + beyond)


def _beside(unit: UnitRow, units: Mapping[int, UnitRow], telling: Mapping[int, float]) -> float:
    score = 0.0
    for distance, weight in NEIGHBOUR_WEIGHTS.items():
        said = telling.get(unit.unit_id + distance)
        if said is not None:
            other = units[unit.unit_id + distance]
            # Only under the same heading one is about what the other is about.
            if other.file_id == unit.file_id and other.headings == unit.headings:
                score += weight * said
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
    factor = 1 + USE_SHARE * min(unit.used, USE_FULL) / USE_FULL
    if unit.at_ms is not None:
        age_ms = max(asker.now_ms - unit.at_ms, 0)
        factor += RECENCY_SHARE * 0.5 ** (age_ms / RECENCY_HALF_MS)
    if unit.cwd and asker.cwd and f"{asker.cwd}/".startswith(f"{unit.cwd.rstrip('/')}/"):
        factor *= PLACE_FACTOR
    if unit.at_ms is not None and asker.spans:
        factor *= 1 + DAY_SHARE * max(_nearness(unit.at_ms, span) for span in asker.spans)
    return factor


def _nearness(at_ms: int, span: TimeSpan) -> float:
    early_ms, late_ms = max(span.begin_ms - at_ms, 0), max(at_ms - span.end_ms, 0)
    return float(0.5 ** ((EARLY_FACTOR * early_ms + late_ms) / DAY_HALF_MS))


def without_echoes(found: Iterable[Ranked]) -> Iterator[Ranked]:
    """The first of those that say the same; worked out as they are taken."""
    said: list[frozenset[int]] = []
    for one in found:
        stems = _keys(one.unit.stems)
        if not any(_same(stems, other) for other in said):
            said.append(stems)
            yield one


def _same(one: frozenset[int], other: frozenset[int]) -> bool:
    if not one or not other:
        return one == other
    least, most = sorted((len(one), len(other)))
    return least >= SAME_SHARE * most and len(one & other) >= SAME_SHARE * len(one | other)


def _keys(stems: bytes) -> frozenset[int]:
    return frozenset(array(_NUMBER, stems))


_NUMBER = next(code for code in "IL" if array(code).itemsize == KEY_BYTES)
"""What `array` calls a number of the size of a key."""
