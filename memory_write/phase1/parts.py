"""A session too long for one call is heard in parts; pure.

Only where what was said, without any noise, is more than a model's window takes. Invariant: parts
follow each other, each fits the window, their number is bounded; of more than that the first, the
last and those evenly between are heard, and what comes of them says that it is not all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from memory_write.phase1.output import Extracted
from memory_write.phase1.tiers import Tier, rows_of
from memory_write.phase1.transcript import THIN_STEPS, thinned
from memory_write.recipes import Recipe
from state.policy.density import dense_tokens
from state.rollouts.items import Transcript

FILL_PERCENT = 90
"""How full a part is made: its last item may count more together than alone."""
_FRONT = re.compile(r"\A\s*---\n.*?\n---\n", re.DOTALL)
_TASK = re.compile(r"^(#{2,4} Task )(\d+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is heard of a session, in order."""

    parts: tuple[Transcript, ...]
    total: int
    """How many parts there would be if all were heard."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out between the parts."""
        return len(self.parts) == self.total


def parts_of(transcript: Transcript, recipe: Recipe, *, tokens_max: int, parts_max: int) -> Parts:
    """The parts to hear; mostly one, the session itself. Takes time for a long one."""
    costs = _said(transcript, recipe)
    if sum(costs) <= tokens_max or len(costs) < 2:
        return Parts(parts=(transcript,), total=1)
    room = max(1, tokens_max * FILL_PERCENT // 100)
    cuts, filled = [0], 0
    for place, cost in enumerate(costs):
        if filled and filled + cost > room:
            cuts.append(place)
            filled = 0
        filled += cost
    edges = [*cuts, len(costs)]
    chosen = _spread(len(cuts), parts_max)
    return Parts(
        parts=tuple(
            replace(transcript, items=transcript.items[edges[one] : edges[one + 1]])
            for one in chosen
        ),
        total=len(cuts),
    )


def joined(heard: Sequence[Extracted], parts: Parts) -> Extracted:
    """One result for the session; parts that gave nothing are left out."""
    kept = [one for one in heard if not one.is_empty]
    if not kept:
        return heard[0]
    recap = "\n\n".join(one.rollout_summary.strip() for one in kept)
    if not parts.is_whole:
        recap += f"\n\n(This session was heard in part: {len(parts.parts)} of {parts.total} parts.)"
    raws = [one.raw_memory for one in kept if one.raw_memory is not None]
    return Extracted(
        rollout_summary=recap,
        rollout_slug=next((one.rollout_slug for one in kept if one.rollout_slug), None),
        raw_memory=_one_raw_memory(raws) if raws else None,
    )


def _said(transcript: Transcript, recipe: Recipe) -> list[int]:
    """What each item counts when everything but what was said is cut to the bone."""
    if recipe.tiered_input:
        rows = rows_of(transcript)
        return [dense_tokens(row.text) if row.tier is Tier.HUMAN else 0 for row in rows]
    bare = thinned(transcript, THIN_STEPS[-1])
    return [dense_tokens(orjson.dumps(dict(item.raw)).decode()) for item in bare.items]


def _spread(count: int, most: int) -> list[int]:
    """The first, the last and those evenly between."""
    if count <= most:
        return list(range(count))
    if most < 2:
        return [0]
    return sorted({place * (count - 1) // (most - 1) for place in range(most)})


def _one_raw_memory(raws: Sequence[str]) -> str:
    """One head, and the tasks of all parts numbered on."""
    whole, tasks = raws[0].strip(), 0
    tasks = max((int(match[2]) for match in _TASK.finditer(whole)), default=0)
    for raw in raws[1:]:
        body, before = _FRONT.sub("", raw).strip(), tasks

        def onward(match: re.Match[str], before: int = before) -> str:
            return f"{match[1]}{before + int(match[2])}"

        tasks += max((int(match[2]) for match in _TASK.finditer(body)), default=0)
        whole += f"\n\n{_TASK.sub(onward, body)}"
    return whole + "\n"
