"""Whether the marks of a statement speak for keeping it: their weights, added up; pure.

The weights are learned once from the sessions of `server/evals/extraction/dev` and committed, one
mark a line, so that each can be read. Secrets and what is none of the user's own words are left out
before; what the forms refuse is a mark like others, and a heavy one.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from memory_write.offline.backward import holds_for_all
from memory_write.offline.forms import Formed
from memory_write.offline.judge import Judged
from memory_write.offline.loose import leaned
from memory_write.offline.marks import REFUSED_MARK, marks
from memory_write.offline.moments import Moment

ENOUGH = 0.6
"""Log odds above which a statement is kept that no form knows."""
REFUSED = 0.5
"""How much more is asked of one that the forms refuse."""
TOO_LITTLE = 0.1
"""Log odds below which one is left whose signs are those of a rule."""
BESIDE_TASK = -1.5
"""Log odds below which a taste or a trait is left that is told along with the first task."""
EVERYWHERE = 0.5
"""What a word such as `everywhere` counts for."""
STATED_FORMED = 0.5
"""The same for the scope that the judge tells."""
BACKED = 1.5
STATED = 0.2
"""How much the scope that the signs tell counts beside the weights."""
BIAS = "always"

PERSONAL = -0.3
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
    keep = personal = 0.0
    for mark, value in (*found.items(), (BIAS, 1.0)):
        if (weight := known.get(mark)) is not None:
            keep += weight.keep * value
            personal += weight.personal * value
    return Weights(keep=keep, personal=personal)


def weighed_up(
    found: Formed, moment: Moment, at: int, *, backed: bool, joined: bool
) -> list[Judged]:
    """What the forms found in a statement, and what the weights make of it.

    A statement is `backed` by one behind it that says of it that it lasts, and `joined` when it is
    one half of something kept. No weight overrules a form that the judge knows, but
    for a taste or a trait told along with the first task.
    """
    verdicts = found.verdicts
    if verdicts and any(one.explicit for one in verdicts):
        return verdicts
    marked = marks(moment, at)
    if marked is None:
        return verdicts
    odds = leaning(marked)
    keep = odds.keep + BACKED * backed
    judged = found.form == "judged"
    least = TOO_LITTLE if not judged else BESIDE_TASK if _beside_task(found, moment) else -math.inf
    stated = STATED_FORMED if verdicts and (joined or judged) else STATED
    refused = REFUSED * any(mark.startswith(REFUSED_MARK) for mark in marked)
    if not verdicts and keep >= ENOUGH + refused:
        kept = leaned(moment.said[at], moment.around)
        verdicts = [] if kept is None else [kept]
    elif keep < least and not joined:
        return []
    return [_placed(one, odds.personal, stated) for one in verdicts]


def _beside_task(found: Formed, moment: Moment) -> bool:
    told = all(one.kind in ("profile", "preference") for one in found.verdicts)
    return told and moment.opening and len(moment.said) > 1


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
