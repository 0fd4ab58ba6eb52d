"""The corpus of sessions that extraction is measured on: what was said, and what may be kept of it.

A file holds sessions of one language. `=== name | folder` opens one, `@u`, `@a`, `@file`, `@run`
and `@exit` its items, `@labels` what is right and wrong to keep. `+ kind scope: terms` is a right
statement, `- why: terms` a look-alike that must leave nothing, `~ terms` what may be kept or left:
half of a right statement, or a fact of little use. Terms are joined by `;` (all of them),
`|` (one of them) and `!` (not this one).

Invariant: a session is read as it stands or refused; a label without terms does not exist.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from server.errors import CommandFailed

Part = Literal["dev", "final"]
PARTS: tuple[Part, ...] = ("dev", "final")
LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "es": "Spanish",
    "de": "German",
    "fr": "French",
}
SCOPES = frozenset({"user", "project"})
KINDS = ("preference", "correction", "decision", "procedure", "pitfall")
_RIGHT = re.compile(r"^\+ (\w+) (\S+): (.+)$")
_EITHER = re.compile(r"^~ (.+)$")
_WRONG = re.compile(r"^- ([\w-]+): (.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Words by which it is told whether a text says something."""

    all_of: tuple[tuple[str, ...], ...]
    none_of: tuple[str, ...] = ()

    def covered_by(self, text: str) -> bool:
        """Whether the text holds one word of each group and none of the others."""
        return all(any(_holds(text, one) for one in group) for group in self.all_of) and not any(
            _holds(text, one) for one in self.none_of
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A statement that must be kept."""

    kind: str
    scopes: frozenset[str]
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAlike:
    """Something said or shown that must not be kept."""

    why: str
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that happened; a `run` has a status and an output."""

    kind: Literal["user", "assistant", "file", "run"]
    text: str
    output: str = ""
    status: int = 0


@dataclass(slots=True, kw_only=True)
class Session:
    """One session with its labels; filled while it is read."""

    name: str
    language: str
    cwd: str
    items: list[Item] = field(default_factory=list)
    right: list[Right] = field(default_factory=list)
    look_alikes: list[LookAlike] = field(default_factory=list)
    either: list[Terms] = field(default_factory=list)
    """What may be kept or left; an entry of this kind counts neither way."""


def sessions(part: Part) -> tuple[Session, ...]:
    """All sessions of a half, language by language; none where a half waits to be written.

    Raises: CommandFailed.
    """
    folder = files("server.evals") / "extraction" / part
    found: list[Session] = []
    for language in LANGUAGES:
        file = folder / f"{language}.txt"
        if file.is_file():
            found.extend(read(file.read_text("utf-8"), language=language))
    return tuple(found)


def read(text: str, *, language: str) -> tuple[Session, ...]:
    """The sessions in a text.

    Raises: CommandFailed.
    """
    found: list[Session] = []
    for mark, head, body in _blocks(text):
        if mark == "===":
            name, _, cwd = head.partition(" | ")
            found.append(Session(name=name.strip(), language=language, cwd=cwd.strip()))
        elif not found:
            raise CommandFailed(f"the corpus has `{mark}` before any session")
        elif mark == "@labels":
            _labels(found[-1], body)
        else:
            _item(found[-1], mark, head, body)
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Each mark with what stands behind it and the lines up to the next one."""
    mark, head = "", ""
    lines: list[str] = []
    for line in text.split("\n"):
        opened = re.match(r"(===|@(?:u|a|file|run|exit|labels)\b)(.*)$", line)
        if opened is None:
            lines.append(line)
            continue
        if mark:
            yield mark, head, "\n".join(lines).strip("\n")
        mark, head = opened.group(1), opened.group(2).strip()
        lines = []
    if mark:
        yield mark, head, "\n".join(lines).strip("\n")


def _item(session: Session, mark: str, head: str, body: str) -> None:
    match mark:
        case "@u":
            session.items.append(Item(kind="user", text=body))
        case "@a":
            session.items.append(Item(kind="assistant", text=body))
        case "@file":
            session.items.append(Item(kind="file", text=f"{head}\n{body}" if head else body))
        case "@run":
            session.items.append(Item(kind="run", text=head))
        case _:
            run = session.items.pop()
            session.items.append(
                Item(kind="run", text=run.text, output=body, status=int(head or 0))
            )


def _labels(session: Session, body: str) -> None:
    for line in filter(None, (line.strip() for line in body.split("\n"))):
        right, wrong = _RIGHT.match(line), _WRONG.match(line)
        if right and right.group(1) in KINDS:
            scopes = SCOPES if right.group(2) == "any" else frozenset(right.group(2).split("|"))
            session.right.append(
                Right(kind=right.group(1), scopes=scopes, terms=_terms(right.group(3)))
            )
        elif either := _EITHER.match(line):
            session.either.append(_terms(either.group(1)))
        elif wrong:
            session.look_alikes.append(LookAlike(why=wrong.group(1), terms=_terms(wrong.group(2))))
        else:
            raise CommandFailed(f"the corpus has a label that is none: {line}")


def _terms(text: str) -> Terms:
    groups = [one.strip() for one in text.split(";")]
    return Terms(
        all_of=tuple(tuple(g.split("|")) for g in groups if g and not g.startswith("!")),
        none_of=tuple(g[1:] for g in groups if g.startswith("!")),
    )


def _holds(text: str, term: str) -> bool:
    """Whether the text holds the term where a word begins; other scripts have no such place."""
    begins = r"(?<!\w)" if re.match(r"[a-zA-Z0-9À-ÿ]", term) else ""
    ascii_only = "" if not begins else begins.replace(r"\w", "[a-zA-Z0-9_À-ÿ]")
    return re.search(ascii_only + re.escape(term.lower()), text.lower()) is not None
