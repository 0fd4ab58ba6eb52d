"""The section about memory in the model's instructions: its rules, the summary, pending notes.

Invariant: the section depends on the settings, the files of memory, the workspace and the day of
UTC alone, so that every client, mode and minute gets the same bytes; what a thread was given is
recorded with it. Memory text inside it is inert: it cannot end its own frame, and what pretends to
be another voice is withheld.
"""

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Literal

from memory_read.framed import BEGINS as BEGINS
from memory_read.framed import CORRECTIONS_BEGIN as CORRECTIONS_BEGIN
from memory_read.framed import CORRECTIONS_END as CORRECTIONS_END
from memory_read.framed import ENDS as ENDS
from memory_read.framed import NOTES_BEGIN as NOTES_BEGIN
from memory_read.framed import NOTES_END as NOTES_END
from memory_read.framed import Framed, Recalled, framed
from memory_read.pointers import PointerCheck, check, pointer_lines
from memory_read.snapshot import MemorySnapshot, PendingNote, SummaryMissing
from memory_read.standing import Standing
from memory_read.withheld import OPEN, ReadGate
from state.home import Home
from state.policy.budget import chunk_utf8, estimate_tokens

SUMMARY_TOKENS_MAX = 2_500
PART_BYTES_MAX = {"v2": 8_900}
"""Versions whose section comes in parts of at most so many bytes; joined they are the section."""

NoSection = Literal["use_off"] | SummaryMissing

_TOOL_WAYS = (
    "Look into it with the tools `list`, `read` and `search` of the namespace `memories`. Their "
    "paths are relative to the memory folder, as above. `search` looks for literal words line by "
    "line; it takes several queries at once."
)
_FILE_WAYS = "Read and search these files with the tools that you have for files."
_TOOL_NOTE = "call `add_ad_hoc_note` of the namespace `memories` with one small note"
_FILE_NOTE = (
    "write one small new file into `$base_path/extensions/ad_hoc/notes/` if your commands may "
    "write there, and otherwise ask the user to run `memoryd remember`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySection:
    """What a thread is told about memory, or why it is told nothing."""

    parts: tuple[str, ...]
    tokens: int
    reason: NoSection | None
    """Why there is no section; None when there is one."""
    withheld_lines: int = 0
    """Lines of memory that looked like somebody else's voice and were left out."""
    invisible_characters: int = 0
    """Characters that nobody sees and that were left out."""
    notes: int = 0
    """Pending notes that the section holds, corrections among them."""
    corrections: int = 0
    dated_lines: int = 0
    """Lines with the day of their last confirmation, since that is long ago."""
    doubtful_pointers: int = 0
    """Files and symbols that memory names and this workspace does not have as named."""


def memory_section(
    home: Home,
    *,
    version: str,
    tokens_max: int = SUMMARY_TOKENS_MAX,
    use: bool,
    dedicated_tools: bool,
    now_ms: int | None = None,
    cwd: str | None = None,
    gate: ReadGate = OPEN,
) -> MemorySection:
    """The section for a thread that starts now; blocks on files.

    With `now_ms` lines that were confirmed long ago carry their day; with `cwd` what memory names
    of that workspace is looked for in it.
    """
    if not use:
        return MemorySection(parts=(), tokens=0, reason="use_off")
    memory = MemorySnapshot(home, version, gate)
    summary = memory.summary()
    notes = memory.pending_notes()
    if summary is None and not notes:
        return MemorySection(parts=(), tokens=0, reason=memory.why_no_summary())
    recalled = Recalled(
        summary=summary,
        notes=notes,
        standing=memory.standing(),
        confirmations=memory.confirmations() if now_ms is not None else None,
        now_ms=now_ms or 0,
    )
    found = framed(recalled, tokens_max=tokens_max)
    pointers = PointerCheck(marks=()) if cwd is None else check(cwd, found.summary)
    if doubts := pointer_lines(pointers):
        found = framed(recalled, tokens_max=tokens_max, doubts=doubts)
    return _section(
        str(memory.folder),
        found,
        version=version,
        dedicated_tools=dedicated_tools,
        doubtful=len(pointers.doubtful),
    )


def raw_summary(home: Home, version: str, gate: ReadGate = OPEN) -> str | None:
    """The whole summary, neither trimmed nor cut; None when there is none; blocks on files."""
    return MemorySnapshot(home, version, gate).summary()


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
    standing = Standing((note.path, note.text) for note in notes)
    found = framed(Recalled(summary=summary, notes=notes, standing=standing), tokens_max=tokens_max)
    return _section(base_path, found, version=version, dedicated_tools=dedicated_tools, doubtful=0)


def _section(
    base_path: str, memory: Framed, *, version: str, dedicated_tools: bool, doubtful: int
) -> MemorySection:
    note_way = (
        _TOOL_NOTE if dedicated_tools else Template(_FILE_NOTE).substitute(base_path=base_path)
    )
    text = _template(version).substitute(
        base_path=base_path,
        at="" if dedicated_tools else f"{base_path}/",
        ways=_TOOL_WAYS if dedicated_tools else _FILE_WAYS,
        note_way=note_way,
        memory_part=memory.text,
    )
    most = PART_BYTES_MAX.get(version)
    return MemorySection(
        parts=(text,) if most is None else tuple(chunk_utf8(text, most)),
        tokens=estimate_tokens(text),
        reason=None,
        withheld_lines=memory.withheld,
        invisible_characters=memory.invisible,
        notes=memory.notes,
        corrections=memory.corrections,
        dated_lines=memory.marked,
        doubtful_pointers=doubtful,
    )


@cache
def _template(version: str) -> Template:
    file = importlib.resources.files("memory_read").joinpath("templates", f"{version}.md")
    return Template(file.read_text("utf-8"))
