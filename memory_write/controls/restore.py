"""Takes in the exported memory of another home, or of this one at an earlier time.

Notes come as notes; everything else comes as an extension whose files the next consolidation may
work in. Invariant: nothing that stands here is overwritten, what a person forgot, deleted or took
out here does not come back, and a second restore of the same changes nothing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memory_write.controls.asking import ask_for_consolidation
from memory_write.controls.restored_files import (
    INSTRUCTIONS,
    INSTRUCTIONS_TEMPLATE,
    LEDGER,
    RESOURCES,
    Taken,
    is_note,
    is_recap,
    ledger_of,
    ledger_text,
    note_names,
    pieces,
    resource_name,
    threads_named,
)
from memory_write.recipes import template
from state.errors import PathRefused, WorkspaceUnsafe
from state.home import Home
from state.ids import ThreadId
from state.notes import Kept, NameTaken, StaleBase, keep_note
from state.policy.export_form import digest_of
from state.policy.redaction import contains_secret, redact
from state.recovery import State
from state.workspace.export_folder import ExportedMemory, read_export
from state.workspace.inbox import INBOX_LIMITS
from state.workspace.layout import NOTES, rfc3339
from state.workspace.repo import Baseline
from state.workspace.root import ConfinedRoot
from state.workspace.trees import ensure_real_folder, folder_fault

TRIES_MAX = 3
AHEAD_MAX_MS = 86_400_000
"""By so much the clock of who made an export may be ahead of ours."""
Shown = Callable[[str, str], str | None]
"""From path and text to the text without lines that do not stand; None when nothing stands."""
Known = frozenset[tuple[str, str]]
"""Path and SHA-256 of the files that this home would export itself."""


class LeftOut(NamedTuple):
    """A file that was not taken, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMemory:
    """What a version holds already, as the read door shows it."""

    shown: Shown
    known: Known


@dataclass(slots=True, kw_only=True)
class RestoreReport:
    """What a restore did, or would do when it is dry; of files, those of the export."""

    version: str
    """Of the exported memory."""
    created_at: str
    dry_run: bool
    found: int = 0
    notes: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def for_consolidation(self) -> bool:
        """Whether something came that a consolidation is to work in."""
        return self.imported + self.updated + self.removed > 0

    @property
    def changed(self) -> bool:
        """Whether anything came, changed or went."""
        return self.for_consolidation or self.notes > 0


@dataclass(slots=True, kw_only=True)
class _Plan:
    """What one version is to take in."""

    source: str
    created_at: str
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    """Path in the export, text and SHA-256."""
    taken_notes: set[str] = field(default_factory=set)
    resources: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    """As the ledger will have it, also of what a person took out here since."""
    drop: list[str] = field(default_factory=list)


