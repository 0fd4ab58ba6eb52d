"""Whether the marks of a statement speak for keeping it: their weights, added up; pure.

The weights are learned once from the sessions of `server/evals/extraction/dev` and committed, one
mark a line, so that each can be read. Refusals come first and know no weight.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from memory_write.offline.backward import holds_for_all
from memory_write.offline.forms import Formed
from memory_write.offline.judge import Judged
from memory_write.offline.loose import leaned
from memory_write.offline.marks import marks
from memory_write.offline.moments import Moment

ENOUGH = 1.1
"""Log odds above which a statement is kept that no form knows."""
TOO_LITTLE = 0.2
"""Log odds below which one is left that has the form of a rule."""
EVERYWHERE = 0.5
"""What a word such as `everywhere` counts for."""
STATED_FORMED = 0.5
"""The same for the scope that the judge tells."""
BACKED = 1.5
STATED = 0.2
"""How much the scope that the signs tell counts beside the weights."""
BIAS = "always"


PERSONAL = 0.0
"""Log odds above which a statement holds for its user everywhere."""


class Weights(NamedTuple):
    """What a mark counts for, in log odds."""

    keep: float
    personal: float


@cache
def weights() -> Mapping[str, Weights]:
    """The weights of each mark."""
    text = (files("memory_write.offline") / "weights.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {mark: Weights(float(keep), float(personal)) for mark, keep, personal in rows}


def leaning(found: Mapping[str, float]) -> Weights:
    """The log odds that a statement with these marks is meant for later, and for everywhere."""
    known = weights()
    rows = [(known[mark], value) for mark, value in found.items() if mark in known]
    rows.append((known[BIAS], 1.0))
    return Weights(
        keep=sum(weight.keep * value for weight, value in rows),
        personal=sum(weight.personal * value for weight, value in rows),
    )


def weighed_up(
    found: Formed, moment: Moment, at: int, *, backed: bool, joined: bool
) -> list[Judged]:
    """What the forms found in a statement, and what the weights make of it.

    A statement is `backed` by one behind it that says of it that it lasts, and `joined` when it is
    one half of something kept. No weight overrules a form that the judge knows.
    """
    verdicts = found.verdicts
    if verdicts and any(one.explicit for one in verdicts):
        return verdicts
    marked = marks(moment, at)
    if marked is None:
        return verdicts
    odds = leaning(marked)
    if verdicts and (joined or found.form == "judged"):
        return [_placed(one, odds.personal, STATED_FORMED) for one in verdicts]
    keep = odds.keep + BACKED * backed
    if not verdicts and keep >= ENOUGH:
        kept = leaned(moment.said[at], moment.around)
        verdicts = [] if kept is None else [kept]
    elif keep < TOO_LITTLE:
        return []
    return [_placed(one, odds.personal, STATED) for one in verdicts]


def _placed(verdict: Judged, personal: float, stated: float) -> Judged:
    """The verdict where it holds by its weights, unless it says so itself."""
    if verdict.kind in ("profile", "noted", "procedure", "pitfall"):
        return verdict
    if holds_for_all(verdict.text):
        return replace(verdict, scope="everywhere")
    if verdict.scope == "everywhere":
        kept = personal >= -EVERYWHERE
        return verdict if kept else replace(verdict, scope="project")
    personal += stated if verdict.scope == "as stated" else -stated
    return replace(verdict, scope="as stated" if personal >= PERSONAL else "project")
