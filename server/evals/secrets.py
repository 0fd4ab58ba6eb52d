"""How well redaction tells secrets from what looks like them, on a corpus of our own.

Every secret in `secrets.jsonl` is made up and stored in pieces, so that no scanner takes the file
for a leak. Its part `develop` was looked at while the shapes were made; `final` was written after
that. Invariant: a span counts as right only where it covers a secret, and a secret as found only
where nine tenths of it are covered.
"""

import importlib.resources
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from state.policy.redaction import secrets_in

COVERED_SHARE_MIN = 0.9
Span = tuple[int, int]
Find = Callable[[str], Sequence[Span]]


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and where its secrets stand; none in a look-alike."""

    case_id: str
    part: str
    kind: str
    text: str
    secrets: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was found, missed and wrongly taken out."""

    secrets: int
    look_alikes: int
    found: int
    right: int
    wrong: int
    missed_cases: tuple[str, ...]
    wrong_cases: tuple[str, ...]

    @property
    def recall(self) -> float:
        """The share of secrets that were found."""
        return self.found / self.secrets if self.secrets else 1.0

    @property
    def precision(self) -> float:
        """The share of what was taken out that was a secret."""
        taken = self.right + self.wrong
        return self.right / taken if taken else 1.0


def secret_cases() -> tuple[Case, ...]:
    """The whole corpus, in its order."""
    text = importlib.resources.files("server.evals").joinpath("secrets.jsonl").read_text("utf-8")
    return tuple(_case(json.loads(line)) for line in text.splitlines())


def measure(cases: Iterable[Case], find: Find = secrets_in) -> Figures:
    """What this finder does on these cases."""
    secrets = look_alikes = found = right = wrong = 0
    missed: list[str] = []
    mistaken: list[str] = []
    for case in cases:
        spans = find(case.text)
        secrets += len(case.secrets)
        look_alikes += not case.secrets
        for secret in case.secrets:
            if _covered(secret, spans) >= COVERED_SHARE_MIN * (secret[1] - secret[0]):
                found += 1
            else:
                missed.append(case.case_id)
        for span in spans:
            if any(_overlap(span, secret) for secret in case.secrets):
                right += 1
            else:
                wrong += 1
                mistaken.append(case.case_id)
    return Figures(
        secrets=secrets,
        look_alikes=look_alikes,
        found=found,
        right=right,
        wrong=wrong,
        missed_cases=tuple(missed),
        wrong_cases=tuple(mistaken),
    )


def told(what: str, figures: Figures) -> str:
    """One line of figures for a person."""
    return (
        f"{what}: recall {figures.recall:.3f} ({figures.found} of {figures.secrets}), "
        f"precision {figures.precision:.3f} ({figures.wrong} wrong, "
        f"{figures.look_alikes} look-alikes)"
    )


def _case(row: dict[str, object]) -> Case:
    text, places = str(row["text"]), []
    secrets = row["secrets"]
    assert isinstance(secrets, list)
    for number, pieces in enumerate(secrets):
        slot = f"{{{number}}}"
        start = text.index(slot)
        secret = "".join(pieces)
        text = text.replace(slot, secret, 1)
        places.append((start, start + len(secret)))
    return Case(str(row["id"]), str(row["part"]), str(row["kind"]), text, tuple(places))


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _covered(secret: Span, spans: Iterable[Span]) -> int:
    covered, reached = 0, secret[0]
    for start, end in sorted(spans):
        covered += _overlap((max(start, reached), end), secret)
        reached = max(reached, end)
    return covered
