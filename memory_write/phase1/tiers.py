"""The conversation by tiers of who speaks: under pressure the user's words go last, noise first.

Pure, and each constant has its one home here. Invariant: what is shown stands in the order of the
session, every gap says that it is one, and the whole never counts above the tokens allowed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import orjson

from state.policy.budget import BYTES_PER_TOKEN, truncate_middle_bytes
from state.policy.density import bytes_for, dense_tokens
from state.policy.redaction import redact
from state.rollouts.items import Transcript, TranscriptItem, TranscriptKind

GAP = "[... response items omitted ...]\n"
MARKER_BYTES = 96
"""Kept free for the marker of a cut, which comes on top of what is kept."""
TOOL_OUTPUT_BYTES_MAX = 8_000
ROW_BYTES_MAX = 10_000
ASKING_TOOL = "request_user_input"
_OWN_NAMESPACES = (None, "functions")
_FITTINGS_MAX = 24


class Tier(IntEnum):
    """Who speaks; the first have their place before the later ones."""

    HUMAN = 0
    FINAL = 1
    OTHER_AGENT = 2
    COMMENTARY = 3
    CONTEXT = 4
    TOOL = 5


LABELS: Mapping[Tier, str] = {
    Tier.HUMAN: "human user",
    Tier.FINAL: "assistant final",
    Tier.OTHER_AGENT: "other agent",
    Tier.COMMENTARY: "assistant commentary",
    Tier.CONTEXT: "harness context",
    Tier.TOOL: "tool",
}
_TIERS: Mapping[TranscriptKind, Tier] = {
    "user": Tier.HUMAN,
    "assistant": Tier.FINAL,
    "agent": Tier.OTHER_AGENT,
    "commentary": Tier.COMMENTARY,
    "context": Tier.CONTEXT,
    "tool_call": Tier.TOOL,
    "tool_output": Tier.TOOL,
    "web_search": Tier.TOOL,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One item as the model may see it, labelled, redacted and cut to its own bound."""

    tier: Tier
    text: str


def render_tiered(transcript: Transcript, *, tokens_max: int) -> str:
    """The conversation within so many tokens; empty when not even one gap would fit."""
    rows = tuple(rows_of(transcript))
    counted = sum(dense_tokens(row.text) for row in rows)
    budget = tokens_max * BYTES_PER_TOKEN
    if counted > tokens_max:
        size = sum(len(row.text.encode()) for row in rows)
        budget = bytes_for(size, counted, tokens_max)
    for _ in range(_FITTINGS_MAX):
        text = within(rows, bytes_max=budget)
        counted = dense_tokens(text)
        if counted <= tokens_max:
            return text
        # What is shown is denser than the session as a whole.
        budget = budget * tokens_max // counted - budget // 32 - 1
    return ""


def rows_of(transcript: Transcript) -> Iterator[Row]:
    """Every item as a row, in order."""
    asked: dict[str, str] = {}
    for item in transcript.items:
        _note_question(item, asked)
        question = _answered(item, asked)
        tier = _TIERS[item.kind] if question is None else Tier.HUMAN
        said = orjson.dumps(dict(item.raw)).decode()
        if question is not None:
            said = f"Assistant question: {question}\nHuman reply: {said}"
        text = redact(said)
        if tier is Tier.TOOL and item.kind == "tool_output":
            text = truncate_middle_bytes(text, bytes_max=TOOL_OUTPUT_BYTES_MAX - MARKER_BYTES)
        text = truncate_middle_bytes(text, bytes_max=ROW_BYTES_MAX - MARKER_BYTES)
        yield Row(tier, f"[{LABELS[tier]}]\n{text}\n")


def within(rows: Sequence[Row], *, bytes_max: int) -> str:
    """The rows that fit, the newest of each tier first, shown in order with their gaps."""
    gap = len(GAP)
    left = bytes_max - gap
    taken: dict[int, str] = {}
    newest_first = sorted(range(len(rows)), key=lambda place: (rows[place].tier, -place))
    for place in newest_first:
        if left <= gap + MARKER_BYTES:
            break
        text, room = rows[place].text, left - gap
        if len(text.encode()) > room:
            text = truncate_middle_bytes(text, bytes_max=room - MARKER_BYTES)
        taken[place] = text
        left -= len(text.encode()) + gap
    shown: list[str] = []
    for place in range(len(rows)):
        if place in taken:
            shown.append(taken[place])
        elif not shown or shown[-1] is not GAP:
            shown.append(GAP)
    text = "".join(shown)
    return text if len(text.encode()) <= bytes_max else ""


def _note_question(item: TranscriptItem, asked: dict[str, str]) -> None:
    raw = item.raw
    if item.kind != "tool_call" or raw.get("name") != ASKING_TOOL:
        return
    call_id, arguments = raw.get("call_id"), raw.get("arguments")
    if raw.get("namespace") in _OWN_NAMESPACES and isinstance(call_id, str):
        asked[call_id] = arguments if isinstance(arguments, str) else ""


def _answered(item: TranscriptItem, asked: dict[str, str]) -> str | None:
    """The question that a tool output is the person's answer to."""
    call_id = item.raw.get("call_id")
    if item.kind != "tool_output" or call_id not in asked:
        return None
    if not _holds_an_answer(item.raw.get("output")):
        return None
    return asked.pop(call_id)


def _holds_an_answer(output: Any) -> bool:
    if isinstance(output, Mapping):
        output = output.get("content", output.get("text"))
    if not isinstance(output, str):
        return False
    try:
        value = orjson.loads(output)
    except orjson.JSONDecodeError:
        return False
    answers = value.get("answers") if isinstance(value, dict) else None
    if not isinstance(answers, dict):
        return False
    return any(text.strip() for answer in answers.values() for text in _texts(answer))


def _texts(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        answer = answer.get("answers")
    for text in answer if isinstance(answer, list) else [answer]:
        if isinstance(text, str):
            yield text
