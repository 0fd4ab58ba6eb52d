"""A number that a person's note gives stands against one that a model inferred; pure.

Invariant: where a line to be published gives another number for the same thing than a note that
stands in the folder, the note's sentence takes its place, and the handbook, or the summary of a
version without one, lists both. What the user said in a session after the note is no inference.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_write.recipes import Recipe
from state.policy.redaction import redact
from state.workspace.layout import HANDBOOK, NOTES, RECAPS
from state.workspace.snapshot import FileContent, Snapshot

STATEMENTS_MAX = 500
SHARE_MIN = 0.6
WORDS_MIN = 2
HOLDS = "A session says otherwise, and the note holds:"
_TOKEN = re.compile(r"\d+(?:[.:]\d+)*|[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)")
_UPDATED = re.compile(r"^updated_at: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", re.MULTILINE)
_ORDER = re.compile(
    r"^\W*(?:please\s+)?(?:forget|delete|remove|drop|stop|vergiss|olvida|oublie)", re.I
)
_USER = re.compile(r"\b(?:user|person)\b|[\"“”«»]", re.IGNORECASE)
_FORM = re.compile(
    r"^\s*(?:#|v1$|scope:|applies_to:|---|`{3,}|- (?:rollout_summaries|extensions)/)"
)
_BULLET = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)?(.*)$")
_COMMON = frozenset(
    """a an the this that of in on at by for from with to into is are was were be been and or not no
    it its as we our us my i you your user always never now use uses using used should must will
    der die das ein eine und ist auf im mit für""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence with numbers, as far as two of them can be held against each other."""

    text: str
    words: frozenset[str]
    numbers: frozenset[str]
    slots: frozenset[tuple[str, str]]
    """Of each number the word before it and the word behind it, each with the number."""
    at: str = ""
    """When it was noted, as text that can be compared."""

    def is_of(self, other: "Statement") -> bool:
        """Whether the other one speaks of what this one speaks of."""
        shared = self.words & other.words
        return len(shared) >= WORDS_MIN and len(shared) >= SHARE_MIN * len(self.words)

    def contradicts(self, other: "Statement") -> bool:
        """Whether the other one gives the same thing another number."""
        if not self.is_of(other) or self.numbers & other.numbers:
            return False
        mine = {word for word, _ in self.slots}
        return bool(mine & {word for word, _ in other.slots})


def with_notes_held(written: Snapshot, offered: Snapshot, recipe: Recipe) -> tuple[Snapshot, int]:
    """The result in which the notes hold, and how many lines said otherwise."""
    notes = _standing(offered)
    if not notes:
        return written, 0
    said = _said_later(offered)
    listing = HANDBOOK if HANDBOOK in recipe.artefacts else recipe.summary_file
    files, count = dict(written.files), 0
    for path, file in written.files.items():
        if not recipe.writable(path) or not path.endswith(".md"):
            continue
        text = written.text(path) or ""
        lines = [_held(line, notes, said, lists=path == listing) for line in text.split("\n")]
        held = "\n".join(lines)
        if held != text:
            count += sum(new != old for new, old in zip(lines, text.split("\n"), strict=True))
            files[path] = FileContent(data=held.encode(), executable=file.executable)
    return Snapshot(files=files, odd=written.odd), count


def _held(line: str, notes: list[Statement], said: list[Statement], *, lists: bool) -> str:
    if _FORM.match(line) or HOLDS in line:
        return line
    match = _BULLET.match(line)
    here = _statement(line)
    if match is None or not here.numbers:
        return line
    for note in notes:
        if not note.contradicts(here):
            continue
        if any(one.at > note.at and one.numbers & here.numbers and one.is_of(note) for one in said):
            return line
        bullet, rest = match[1] or "", match[2].strip()
        return f"{bullet}{note.text} {HOLDS} {rest}" if lists else f"{bullet}{note.text}"
    return line


def _standing(offered: Snapshot) -> list[Statement]:
    """What the notes say, the latest first; of two that contradict each other the later."""
    found: list[Statement] = []
    for path in sorted(offered.below(NOTES), reverse=True):
        stamp = _STAMP.search(path)
        at = "" if stamp is None else f"{stamp[1]}T{stamp[2]}:{stamp[3]}:{stamp[4]}"
        for sentence in _sentences(redact(offered.text(path) or "")):
            if _ORDER.match(sentence):
                continue
            one = _statement(sentence, at)
            if one.numbers and len(one.words) >= WORDS_MIN:
                if not any(later.contradicts(one) for later in found):
                    found.append(one)
            if len(found) >= STATEMENTS_MAX:
                return found
    return found


def _said_later(offered: Snapshot) -> list[Statement]:
    """What recaps give as the user's own words, with the time of their session."""
    found: list[Statement] = []
    for path in offered.below(RECAPS):
        text = offered.text(path) or ""
        updated = _UPDATED.search(text)
        if updated is None:
            continue
        for line in text.split("\n"):
            if _USER.search(line) and (one := _statement(line, updated[1])).numbers:
                found.append(one)
    return found


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        cleaned = sentence.strip().lstrip("-*+ ").strip()
        if cleaned:
            yield cleaned


def _statement(text: str, at: str = "") -> Statement:
    tokens = [token.casefold() for token in _TOKEN.findall(text) if token.casefold() not in _COMMON]
    slots: set[tuple[str, str]] = set()
    for place, token in enumerate(tokens):
        if not token[0].isdigit():
            continue
        for near in (place - 1, place + 1):
            if 0 <= near < len(tokens) and not tokens[near][0].isdigit():
                slots.add((tokens[near], token))
    return Statement(
        text=text.strip(),
        words=frozenset(_stem(one) for one in tokens if not one[0].isdigit()),
        numbers=frozenset(one for one in tokens if one[0].isdigit()),
        slots=frozenset(slots),
        at=at,
    )


def _stem(word: str) -> str:
    for ending in ("ing", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending)
    return word
