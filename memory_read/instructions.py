"""The section about memory in the model's instructions: its rules, the summary, pending notes.

Invariant: the section depends on the settings and the files alone, so that every client, mode and
minute gets the same bytes. Memory text inside it is inert: it cannot end its own frame, and what
pretends to be another voice is withheld.
"""

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Literal

from memory_read.inert import made_inert
from memory_read.snapshot import MemorySnapshot, PendingNote
from state.home import Home
from state.policy.budget import chunk_utf8, cut_at_lines, estimate_tokens

SUMMARY_TOKENS_MAX = 2_500
NOTES_TOKENS_MAX = 600
PART_BYTES_MAX = {"v2": 8_900}
"""Versions whose section comes in parts of at most so many bytes; joined they are the section."""
BEGINS = "========= MEMORY_SUMMARY BEGINS ========="
ENDS = "========= MEMORY_SUMMARY ENDS ========="
NOTES_BEGIN = "========= PENDING_NOTES BEGIN ========="
NOTES_END = "========= PENDING_NOTES END ========="

NoSection = Literal["use_off", "no_summary"]

_TOOL_WAYS = (
    "Look into it with the tools `list`, `read` and `search` of the namespace `memories`. Their "
    "paths are relative to the memory folder, as above. `search` looks for literal words line by "
    "line; it takes several queries at once."
)
_FILE_WAYS = "Read and search these files with the tools that you have for files."
_TOOL_NOTE = "call `add_ad_hoc_note` of the namespace `memories` with one small note"
_FILE_NOTE = "write one small new file into `$base_path/extensions/ad_hoc/notes/`"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySection:
    """What a thread is told about memory, or why it is told nothing."""

    parts: tuple[str, ...]
    tokens: int
    reason: NoSection | None
    """Why there is no section; None when there is one."""
    withheld_lines: int = 0
    """Lines of memory that looked like somebody else's voice and were left out."""
    notes: int = 0
    """Pending notes that the section holds."""


def memory_section(
    home: Home,
    *,
    version: str,
    tokens_max: int = SUMMARY_TOKENS_MAX,
    use: bool,
    dedicated_tools: bool,
) -> MemorySection:
    """The section for a thread that starts now; blocks on files."""
    if not use:
        return MemorySection(parts=(), tokens=0, reason="use_off")
    memory = MemorySnapshot(home, version)
    summary = memory.summary()
    notes = memory.pending_notes()
    if summary is None and not notes:
        return MemorySection(parts=(), tokens=0, reason="no_summary")
    return render_section(
        str(memory.folder),
        summary,
        notes,
        version=version,
        tokens_max=tokens_max,
        dedicated_tools=dedicated_tools,
    )


def raw_summary(home: Home, version: str) -> str | None:
    """The whole summary, neither trimmed nor cut; None when there is none; blocks on files."""
    return MemorySnapshot(home, version).summary()


def render_section(
    base_path: str,
    summary: str | None,
    notes: Sequence[PendingNote],
    *,
    version: str = "v1",
    tokens_max: int,
    dedicated_tools: bool,
) -> MemorySection:
    """The section made of these values alone."""
    summary_part, withheld = _summary_part(summary, tokens_max)
    notes_part, shown, withheld_notes = _notes_part(notes)
    note_way = (
        _TOOL_NOTE if dedicated_tools else Template(_FILE_NOTE).substitute(base_path=base_path)
    )
    text = _template(version).substitute(
        base_path=base_path,
        at="" if dedicated_tools else f"{base_path}/",
        ways=_TOOL_WAYS if dedicated_tools else _FILE_WAYS,
        note_way=note_way,
        summary_part=summary_part,
        notes_part=notes_part,
    )
    most = PART_BYTES_MAX.get(version)
    return MemorySection(
        parts=(text,) if most is None else tuple(chunk_utf8(text, most)),
        tokens=estimate_tokens(text),
        reason=None,
        withheld_lines=withheld + withheld_notes,
        notes=shown,
    )


def _summary_part(summary: str | None, tokens_max: int) -> tuple[str, int]:
    if summary is None:
        return "No summary has been made yet.\n", 0
    inert = made_inert(summary.strip())
    cut = cut_at_lines(inert.text, tokens_max=tokens_max)
    return f"{BEGINS}\n{cut}\n{ENDS}\n", inert.withheld


def _notes_part(notes: Sequence[PendingNote]) -> tuple[str, int, int]:
    """The newest notes that fit, in the order of their names."""
    kept: list[str] = []
    left, withheld = NOTES_TOKENS_MAX, 0
    for note in reversed(notes):
        inert = made_inert(note.text.strip())
        text = f"{note.path}:\n{cut_at_lines(inert.text, tokens_max=NOTES_TOKENS_MAX // 2)}"
        left -= estimate_tokens(text)
        if left < 0:
            break
        kept.append(text)
        withheld += inert.withheld
    if not kept:
        return "", 0, 0
    lines = [
        "The user asked to remember, correct or forget the following since the summary was made. "
        "Where a note and the summary differ, the note is right:",
        NOTES_BEGIN,
        *reversed(kept),
        NOTES_END,
    ]
    if len(kept) < len(notes):
        lines.append(f"{len(notes) - len(kept)} older notes did not fit here.")
    return "\n" + "\n".join(lines) + "\n", len(kept), withheld


@cache
def _template(version: str) -> Template:
    file = importlib.resources.files("memory_read").joinpath("templates", f"{version}.md")
    return Template(file.read_text("utf-8"))
