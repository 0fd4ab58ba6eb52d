"""Takes published memory in again after its database was lost: outputs and edition.

Invariant: only what stands in the baseline of the folder, byte for byte, is taken for an output; a
file that somebody edited since is not, and its thread is heard again. The folder is only read.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memory_write.limits import Phase2Limits
from memory_write.recipes import RECIPES, Recipe
from state.errors import PathRefused, WorkspaceUnsafe
from state.home import Home
from state.ids import ThreadId
from state.recovery import State
from state.stores.backlog import Backlog
from state.stores.editions import EditionInputs
from state.stores.outputs import Output
from state.stores.threads import ThreadRow
from state.workspace.layout import RAW_MEMORIES, RECAPS, summary_stem
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot, take_snapshot

_LOG = logging.getLogger(__name__)

DEFAULT_LIMITS = Phase2Limits()
SAME_STATE_MS = 2_000
"""Recaps tell whole seconds, and a turn's last line is written a moment after its end."""
_HEADER = re.compile(r"thread_id: (\S+)\nupdated_at: (\S+)\nrollout_path: [^\n]*\ncwd: [^\n]*\n")
_BRANCH = re.compile(r"git_branch: [^\n]*\n")
_SECTION = re.compile(
    r"^## Thread `([^`\n]+)`\nupdated_at: [^\n]*\ncwd: [^\n]*\nrollout_path: [^\n]*\n"
    r"rollout_summary_file: ([^\n]+)\n\n",
    re.MULTILINE,
)
_STEM = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9A-Za-z]{4}(?:-([a-z0-9_]{1,60}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recap:
    thread_id: ThreadId
    updated_at_ms: int
    slug: str | None
    summary: str
    raw_memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Published:
    """What the folder of a version says of what made it."""

    recaps: tuple[_Recap, ...]
    edited: tuple[ThreadId, ...]
    """Threads whose recap is not the one that was published."""
    commit_id: str | None


async def restore_published(state: State, limits: Phase2Limits = DEFAULT_LIMITS) -> int:
    """Bring outputs and editions back from the folders, if the database was lost; how many.

    A folder that cannot be used keeps nobody from starting; its sessions are heard again.
    Raises: DatabaseBusy, DatabaseUnusable.
    """
    if state.mishap is None or state.mishap.settled:
        return 0
    restored = 0
    for recipe in RECIPES.values():
        try:
            published = await asyncio.to_thread(_published, state.home, recipe, limits)
        except (WorkspaceUnsafe, PathRefused, OSError) as error:
            _LOG.error("memory %s could not be taken in again: %s", recipe.version, error)
            continue
        restored += await _take_in(state, recipe, published)
    await state.settle_mishap()
    return restored


async def _take_in(state: State, recipe: Recipe, published: _Published) -> int:
    version, now_ms = recipe.version, state.clock.now_ms()
    outputs: list[Output] = []
    missing: list[ThreadRow] = []
    async with state.database.reading() as read:
        for recap in published.recaps:
            row = await state.threads.get(read, recap.thread_id)
            if row is not None and await state.outputs.get(read, version, row.thread_id) is None:
                outputs.append(_output(recap, row, version, now_ms))
        for thread_id in published.edited:
            row = await state.threads.get(read, thread_id)
            if row is not None and row.memory_mode == "enabled":
                missing.append(row)
        latest = await state.editions.latest(read, version)
    if not (published.recaps or published.edited or published.commit_id):
        return 0
    async with state.database.writing() as tx:
        for output in outputs:
            await state.outputs.put(tx, output)
        # However old they are: they were remembered, and are again.
        await Backlog().ask(tx, version=version, threads=missing)
        await state.outputs.raise_consolidated(tx, version, len(outputs))
        if latest is None and published.commit_id is not None:
            edition_id = await state.editions.open_intent(
                tx,
                version=version,
                fence=0,
                commit_id=published.commit_id,
                staged="",
                inputs=EditionInputs(added=tuple(one.thread_id for one in outputs)),
                made_at_ms=now_ms,
            )
            await state.editions.publish(tx, edition_id, now_ms)
        # Whatever was deleted or withdrawn before the loss leaves the folder with the next pass.
        await state.jobs.enqueue_consolidation(
            tx, version=version, watermark_ms=now_ms, urgent=True
        )
    return len(outputs)


def _output(recap: _Recap, thread: ThreadRow, version: str, now_ms: int) -> Output:
    behind_ms = thread.updated_at_ms - recap.updated_at_ms
    same = 0 <= behind_ms < SAME_STATE_MS
    source_ms = thread.updated_at_ms if same else recap.updated_at_ms
    return Output(
        version=version,
        thread_id=recap.thread_id,
        source_updated_at_ms=source_ms,
        raw_memory=recap.raw_memory,
        rollout_summary=recap.summary,
        rollout_slug=recap.slug,
        generated_at_ms=now_ms,
        selected=True,
        selected_source_updated_at_ms=source_ms,
    )


def _published(home: Home, recipe: Recipe, limits: Phase2Limits) -> _Published:
    root = home.memories(recipe.version)
    snapshot = take_snapshot(
        root, files_max=limits.folder_files_max, bytes_max=limits.folder_bytes_max
    )
    baseline = Baseline(root)
    if not snapshot.files or not baseline.usable():
        edited = tuple(one.thread_id for one in _recaps(snapshot, {}).values())
        return _Published(recaps=(), edited=edited, commit_id=None)
    changed = {change.path for change in baseline.changes(snapshot)}
    raw = {} if RAW_MEMORIES in changed else _raw_memories(snapshot)
    found = _recaps(snapshot, raw)
    sound = {
        path: recap
        for path, recap in found.items()
        if path not in changed
        and (not recipe.has_raw_memory or path.removeprefix(f"{RECAPS}/") in raw)
    }
    return _Published(
        recaps=tuple(sound.values()),
        edited=tuple(recap.thread_id for path, recap in found.items() if path not in sound),
        commit_id=baseline.head_commit(),
    )


def _recaps(snapshot: Snapshot, raw: Mapping[str, tuple[str, str]]) -> dict[str, _Recap]:
    found: dict[str, _Recap] = {}
    for path, file in snapshot.below(RECAPS).items():
        name = path.removeprefix(f"{RECAPS}/")
        text = file.data.decode(errors="replace")
        header, stem = _HEADER.match(text), _STEM.fullmatch(name.removesuffix(".md"))
        updated_at_ms = _time_ms(header[2]) if header is not None else None
        if header is None or stem is None or updated_at_ms is None:
            continue
        branch = _BRANCH.match(text, header.end())
        start = branch.end() if branch else header.end()
        thread_id = ThreadId(header[1])
        whole = text.endswith("\n") and text.startswith("\n", start)
        if not whole or summary_stem(thread_id, updated_at_ms, stem[1]) != stem[0]:
            continue
        told = raw.get(name)
        found[path] = _Recap(
            thread_id=thread_id,
            updated_at_ms=updated_at_ms,
            slug=stem[1],
            summary=text[start + 1 : -1],
            raw_memory=told[1] if told is not None and told[0] == thread_id else "",
        )
    return found


def _raw_memories(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """Thread and raw memory by the name of the recap that belongs to it."""
    text = snapshot.text(RAW_MEMORIES) or ""
    heads = list(_SECTION.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    return {
        head[2]: (head[1], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    }


def _time_ms(text: str) -> int | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(at.timestamp() * 1_000) if at.tzinfo is not None else None