class MemoryRestore:
    """Restores into the versions that are written; one at a time."""

    def __init__(self, state: State, versions: Sequence[str]) -> None:
        self._state = state
        self._versions = tuple(versions)
        self._alone = asyncio.Lock()

    async def run(
        self, folder: Path, own: Mapping[str, OwnMemory], *, dry_run: bool = False
    ) -> RestoreReport:
        """Take in what is new of an export; `own` is what each version holds already.

        Raises: ExportRefused, WorkspaceUnsafe, PathRefused, OSError, DatabaseBusy,
        DatabaseFull, DatabaseUnusable, JournalUnusable.
        """
        async with self._alone:
            export = await asyncio.to_thread(read_export, folder)
            barred = await self._barred(export)
            reports = [
                await self._into(version, export, own[version], barred, dry_run=dry_run)
                for version in self._versions
            ]
            if any(one.changed for one in reports) and not dry_run:
                await ask_for_consolidation(self._state, self._versions)
        return reports[0]

    async def _into(
        self,
        version: str,
        export: ExportedMemory,
        own: OwnMemory,
        barred: frozenset[str],
        *,
        dry_run: bool,
    ) -> RestoreReport:
        home, manifest = self._state.home, export.manifest
        live = home.memories(version)
        report = RestoreReport(
            version=manifest.memory_version, created_at=manifest.created_at, dry_run=dry_run
        )
        report.found = len(export.files)
        if (fault := await asyncio.to_thread(folder_fault, live)) is not None:
            raise WorkspaceUnsafe(live, fault)
        now_ms = self._state.clock.now_ms()
        plan = await asyncio.to_thread(
            _planned, home, version, export, own, barred, report, now_ms=now_ms
        )
        for path, text, digest in plan.notes:
            await self._note(version, path, text, plan, report)
            plan.taken_notes.add(digest)
        if not dry_run:
            await asyncio.to_thread(_carried_out, live, plan, now_ms // 1000)
        return report

    async def _note(
        self, version: str, path: str, text: str, plan: _Plan, report: RestoreReport
    ) -> None:
        """Keep a note, under another name where its own is taken."""
        live = ConfinedRoot(self._state.home.memories(version))
        names = note_names(path, text, plan.created_at)
        for name in names:
            there = await asyncio.to_thread(_bytes, live, f"{NOTES}/{name}")
            if there is not None and there == text.encode():
                report.unchanged += 1
                return
            if there is not None:
                continue
            if report.dry_run:
                report.notes += 1
                return
            try:
                kept = await keep_note(self._state, version, name, text)
            except PathRefused as refusal:
                report.left_out.append(LeftOut(path, str(refusal)))
                return
            match kept:
                case Kept():
                    report.notes += 1
                    return
                case NameTaken() | StaleBase():
                    continue
        report.left_out.append(LeftOut(path, "other notes have its names"))

    async def _barred(self, export: ExportedMemory) -> frozenset[str]:
        """Of the threads that the export names, those that may not stand in memory here."""
        named: set[str] = set()
        for path, data in export.files.items():
            if not is_note(path):
                named |= threads_named(data.decode())
        deleted = await asyncio.to_thread(_deleted, self._state)
        async with self._state.database.reading() as read:
            rows = [
                await self._state.threads.get(read, ThreadId(one))
                for one in sorted(named - deleted)
            ]
        off = {row.thread_id for row in rows if row is not None and row.memory_mode != "enabled"}
        return frozenset((named & deleted) | off)


def _planned(
    home: Home,
    version: str,
    export: ExportedMemory,
    own: OwnMemory,
    barred: frozenset[str],
    report: RestoreReport,
    *,
    now_ms: int,
) -> _Plan:
    root = ConfinedRoot(home.memories(version))
    manifest = export.manifest
    before = ledger_of(_bytes(root, LEDGER)).get(manifest.source, Taken())
    # One whose time has not nearly come was made under a clock that was ahead: it is no later one.
    before_at = before.created_at if before.created_at <= rfc3339(now_ms + AHEAD_MAX_MS) else ""
    plan = _Plan(
        source=manifest.source,
        created_at=max(manifest.created_at, before_at),
        taken_notes=set(before.notes),
    )
    for path in export.strays:
        report.left_out.append(LeftOut(redact(path)[:200], "it is not part of the export"))
    older = manifest.created_at < before_at
    for path, data in export.files.items():
        digest = digest_of(data)
        if (path, digest) in own.known or digest in (before.notes if is_note(path) else ()):
            report.unchanged += 1
            continue
        reason = _why_not(path, data.decode(), barred)
        shown = None if reason else own.shown(path, redact(data.decode()))
        if shown is None:
            reason = reason or "nothing of it stands here: the user forgot or corrected it"
            report.left_out.append(LeftOut(path, reason))
        elif is_note(path):
            plan.notes.append((path, shown, digest))
        else:
            _plan_resource(root, plan, before, path, shown, digest, report, older=older)
    if older:
        plan.digests = dict(before.files)
    else:
        gone = [path for path in before.files if path not in plan.digests]
        plan.drop = [path for path in gone if _bytes(root, path) is not None]
        report.removed = len(plan.drop)
    return plan


def _plan_resource(
    root: ConfinedRoot,
    plan: _Plan,
    before: Taken,
    path: str,
    text: str,
    digest: str,
    report: RestoreReport,
    *,
    older: bool,
) -> None:
    parts = dict(pieces(resource_name(plan.source, path), text))
    there = {name: _bytes(root, name) for name in parts}
    if all(there[name] == data for name, data in parts.items()):
        report.unchanged += 1
    elif older:
        report.left_out.append(LeftOut(path, "a later export of this source was taken in before"))
        return
    elif all(before.files.get(name) == digest and there[name] is None for name in parts):
        report.left_out.append(LeftOut(path, "it was taken in before and taken out here since"))
    elif not _has_room(root, plan, parts):
        report.left_out.append(LeftOut(path, "restored memory would be larger than it may be"))
        return
    else:
        known = any(one is not None for one in there.values())
        report.updated += known
        report.imported += not known
        plan.resources.update(parts)
    plan.digests.update(dict.fromkeys(parts, digest))


def _has_room(root: ConfinedRoot, plan: _Plan, parts: Mapping[str, bytes]) -> bool:
    """Whether an inbox takes these in besides what is there."""
    sizes = {**_sizes(root), **{name: len(data) for name, data in plan.resources.items()}}
    sizes.update({name: len(data) for name, data in parts.items()})
    return (
        len(sizes) < INBOX_LIMITS.extension_files_max
        and sum(sizes.values()) < INBOX_LIMITS.extension_bytes_max - INBOX_LIMITS.file_bytes_max
    )


def _sizes(root: ConfinedRoot) -> Mapping[str, int]:
    """The resources of every source, by path."""
    folder = root.path / RESOURCES
    if folder.is_symlink() or not folder.is_dir():
        return {}
    return {
        f"{RESOURCES}/{one.name}": one.lstat().st_size for one in folder.iterdir() if one.is_file()
    }


def _why_not(path: str, text: str, barred: frozenset[str]) -> str | None:
    if contains_secret(path):
        return "its name holds a secret"
    if is_note(path) or not barred:
        return None
    # A summary names no sessions: of what was made of several nobody can tell whose a line is.
    if barred & threads_named(text) or not is_recap(path):
        return "it stands on a session that was deleted or barred from memory here"
    return None


def _carried_out(live: Path, plan: _Plan, at_s: int) -> None:
    """Bring resources and ledger in line with the plan; the ledger comes last."""
    root = ConfinedRoot(live)
    ledger = ledger_of(_bytes(root, LEDGER))
    before = ledger.get(plan.source, Taken())
    after = Taken(created_at=plan.created_at, files=plan.digests, notes=frozenset(plan.taken_notes))
    if not plan.resources and not plan.drop:
        if (before.files, before.notes) == (after.files, after.notes):
            return
    # The baseline comes first, so that what is copied shows as a difference.
    ensure_real_folder(live)
    Baseline(live).ensure(at_s)
    instructions = template(INSTRUCTIONS_TEMPLATE).encode()
    files = {
        **plan.resources,
        INSTRUCTIONS: instructions,
        LEDGER: ledger_text({**ledger, plan.source: after}),
    }
    # A publication may swap the folder under a copy; whoever looks again finds that out.
    for _ in range(TRIES_MAX):
        missing = [path for path, data in files.items() if _bytes(root, path) != data]
        extra = [path for path in plan.drop if _bytes(root, path) is not None]
        for path in missing:
            root.write(path, files[path])
        for path in extra:
            root.delete(path)
        if not missing and not extra:
            break


def _deleted(state: State) -> frozenset[str]:
    """Every thread that a person deleted here."""
    journal = state.database.journal
    if journal is None:
        return frozenset()
    found: set[str] = set()
    for entry in journal.entries():
        if entry["what"] == "deleted":
            found.add(entry["thread_id"])
        elif entry.get("thread_id") in found:
            found.discard(entry["thread_id"])
    return frozenset(found)


def _bytes(root: ConfinedRoot, path: str) -> bytes | None:
    try:
        return root.read_bytes(path)
    except (PathRefused, FileNotFoundError):
        return None
