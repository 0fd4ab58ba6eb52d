"""Learns the weights of the offline rules from the development half of the corpus.

Run as `python -m server.evals.learning`, it writes `memory_write/offline/weights.tsv` anew.
Logistic regression with a quadratic penalty, solved in the dual one statement at a time; no
randomness, so that the same corpus gives the same table.
"""

import hashlib
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from memory_write.offline.leaning import BIAS
from memory_write.offline.marks import marks
from memory_write.offline.moments import moments
from memory_write.offline.sentences import bare
from server.evals.corpus import LANGUAGES, Session, sessions
from server.evals.transcripts import heard

PENALTY = 0.6
"""How much a statement may pull at the weights; smaller is smoother."""
ELSEWHERE = 0.25
"""What a statement pulls of that when its labels were made before the guide was written."""
ELSEWHERE_OF_SCOPE = 0.5
GUIDED = frozenset(
    "Harbour Puerto Hafen Port 港口 Meadow Pradera Wiese Prairie 草地 Orchard Huerto Obstgarten"
    " Verger 果园 Quarry Cantera Steinbruch Carrière 采石 Lantern Farol Laterne Lanterne"
    " 灯笼".split()
)
"""The first word of the name of each session that is labelled after the guide."""
SEEN_MIN = 2
"""A mark of a single statement has no weight."""
LEAST = 0.03
"""A mark that weighs less, for keeping and for scope, is left out of the table."""
ROUNDS = 15
HALVINGS = 20
DIGITS = 2
_LATER = ("replaced", "retracted")
"""Was meant when it was said, and went by what was said later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A statement as the rules see it, and whether it had to be kept."""

    session: tuple[str, str]
    """Language and name."""
    marks: dict[str, float]
    kept: bool
    personal: bool | None
    """Whether it holds for its user and not for the project; None where it may be either."""

    @property
    def guided(self) -> bool:
        """Whether its labels follow the guide."""
        return self.session[1].split(" ", 1)[0] in GUIDED


def examples(corpus: Iterable[Session], folder: Path) -> Iterator[Example]:
    """The statements of sessions with their labels; what may be kept or left teaches nothing.

    Raises: OSError.
    """
    for session in corpus:
        for moment in moments(heard(session, folder)):
            for at in range(len(moment.said)):
                kept = _label(session, moment.said, at)
                found = marks(moment, at) if kept is not None else None
                if found is not None and kept is not None:
                    yield Example(
                        session=(session.language, session.name),
                        marks=found,
                        kept=kept,
                        personal=_personal(session, moment.said[at]) if kept else None,
                    )


def _label(session: Session, said: Sequence[str], at: int) -> bool | None:
    """Whether a statement had to be kept, or None where the labels do not tell."""
    text = bare(said[at])
    against = [one.why for one in session.look_alikes if one.terms.covered_by(text)]
    if set(against) & set(_LATER):
        return None
    if against:
        return False
    if any(one.terms.covered_by(text) for one in session.right):
        return True
    if any(one.covered_by(text) for one in session.either):
        return None
    for first in (at - 1, at):
        pair = [bare(one) for one in said[max(first, 0) : first + 2]]
        alone = [one for one in session.right if any(one.terms.covered_by(p) for p in pair)]
        both = " ".join(pair)
        if any(one not in alone and one.terms.covered_by(both) for one in session.right):
            return None
    return False


def _personal(session: Session, statement: str) -> bool | None:
    """Whether the right statement that this one covers holds for its user, or its project only."""
    found = {one.scopes for one in session.right if one.terms.covered_by(bare(statement))}
    return {frozenset({"user"}): True, frozenset({"project"}): False}.get(
        found.pop() if len(found) == 1 else frozenset()
    )


def learned(given: Sequence[Example]) -> dict[str, tuple[float, float]]:
    """The weights of each mark: for keeping a statement, and for its holding everywhere."""
    keep = _fitted([_Row(one.marks, one.kept, _pull(one, ELSEWHERE)) for one in given])
    personal = _fitted(
        [
            _Row(one.marks, one.personal, _pull(one, ELSEWHERE_OF_SCOPE))
            for one in given
            if one.personal is not None
        ]
    )
    both = {mark: (keep.get(mark, 0.0), personal.get(mark, 0.0)) for mark in keep | personal}
    return {
        mark: pair for mark, pair in both.items() if mark == BIAS or max(map(abs, pair)) >= LEAST
    }


def _pull(one: Example, elsewhere: float) -> float:
    return PENALTY * (1.0 if one.guided else elsewhere)


class _Row(NamedTuple):
    """A statement to fit to, with the most that it may pull."""

    marks: dict[str, float]
    holds: bool
    pull: float


def _fitted(given: Sequence[_Row]) -> dict[str, float]:
    seen = Counter(mark for one in given for mark in one.marks)
    rows = [
        [(BIAS, 1.0), *((m, v) for m, v in one.marks.items() if seen[m] >= SEEN_MIN and v)]
        for one in given
    ]
    weight = dict.fromkeys({mark for row in rows for mark, _ in row}, 0.0)
    sides = [1.0 if one.holds else -1.0 for one in given]
    lengths = [sum(value * value for _, value in row) for row in rows]
    duals = [one.pull * 0.01 for one in given]
    for row, side, dual in zip(rows, sides, duals, strict=True):
        for mark, value in row:
            weight[mark] += dual * side * value
    for _ in range(ROUNDS):
        for number, row in enumerate(rows):
            score = sides[number] * sum(weight[mark] * value for mark, value in row)
            new = _dual(duals[number], score, lengths[number], given[number].pull)
            step = (new - duals[number]) * sides[number]
            duals[number] = new
            for mark, value in row:
                weight[mark] += step * value
    return {mark: round(value, DIGITS) for mark, value in weight.items()}


def _dual(old: float, score: float, length: float, most: float) -> float:
    """The share of a statement that suits it best while all others stay."""
    low, high = 1e-9, most - 1e-9
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        slope = score + (middle - old) * length + math.log(middle / (most - middle))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return (low + high) / 2


def digest() -> str:
    """Of the corpus that is learned from."""
    folder = files("server.evals") / "extraction" / "dev"
    found = hashlib.sha256()
    for language in LANGUAGES:
        found.update((folder / f"{language}.txt").read_bytes())
    return found.hexdigest()[:16]


def table(weights: dict[str, tuple[float, float]]) -> str:
    """The weights as a file, the heaviest first."""
    rows = sorted(weights.items(), key=lambda row: (-abs(row[1][0]), -abs(row[1][1]), row[0]))
    lines = [f"{mark}\t{keep:.{DIGITS}f}\t{scope:.{DIGITS}f}" for mark, (keep, scope) in rows]
    return "\n".join([f"# learned from {digest()}", *lines, ""])


def main() -> int:
    """Learn from the development half and write the table."""
    with tempfile.TemporaryDirectory(prefix="memoryd-eval-") as folder:
        given = list(examples(sessions("dev"), Path(folder)))
    target = Path(str(files("memory_write.offline") / "weights.tsv"))
    target.write_text(table(learned(given)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
