"""What restored memory says, read back from its handbook and summary: entries of that origin.

Pure. The files come from an export that the user made, so their statements stand as such; nobody
said them here, so they keep apart from preferences and tips, and what sessions say wins over them.
"""

import re
from collections.abc import Iterable, Sequence

from memory_write.offline.hand_edits import REMOVED_PREFIX, statement_of
from memory_write.offline.judge import Kind
from memory_write.offline.merging import NOTE_TAG, Entry
from state.policy.portable import FOLDER
from state.policy.redaction import redact

RESTORED_SOURCE = "restored_memory"
"""In place of a thread id, since its sessions are not here."""
RESTORED_HEADING = "### Restored from an export"
ENTRIES_MAX = 1_000
CHARS_MAX = 1_000
SUMMARY_BYTES_MAX = 2_000
_NAME = re.compile(r"-(?:handbook|summary)(?:-part[0-9]+)?\.md$")
_STATEMENTS = "Restored statements"
_HEADING = re.compile(r"#{1,6} (.*\S)")
_APPLIES = re.compile(r"applies_to: cwd=([^;\n]+)")
_SECTIONS: dict[str, Kind] = {
    "user profile": "profile",
    "user preferences": "preference",
    "kept as edited by hand": "preference",
    "restored from an export": "preference",
    "general tips": "procedure",
    "reusable knowledge": "procedure",
    "failures and how to do differently": "pitfall",
}
_IN_PLACE = re.compile(r"\(in ([^()\n]{1,80})\)\s*$")
_RESTORED_PLACE = "restored memory"
_TAKEN_OUT = re.compile(r"\[(?:withheld|corrected)\b")


def has_statements(path: str) -> bool:
    """Whether a file of restored memory is one of a handbook or a summary."""
    return _NAME.search(path) is not None


def restored_entries(texts: Iterable[str]) -> tuple[Entry, ...]:
    """The statements of these files, each once, in their order."""
    found: dict[str, Entry] = {}
    for text in texts:
        kind: Kind | None = None
        cwd = ""
        for line in text.split("\n"):
            if heading := _HEADING.match(line):
                title, _, place = heading[1].partition(" for ")
                if title == _STATEMENTS:
                    kind, cwd = "preference", place  # that memory had been restored itself
                    continue
                kind = _SECTIONS.get(heading[1].casefold())
                if line.startswith("# "):
                    cwd = ""
            elif applies := _APPLIES.match(line):
                cwd = applies[1].strip()
            elif kind is not None and line.startswith("- ") and len(found) < ENTRIES_MAX:
                said = _said(line)
                if said and said not in found:
                    found[said] = _entry(said, kind, cwd or _place(line), len(found))
    return tuple(found.values())


def render_restored(entries: Sequence[Entry]) -> str:
    """Their block of the handbook; empty without any."""
    if not entries:
        return ""
    lines = [
        "# Task Group: restored from an export",
        "",
        "scope: what the memory of another home said, or of this one at an earlier time",
        "applies_to: cwd=any; reuse_rule=hold unless something said here differs",
        "",
        "## Task 1: statements of restored memory, unchecked",
    ]
    places = dict.fromkeys(entry.cwd for entry in entries)
    for cwd in places:
        lines += ["", f"### {_STATEMENTS}{f' for {cwd}' if cwd else ''}", ""]
        lines += [f"- {entry.text} [Task 1]" for entry in entries if entry.cwd == cwd]
    return "\n".join(lines) + "\n"


def restored_lines(entries: Sequence[Entry], *, bytes_left: int) -> str:
    """The end of a summary: the first of them that fit; empty without any or room."""
    left = min(SUMMARY_BYTES_MAX, bytes_left - len(RESTORED_HEADING) - 3)
    lines: list[str] = []
    for entry in entries:
        line = f"- {entry.text} (in {_RESTORED_PLACE})"
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(["", RESTORED_HEADING, "", *lines]) + "\n" if lines else ""


def _said(line: str) -> str:
    """The statement of a bullet; empty where it is none."""
    if line.startswith(REMOVED_PREFIX) or _TAKEN_OUT.search(line):
        return ""
    said = redact(statement_of(line)).removesuffix(NOTE_TAG).strip()
    return said if 4 <= len(said) <= CHARS_MAX else ""


def _place(line: str) -> str:
    """The folder of work that a line of a summary names behind its statement."""
    place = _IN_PLACE.search(line)
    return f"{FOLDER}/{place[1]}" if place and place[1] != _RESTORED_PLACE else ""


def _entry(said: str, kind: Kind, cwd: str, place: int) -> Entry:
    return Entry(
        text=said,
        quote="",
        kind=kind,
        scope="as stated",
        cwd="" if cwd in ("any", "none", "unknown") else cwd,
        said_at="",
        place=place,
        sources=(RESTORED_SOURCE,),
    )
