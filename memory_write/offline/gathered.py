"""What a memory folder's inputs say, read back from their text: raw memories, notes, hand edits.

Pure and tolerant: a raw memory may also come from a language model, so any bullet in a known
section counts; one that is not understood is left out, never guessed at.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_write.offline.judge import KINDS, Kind, Scope, judge
from memory_write.offline.merging import NOTE_TAG as NOTE_TAG
from memory_write.offline.merging import Entry
from memory_write.offline.sentences import bare, statements
from memory_write.offline.wording import worded
from state.policy.corrections import read_correction
from state.policy.redaction import MARK

ENTRIES_PER_THREAD_MAX = 100

_THREAD = re.compile(r"^## Thread `([^`]+)`\s*$")
_HEADER = re.compile(r"^(updated_at|cwd|rollout_path|rollout_summary_file): (.*)$")
_FRONT = re.compile(r"^(task_outcome|task|cwd): (.*)$")
_SECTION = re.compile(r"^(?:#+ )?([A-Z][A-Za-z' ]+?):?\s*$")
_TAIL = re.compile(
    r"\s*\((profile|preference|rule|decision|procedure|pitfall|noted); (everywhere|project"
    r"|as stated)\)$"
)
_QUOTE = re.compile(r"^(?:.{0,200}?said:? )?\"(.*)\"$")
_FORGET = re.compile(
    r"^(?:please )?(?:forget|delete|remove|drop|unlearn|vergiss|olvida|oublie)\b"
    r"(?: the (?:fact|note|memory|preference))?(?: that| about| what i said about|,|:)? (.+)$",
    re.IGNORECASE,
)
_SECTIONS: dict[str, Kind] = {
    "preference signals": "preference",
    "reusable knowledge": "procedure",
    "failures and how to do differently": "pitfall",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInput:
    """One thread's part of the raw memories."""

    thread_id: str
    updated_at: str
    cwd: str
    rollout_path: str
    recap_name: str
    task: str
    outcome: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One ad-hoc note."""

    name: str
    text: str

    @property
    def said_at(self) -> str:
        """The time in its name, written as the raw memories write theirs."""
        stamp = self.name[:19]
        return f"{stamp[:10]}T{stamp[11:].replace('-', ':')}+00:00"


def threads(raw_memories: str) -> tuple[ThreadInput, ...]:
    """Every thread of `raw_memories.md`, in its order."""
    parts: list[tuple[str, list[str]]] = []
    for line in raw_memories.split("\n"):
        opened = _THREAD.match(line)
        if opened:
            parts.append((opened.group(1), []))
        elif parts:
            parts[-1][1].append(line)
    return tuple(_thread(thread_id, lines) for thread_id, lines in parts)


def _thread(thread_id: str, lines: list[str]) -> ThreadInput:
    header: dict[str, str] = {}
    front: dict[str, str] = {}
    bullets: list[tuple[Kind, str]] = []
    section: Kind | None = None
    for place, line in enumerate(lines):
        known = _HEADER.match(line)
        if known and place < 6:
            header.setdefault(known.group(1), known.group(2).strip())
            continue
        said = _FRONT.match(line)
        if said:
            front.setdefault(said.group(1), said.group(2).strip())
            continue
        heading = _SECTION.match(line)
        if heading:
            section = _SECTIONS.get(heading.group(1).lower())
        elif line.startswith("- ") and section is not None:
            bullets.append((section, line[2:].strip()))
    cwd = header.get("cwd", "")
    return ThreadInput(
        thread_id=thread_id,
        updated_at=header.get("updated_at", ""),
        cwd=cwd,
        rollout_path=header.get("rollout_path", ""),
        recap_name=header.get("rollout_summary_file", ""),
        task=front.get("task", ""),
        outcome=front.get("task_outcome", "uncertain"),
        entries=tuple(
            entry_of(kind, text, thread_id, cwd, header.get("updated_at", ""), place)
            for place, (kind, text) in enumerate(bullets[:ENTRIES_PER_THREAD_MAX])
        ),
    )


def entry_of(kind: Kind, text: str, thread_id: str, cwd: str, said_at: str, place: int) -> Entry:
    """The statement of one bullet of a thread."""
    scope: Scope = "as stated"
    tail = _TAIL.search(text)
    if tail:
        kind, scope = _kind(tail.group(1), kind), _scope(tail.group(2))
        text = text[: tail.start()]
    quote, arrow, implied = text.rpartition(" -> ")
    if not arrow:
        quote, implied = "", text
    quoted = _QUOTE.match(quote)
    return Entry(
        text=implied.strip(),
        quote=quoted.group(1) if quoted else quote.strip(),
        kind=kind,
        scope=scope,
        cwd=cwd,
        said_at=said_at,
        place=place,
        sources=(thread_id,),
    )


def _kind(name: str, otherwise: Kind) -> Kind:
    return next((kind for kind in KINDS if kind == name), otherwise)


def _scope(name: str) -> Scope:
    scopes: tuple[Scope, ...] = ("everywhere", "project", "as stated")
    return next((scope for scope in scopes if scope == name), "as stated")


def noted(notes: Iterable[Note]) -> tuple[Entry, ...]:
    """The statements of notes; a note was asked for, so what is not judged is kept as it stands."""
    found: list[Entry] = []
    for note in notes:
        correction = read_correction(note.text)
        said = note.text if correction is None else correction.new
        for place, statement in enumerate(statements(said)):
            verdict = judge(statement)
            text = verdict.text if verdict else bare(statement)
            if MARK in statement and MARK not in text:
                text = statement  # the mark looks like an aside, but the sentence ends with it
            if text.startswith("#") or len(text) < 4 or _FORGET.match(bare(statement)):
                continue
            found.append(
                Entry(
                    text=f"{worded(text)} {NOTE_TAG}",
                    quote=text,
                    kind=verdict.kind if verdict else "noted",
                    scope=verdict.scope if verdict else "as stated",
                    cwd="",
                    said_at=note.said_at,
                    place=place,
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """What a note asks to take out of memory."""

    text: str
    said_at: str
    whole: bool
    """Whether it names the statement itself, as a correction does, and not what it is about."""


def retractions(notes: Iterable[Note]) -> tuple[Retraction, ...]:
    """What notes ask to take out of memory."""
    found: list[Retraction] = []
    for note in notes:
        correction = read_correction(note.text)
        if correction is not None:
            found += (
                Retraction(text=old, said_at=note.said_at, whole=True) for old in correction.old
            )
            continue
        for statement in statements(note.text):
            asked = _FORGET.match(bare(statement))
            if asked:
                found.append(Retraction(text=asked[1], said_at=note.said_at, whole=False))
    return tuple(found)
