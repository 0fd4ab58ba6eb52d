"""From a transcript to the entries that it supports, with what the user was answered to.

Only items of the kind `user` are ever looked at for what is kept: what tools, pages, instruction
files or the assistant said cannot become memory here.
"""

import re
from dataclasses import dataclass, replace

from memory_write.offline.implied import implied
from memory_write.offline.judge import Judged, is_secret, judge
from memory_write.offline.languages.english_words import VERBS
from memory_write.offline.merging import Entry, merged
from memory_write.offline.sentences import bare, statements
from memory_write.offline.wording import worded
from state.policy.redaction import contains_secret
from state.rollouts.items import Transcript, TranscriptItem

USER_ITEMS_MAX = 2_000
ENTRIES_MAX = 100
FEEDBACK_WORDS = 4
_ORDER = rf" and (?=(?:also |always |never |do not |don't )?{VERBS} )"
_JOINED_ORDERS = re.compile(f",?{_ORDER}", re.IGNORECASE)
_AFTER_COMMA = re.compile(f",{_ORDER}", re.IGNORECASE)
# In `I live here and use that` the second verb has the subject of the first.
_OF_SELF = re.compile(r"(?:.{1,30}, )?(?:i|we|the user)\b", re.IGNORECASE)
_GOOD = frozenset(
    "good great perfect thanks thank nice works excellent lovely danke merci gracias".split()
)
_BAD = frozenset("wrong broken fails fail failing still nope no".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a session leaves."""

    entries: tuple[Entry, ...]
    outcome: str
    """`success`, `partial` or `uncertain`, by what the user said last about the work."""
    lines: dict[str, int]
    """The rollout line of each quote."""


def listen(transcript: Transcript) -> Heard:
    """All that the user's own words say for later, duplicates merged, corrected ones replaced."""
    found: list[Entry] = []
    lines: dict[str, int] = {}
    asked: str | None = None
    answered = False
    for item in _bounded(transcript.items):
        if item.kind == "assistant":
            answered = True
        if item.kind != "user":
            continue
        for entry in _entries(item, transcript, asked if answered else None, len(found)):
            found.append(entry)
            lines.setdefault(entry.quote, item.line)
            if len(found) >= ENTRIES_MAX:
                return Heard(entries=merged(found), outcome=_outcome(transcript), lines=lines)
        asked, answered = item.text[:400], False
    return Heard(entries=merged(found), outcome=_outcome(transcript), lines=lines)


def _bounded(items: tuple[TranscriptItem, ...]) -> tuple[TranscriptItem, ...]:
    spoken = tuple(item for item in items if item.kind in ("user", "assistant"))
    return spoken[-2 * USER_ITEMS_MAX :]


def _entries(
    item: TranscriptItem, transcript: Transcript, asked: str | None, first_place: int
) -> list[Entry]:
    found: list[Entry] = []
    for statement in statements(item.text):
        if contains_secret(statement) or is_secret(statement):
            continue
        place = first_place + len(found)
        verdicts = _verdicts(statement)
        if verdicts:
            found += [
                _entry(verdict, transcript, place + number)
                for number, verdict in enumerate(verdicts)
            ]
        elif (pointed := implied(bare(statement), asked=asked)) is not None:
            found.append(
                Entry(
                    text=pointed,
                    quote=bare(statement),
                    kind="preference",
                    scope="project",
                    cwd=transcript.cwd,
                    said_at="",
                    place=place,
                    sources=(transcript.thread_id,),
                )
            )
    return found


def _verdicts(statement: str) -> list[Judged]:
    """A statement, or the several that it joins: `always do this, and keep that short`."""
    whole = judge(statement)
    if whole is None:
        return []
    first, *more = (_AFTER_COMMA if _OF_SELF.match(whole.text) else _JOINED_ORDERS).split(
        whole.text
    )
    head = judge(first)
    if head is None or not more:
        return [whole]
    parts = [replace(whole, text=first.strip())]
    for part in more:
        # How long the first half holds is said once and meant for both.
        tail = judge(part) or judge(f"from now on {part}")
        if tail is None:
            return [whole]
        parts.append(replace(whole, text=part.strip(), kind=tail.kind))
    return parts


def _entry(verdict: Judged, transcript: Transcript, place: int) -> Entry:
    return Entry(
        text=worded(verdict.text),
        quote=verdict.text,
        kind=verdict.kind,
        scope=verdict.scope,
        cwd=transcript.cwd,
        said_at="",
        place=place,
        sources=(transcript.thread_id,),
    )


def _outcome(transcript: Transcript) -> str:
    """Judged conservatively: only the user's last words count, and only after an answer."""
    last = [item for item in transcript.items if item.kind in ("user", "assistant")]
    for item in reversed(last):
        if item.kind == "user":
            said = set(
                item.text.lower().replace(",", " ").replace(".", " ").split()[:FEEDBACK_WORDS]
            )
            if said & _BAD:
                return "partial"
            return "success" if said & _GOOD else "uncertain"
    return "uncertain"
