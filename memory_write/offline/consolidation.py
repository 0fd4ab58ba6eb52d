"""The `Consolidator` port by rules: reads the inputs with the file tools and writes both artefacts.

A version with raw memories gets handbook and summary, one with recaps alone the summary.
Invariant: it knows nothing but what the tools show it, and an unchanged input gives unchanged
bytes, which are then not written again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_write.apart import apart
from memory_write.offline.compact import render_compact
from memory_write.offline.folder import Folder, gather
from memory_write.offline.gathered import Note, ThreadInput, noted, threads
from memory_write.offline.hand_edits import HandEdits, called, carried, digest, from_diff, joined
from memory_write.offline.handbook import render_handbook
from memory_write.offline.merging import Entry
from memory_write.offline.recaps import threads_of_recaps
from memory_write.offline.resources import (
    Resource,
    read_resources,
    render_resources,
    render_routes,
)
from memory_write.offline.restored import (
    has_statements,
    render_restored,
    restored_entries,
    restored_lines,
)
from memory_write.offline.summary import HAND_HEADING, render_summary
from memory_write.ports import ConsolidationReport, ConsolidationRequest, FileTool, ModelFailed
from memory_write.recipes import recipe_of
from state.policy.redaction import contains_secret, redact
from state.workspace.layout import (
    DIFF_FILE,
    HANDBOOK,
    NOTES,
    RAW_MEMORIES,
    RECAPS,
    RESTORED,
    SUMMARY,
)

LINES_PER_READ = 500
READS_MAX = 400
NOTES_MAX = 500
RECAPS_MAX = 900
"""The newest; each takes a call, and calls are counted. A summary has room for far fewer."""
RESTORED_MAX = 20
SUMMARY_BYTES_MAX = 9_900
"""A summary of version 2 must stay below 10,000 bytes, and one of version 1 is cut about there."""
_CUT = " tokens truncated…"


@dataclass(frozen=True, slots=True)
class _Refusal(Exception):
    """A tool answered with its sentence instead of a result."""

    text: str


class OfflineConsolidator:
    """Merges what the inputs say and renders the handbook and the summary."""

    async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
        """Do the whole work; there is no model to stop half-way.

        Raises: ModelFailed.
        """
        tools = {tool.name: tool for tool in request.tools}
        try:
            if recipe_of(request.version).has_raw_memory:
                await _consolidate(tools)
            else:
                await _consolidate_recaps(tools)
        except _Refusal as refusal:
            raise ModelFailed(f"tool refused: {refusal.text[:200]}", transient=False) from refusal
        return ConsolidationReport()


async def _consolidate(tools: Mapping[str, FileTool]) -> None:
    """Handbook and summary from the raw memories."""
    inputs = await _read_inputs(tools)
    handbook, summary = await apart(_render, inputs)
    await _write(tools, HANDBOOK, handbook, before=inputs.handbook)
    await _write(tools, SUMMARY, summary, before=inputs.summary)


async def _consolidate_recaps(tools: Mapping[str, FileTool]) -> None:
    """The summary alone, from the recaps."""
    names = (await _names(tools, RECAPS))[-RECAPS_MAX:]
    recaps = [(name, await _read(tools, f"{RECAPS}/{name}")) for name in names]
    notes = await _notes(tools)
    before = await _read(tools, SUMMARY)
    diff = await _read(tools, DIFF_FILE)
    resources = await read_resources(tools)
    restored = await _restored(tools, resources)
    summary = await apart(_render_recaps, recaps, notes, before, diff, restored)
    summary = _with_routes(summary, resources)
    await _write(tools, SUMMARY, summary, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    raw_memories: str
    handbook: str
    summary: str
    diff: str
    notes: tuple[Note, ...]
    resources: tuple[Resource, ...]
    restored: tuple[str, ...]


async def _read_inputs(tools: Mapping[str, FileTool]) -> _Inputs:
    resources = await read_resources(tools)
    return _Inputs(
        raw_memories=await _read(tools, RAW_MEMORIES),
        handbook=await _read(tools, HANDBOOK),
        summary=await _read(tools, SUMMARY),
        diff=await _read(tools, DIFF_FILE),
        notes=await _notes(tools),
        resources=resources,
        restored=await _restored(tools, resources),
    )


async def _restored(
    tools: Mapping[str, FileTool], resources: Sequence[Resource]
) -> tuple[str, ...]:
    """The handbooks and summaries of restored memory, a handbook first."""
    paths = [
        one.path
        for one in resources
        if one.path.startswith(f"{RESTORED}/") and has_statements(one.path)
    ][:RESTORED_MAX]
    return tuple([await _read(tools, path) for path in paths])


async def _notes(tools: Mapping[str, FileTool]) -> tuple[Note, ...]:
    names = (await _names(tools, NOTES))[-NOTES_MAX:]
    texts = [(name, await _read(tools, f"{NOTES}/{name}")) for name in names]
    return tuple(Note(name=name, text=redact(text)) for name, text in texts)


def _render(inputs: _Inputs) -> tuple[str, str]:
    heard = threads(inputs.raw_memories)
    folders = called(thread.cwd for thread in heard)
    texts = {HANDBOOK: inputs.handbook, SUMMARY: inputs.summary}
    restored = restored_entries(inputs.restored)
    edits = from_diff(inputs.diff, texts, folders, _said(heard, inputs.notes, restored))
    hand = joined(carried(inputs.handbook, folders), edits)
    ids = [thread.thread_id for thread in heard] + [thread.recap_name for thread in heard]
    folder = gather(heard, inputs.notes, _supported(hand, ids), restored)
    beside = (render_restored(folder.restored), render_resources(inputs.resources))
    handbook = "\n".join((render_handbook(folder), *filter(None, beside)))
    summary = _with_restored(render_summary(folder), folder)
    return handbook, _with_routes(summary, inputs.resources)


def _with_restored(summary: str, folder: Folder) -> str:
    left = SUMMARY_BYTES_MAX - len(summary.encode())
    return summary + restored_lines(folder.restored, bytes_left=left)


def _with_routes(summary: str, resources: Sequence[Resource]) -> str:
    left = SUMMARY_BYTES_MAX - len(summary.encode())
    return summary + render_routes(resources, bytes_left=left)


def _render_recaps(
    recaps: Sequence[tuple[str, str]],
    notes: Sequence[Note],
    before: str,
    diff: str,
    restored: Sequence[str],
) -> str:
    heard = threads_of_recaps(recaps)
    folders = called(thread.cwd for thread in heard)
    foreign = restored_entries(restored)
    edits = from_diff(diff, {SUMMARY: before}, folders, _said(heard, notes, foreign))
    hand = joined(carried(before, folders, heading=HAND_HEADING), edits)
    ids = [thread.thread_id for thread in heard] + [thread.recap_name for thread in heard]
    folder = gather(heard, notes, _supported(hand, ids), foreign)
    return _with_restored(render_compact(folder), folder)


def _said(
    heard: Sequence[ThreadInput], notes: Sequence[Note], restored: Sequence[Entry]
) -> frozenset[str]:
    """Digests of what the inputs say, as it would stand in a line."""
    entries = [entry for thread in heard for entry in thread.entries]
    return frozenset(digest(one.text) for one in (*entries, *noted(notes), *restored))


def _supported(hand: HandEdits, ids: Sequence[str]) -> HandEdits:
    """Hand-written lines, without secrets and without those that cite what is no input any more."""
    kept = [
        line
        for line in hand.kept
        if not contains_secret(line.text)
        and ("thread_id" not in line.text or any(one in line.text for one in ids))
        and ("rollout_summaries/" not in line.text or any(one in line.text for one in ids))
    ]
    return HandEdits(kept=tuple(kept), removed=hand.removed)


async def _names(tools: Mapping[str, FileTool], path: str) -> list[str]:
    """The Markdown files of a folder by name; none when there is no folder."""
    try:
        listed = await _call(tools, "list", {"path": path})
    except _Refusal:
        return []
    names = [
        str(entry["path"]).rsplit("/", 1)[-1]
        for entry in listed["entries"]
        if entry["entry_type"] == "file" and str(entry["path"]).endswith(".md")
    ]
    return sorted(names)


async def _read(tools: Mapping[str, FileTool], path: str) -> str:
    """A whole file by pages of lines; empty when there is none."""
    pieces: list[str] = []
    line, lines = 1, LINES_PER_READ
    for _ in range(READS_MAX):
        try:
            page = await _call(
                tools, "read", {"path": path, "line_offset": line, "max_lines": lines}
            )
        except _Refusal:
            break
        content = str(page["content"])
        if _CUT in content and lines > 1:
            lines = max(1, lines // 4)  # the page was longer than a result may be
            continue
        pieces.append(content)
        if not page["truncated"] or not content:
            break
        line += lines
    return "".join(pieces)


async def _write(tools: Mapping[str, FileTool], path: str, content: str, *, before: str) -> None:
    if content != before:
        await _call(tools, "write", {"path": path, "content": content})


async def _call(
    tools: Mapping[str, FileTool], name: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    tool = tools.get(name)
    if tool is None:
        raise _Refusal(f"there is no tool {name}")
    answer = await tool.call(json.dumps(arguments, ensure_ascii=False))
    try:
        result = json.loads(answer)
    except ValueError:
        raise _Refusal(answer) from None
    if not isinstance(result, dict):
        raise _Refusal(answer)
    return result
