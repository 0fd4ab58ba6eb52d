"""Chooses the units that are worth ranking, from where the stems of a question stand. Pure.

The rarest stems are looked for first, until a bounded number of places would be read; what is
frequent only counts in the order. Of the places found the best are chosen by the rarity of what
they hold and the length of their unit. Costs about half a microsecond a place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory_read.ranking import Statistics
from state.stores.search import SIZE_OF_PLACE, unit_of

PLACES_MAX = 6_000
"""Places that are looked through for one question."""
MEETING_MAX = 4
"""Of frequent stems so many must meet at best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Stems that must stand in a unit together, and what that is worth."""

    stems: tuple[str, ...]
    weight: float


def looked_for(
    asked: Iterable[str], frequencies: Mapping[str, int], known: Statistics
) -> list[Wanted]:
    """What to look for, the rarest first, so that few enough places are found."""
    rising = sorted((one for one in asked if frequencies[one]), key=lambda one: frequencies[one])
    if rising and frequencies[rising[0]] > PLACES_MAX:
        return _meeting(rising[:MEETING_MAX], known)
    wanted: list[Wanted] = []
    places = 0
    for stem in rising:
        places += frequencies[stem]
        if places > PLACES_MAX:
            break
        wanted.append(Wanted(stems=(stem,), weight=known.rarity(stem)))
    return wanted


def _meeting(rising: Sequence[str], known: Statistics) -> list[Wanted]:
    """Every stem is frequent: the newest of the rarest, and better, where it meets the others."""
    return [
        Wanted(stems=tuple(rising[:count]), weight=known.rarity(rising[count - 1]))
        for count in range(1, len(rising) + 1)
    ]


def chosen(
    version: str, found: Iterable[tuple[Wanted, str]], known: Statistics, *, most: int
) -> list[int]:
    """The best units, the best first, of the places of each group of stems, given as texts."""
    scores: dict[int, float] = {}
    for wanted, text in found:
        if text:
            # Whole dicts at once: a loop over places costs several times as much.
            these = dict.fromkeys(map(int, text.split(",")), wanted.weight)
            for place in scores.keys() & these.keys():
                these[place] += scores[place]
            scores |= these
    shares = known.shares()
    worth = {place: score * shares[place & SIZE_OF_PLACE] for place, score in scores.items()}
    # Of equals those first that the store gave first, the newest.
    best = sorted(worth, key=worth.__getitem__, reverse=True)[:most]
    return [unit_of(version, place) for place in best]
