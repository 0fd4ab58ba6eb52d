"""Measures what the offline rules keep of the corpus, half by half.

Every session goes the way of a stored one: a rollout file, heard and redacted, through the port,
and back out of the raw memory that it leaves.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_write.offline.extraction import OfflineExtraction
from memory_write.offline.gathered import threads
from memory_write.offline.merging import Entry
from memory_write.ports import ExtractionRequest, ModelChoice
from server.evals.corpus import Part, Session, sessions
from server.evals.scoring import (
    Figures,
    Score,
    by_kind,
    by_language,
    by_look_alike,
    figures,
    score,
)
from server.evals.transcripts import heard
from state.rollouts.items import Transcript

RECALL_MIN = 0.80
PRECISION_MIN = 0.90
"""What the second half has to reach."""


SESSIONS_A_LINE = 100
"""A line about progress comes with so many."""


async def measured(
    part: Part, begun: Callable[[str], None] = lambda what: None
) -> tuple[Score, ...]:
    """The scores of a half's sessions; `begun` is told now and then how far it is.

    Raises: CommandFailed, OSError.
    """
    chosen = await _corpus(part)
    scores: list[Score] = []
    with tempfile.TemporaryDirectory(prefix="memoryd-eval-") as folder:
        for number, one in enumerate(chosen):
            if number % SESSIONS_A_LINE == 0:
                begun(f"{number} of {len(chosen)} sessions")
            scores.append(score(one, await kept(one, Path(folder))))
    return tuple(scores)


async def _corpus(part: Part) -> tuple[Session, ...]:
    return await asyncio.to_thread(sessions, part)


async def kept(session: Session, folder: Path) -> tuple[Entry, ...]:
    """What is kept of one session.

    Raises: OSError.
    """
    transcript = await asyncio.to_thread(heard, session, folder)
    reply = await OfflineExtraction().extract(_request(transcript))
    raw = json.loads(reply.text)["raw_memory"]
    head = f"## Thread `{transcript.thread_id}`\ncwd: {session.cwd}\n\n"
    return threads(head + raw)[0].entries


def _request(transcript: Transcript) -> ExtractionRequest:
    return ExtractionRequest(
        version="v1",
        thread_id=transcript.thread_id,
        cwd=transcript.cwd,
        git_branch=None,
        rollout_path="sessions/eval.jsonl",
        transcript=transcript,
        instructions="",
        input_text="",
        output_schema={},
        model=ModelChoice(),
    )


def as_table(part: Part, scores: tuple[Score, ...]) -> list[str]:
    """A half's figures for a person."""
    whole = figures("all", scores)
    lines = [
        f"extraction, part {part}: {whole.sessions} sessions, {whole.statements} right statements,"
        f" {whole.look_alikes} look-alikes",
        "",
        f"{'language':<10}{'sessions':>9}{'right':>7}{'recalled':>10}{'recall':>8}"
        f"{'kept':>6}{'good':>6}{'precision':>11}{'look-alikes kept':>18}",
    ]
    lines += [_row(one) for one in (*by_language(scores), whole)]
    lines += ["", "recalled by kind: " + _shares(by_kind(scores))]
    lines += ["look-alikes kept: " + _shares(by_look_alike(scores))]
    lines += [
        f"kind as labelled: {sum(one.of_its_kind for one in scores)} of {whole.recalled}",
        f"target: recall {RECALL_MIN:.2f}, precision {PRECISION_MIN:.2f}"
        f" -> {'reached' if reached(whole) else 'NOT reached'}",
    ]
    return lines


def reached(whole: Figures) -> bool:
    """Whether both targets are met."""
    return whole.recall >= RECALL_MIN and whole.precision >= PRECISION_MIN


def as_object(part: Part, scores: tuple[Score, ...]) -> dict[str, Any]:
    """A half's figures for a program."""
    whole = figures("all", scores)
    return {
        "part": part,
        "recall": round(whole.recall, 4),
        "precision": round(whole.precision, 4),
        "targets": {"recall": RECALL_MIN, "precision": PRECISION_MIN, "reached": reached(whole)},
        "all": _object(whole),
        "languages": [_object(one) for one in by_language(scores)],
        "kinds": {
            kind: {"recalled": got, "statements": of} for kind, (got, of) in by_kind(scores).items()
        },
        "lookAlikes": {
            why: {"kept": got, "shown": of} for why, (got, of) in by_look_alike(scores).items()
        },
        "kindAsLabelled": sum(one.of_its_kind for one in scores),
    }


def misses(scores: tuple[Score, ...]) -> list[str]:
    """What was missed and what was wrong, session by session, for those who work on the rules."""
    lines: list[str] = []
    for one in scores:
        if one.missed or one.wrong:
            lines.append(f"== {one.session.language} {one.session.name}")
        lines += [
            f"  missed {right.kind} {'|'.join(sorted(right.scopes))}: {right.terms.all_of}"
            for right in one.missed
        ]
        lines += [f"  wrong ({entry.kind}; {entry.scope}): {entry.text}" for entry in one.wrong]
    return lines


def _object(one: Figures) -> dict[str, Any]:
    return {
        "name": one.name,
        "sessions": one.sessions,
        "statements": one.statements,
        "recalled": one.recalled,
        "recall": round(one.recall, 4),
        "kept": one.kept,
        "right": one.right,
        "precision": round(one.precision, 4),
        "lookAlikes": one.look_alikes,
        "lookAlikesKept": one.look_alikes_kept,
    }


def _row(one: Figures) -> str:
    return (
        f"{one.name:<10}{one.sessions:>9}{one.statements:>7}{one.recalled:>10}{one.recall:>8.2f}"
        f"{one.kept:>6}{one.right:>6}{one.precision:>11.2f}"
        f"{f'{one.look_alikes_kept} of {one.look_alikes}':>18}"
    )


def _shares(counts: dict[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name} {got} of {of}" for name, (got, of) in counts.items())
