"""What was kept of a session against its labels; pure.

A right statement is recalled when one kept line covers its terms with the right scope. A kept line
is right when it recalls a statement and holds no look-alike's terms; one that may be kept or left
counts neither way. Invariant: a line as long as a
paragraph is never right, so that keeping everything in one line wins nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_write.offline.merging import Entry
from server.evals.corpus import KINDS, LANGUAGES, LookAlike, Right, Session

LINE_CHARS_MAX = 400
_SCOPES = {"everywhere": {"user"}, "as stated": {"user"}, "project": {"project"}}
_SAME_KIND = {
    "preference": {"profile", "preference", "rule", "noted"},
    "correction": {"preference", "rule", "decision", "noted"},
    "decision": {"decision", "rule", "procedure", "noted"},
    "procedure": {"procedure", "noted"},
    "pitfall": {"pitfall"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one session came out."""

    session: Session
    recalled: tuple[Right, ...]
    missed: tuple[Right, ...]
    of_its_kind: int
    """Recalled statements whose line also says their kind."""
    right: tuple[Entry, ...]
    wrong: tuple[Entry, ...]
    kept_look_alikes: tuple[LookAlike, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts over sessions."""

    name: str
    sessions: int
    statements: int
    recalled: int
    kept: int
    right: int
    look_alikes: int
    look_alikes_kept: int

    @property
    def recall(self) -> float:
        """Of what had to be kept, the share that was; 1 when there was nothing."""
        return self.recalled / self.statements if self.statements else 1.0

    @property
    def precision(self) -> float:
        """Of what was kept, the share that had to be; 1 when nothing was kept."""
        return self.right / self.kept if self.kept else 1.0


def score(session: Session, entries: Sequence[Entry]) -> Score:
    """One session's entries against its labels."""
    recalled: dict[int, Entry] = {}
    right: list[Entry] = []
    wrong: list[Entry] = []
    for entry in entries:
        found = [n for n, one in enumerate(session.right) if _recalls(entry, one)]
        bad = len(entry.text) > LINE_CHARS_MAX or any(
            one.terms.covered_by(entry.text) for one in session.look_alikes
        )
        if not bad and not found and any(one.covered_by(entry.text) for one in session.either):
            continue
        if bad or not found:
            wrong.append(entry)
            continue
        right.append(entry)
        for number in found:
            recalled.setdefault(number, entry)
    return Score(
        session=session,
        recalled=tuple(session.right[n] for n in sorted(recalled)),
        missed=tuple(one for n, one in enumerate(session.right) if n not in recalled),
        of_its_kind=sum(e.kind in _SAME_KIND[session.right[n].kind] for n, e in recalled.items()),
        right=tuple(right),
        wrong=tuple(wrong),
        kept_look_alikes=tuple(
            one
            for one in session.look_alikes
            if any(one.terms.covered_by(entry.text) for entry in entries)
        ),
    )


def _recalls(entry: Entry, right: Right) -> bool:
    scopes: set[str] = _SCOPES[entry.scope]
    return bool(scopes & right.scopes) and right.terms.covered_by(entry.text)


def figures(name: str, scores: Iterable[Score]) -> Figures:
    """The counts of these sessions together."""
    counted = list(scores)
    return Figures(
        name=name,
        sessions=len(counted),
        statements=sum(len(one.session.right) for one in counted),
        recalled=sum(len(one.recalled) for one in counted),
        kept=sum(len(one.right) + len(one.wrong) for one in counted),
        right=sum(len(one.right) for one in counted),
        look_alikes=sum(len(one.session.look_alikes) for one in counted),
        look_alikes_kept=sum(len(one.kept_look_alikes) for one in counted),
    )


def by_language(scores: Sequence[Score]) -> list[Figures]:
    """One row for each language."""
    return [
        figures(name, (one for one in scores if one.session.language == code))
        for code, name in LANGUAGES.items()
    ]


def by_kind(scores: Sequence[Score]) -> dict[str, tuple[int, int]]:
    """Of each kind of statement, how many were recalled, of how many."""
    return {
        kind: (
            sum(right.kind == kind for one in scores for right in one.recalled),
            sum(right.kind == kind for one in scores for right in one.session.right),
        )
        for kind in KINDS
    }


def by_look_alike(scores: Sequence[Score]) -> dict[str, tuple[int, int]]:
    """Of each sort of look-alike, how many were kept, of how many."""
    sorts = sorted({wrong.why for one in scores for wrong in one.session.look_alikes})
    return {
        sort: (
            sum(wrong.why == sort for one in scores for wrong in one.kept_look_alikes),
            sum(wrong.why == sort for one in scores for wrong in one.session.look_alikes),
        )
        for sort in sorts
    }
