"""Brings in the memory files of another agent, as an extension that a consolidation then works in.

Invariant: the source is only read; what lies below `resources/` is exactly what the source holds
with its secrets masked, one folder a project, each with the scope it may claim. A project folder
without that scope file is not ours and stays, unless the source has a project of that key.
"""

import asyncio
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory_write.controls.agent_memory_files import (
    SCOPE_FILE,
    AgentProject,
    LeftOut,
    find_projects,
    has_projects,
    is_usable_folder,
)
from memory_write.controls.asking import ask_for_consolidation
from memory_write.errors import NothingToImport
from memory_write.recipes import template
from state.errors import PathRefused
from state.home import Home, make_private_folder, open_private
from state.recovery import State
from state.workspace.layout import EXTENSIONS
from state.workspace.repo import Baseline
from state.workspace.root import ConfinedRoot
from state.workspace.trees import ensure_real_folder, remove_tree, sync_tree

EXTENSION = f"{EXTENSIONS}/external_agent_import"
INSTRUCTIONS = f"{EXTENSION}/instructions.md"
INSTRUCTIONS_TEMPLATE = "external_agent_import_instructions.md"
RESOURCES = f"{EXTENSION}/resources"
SOURCES = f"{EXTENSION}/sources.json"
"""Which agent home each project came from: one home does not clear away what another brought."""
TRIES_MAX = 3
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@dataclass(slots=True, kw_only=True)
class AgentMemoryReport:
    """What an import did, or would do when it is dry; by project."""

    dry_run: bool = False
    found: int = 0
    files: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: list[LeftOut] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything came, changed or went."""
        return self.imported + self.updated + self.removed > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the folder of one version is to hold of this home."""

    agent_home: str
    projects: Mapping[str, Mapping[str, bytes]]
    """By key, every file with the scope file."""
    unscoped: frozenset[str]
    """Projects of the source that cannot be scoped."""
    sources: Mapping[str, str]


class AgentMemoryImport:
    """Imports agent memories into the folders of the versions that are written; one at a time."""

    def __init__(self, state: State, versions: Sequence[str]) -> None:
        self._state = state
        self._versions = tuple(versions)
        self._alone = asyncio.Lock()

    async def run(self, agent_home: Path, *, dry_run: bool = False) -> AgentMemoryReport:
        """Make the extension say what the agent's memory says now, and ask for a consolidation.

        Raises: NothingToImport, WorkspaceUnsafe, PathRefused, HomeUnusable, OSError.
        """
        async with self._alone:
            reports = [
                await asyncio.to_thread(
                    _run, self._state.home, version, agent_home, self._now_s(), dry_run
                )
                for version in self._versions
            ]
            report = reports[0]
            if any(one.changed for one in reports) and not dry_run:
                await ask_for_consolidation(self._state, self._versions)
        return report

    def _now_s(self) -> int:
        return self._state.clock.now_ms() // 1000


def _run(home: Home, version: str, agent_home: Path, at_s: int, dry_run: bool) -> AgentMemoryReport:
    agent_home = agent_home.resolve()
    if not has_projects(agent_home):
        raise NothingToImport
    projects, refused = find_projects(agent_home)
    live = home.memories(version)
    report = AgentMemoryReport(dry_run=dry_run, found=len(projects), failed=list(refused))
    if not dry_run:
        # The baseline comes first, so that what is copied shows as a difference.
        ensure_real_folder(live)
        Baseline(live).ensure(at_s)
    root = ConfinedRoot(live)
    plan = _planned(root, str(agent_home), projects, report)
    if not plan.projects and not plan.unscoped and not _owned(root, plan):
        raise NothingToImport
    _judge(root, plan, report)
    if not dry_run:
        # A publication may swap the folder under a copy; whoever looks again finds that out.
        for _ in range(TRIES_MAX):
            if not _applied(home, live, plan):
                break
    return report


def _planned(
    root: ConfinedRoot,
    agent_home: str,
    projects: Iterable[AgentProject],
    report: AgentMemoryReport,
) -> _Plan:
    wanted: dict[str, Mapping[str, bytes]] = {}
    unscoped: set[str] = set()
    for project in projects:
        report.left_out.extend(project.left_out)
        cwd = project.cwd or _known_scope(root, project.key)
        if cwd is None:
            unscoped.add(project.key)
            report.failed.append(
                LeftOut(project.key, "no session of it names a folder that is still there")
            )
        elif project.files:
            scope = json.dumps({"cwd": cwd}, ensure_ascii=False, separators=(",", ":"))
            wanted[project.key] = {**project.files, SCOPE_FILE: scope.encode()}
            report.files += len(project.files)
    return _Plan(
        agent_home=agent_home,
        projects=wanted,
        unscoped=frozenset(unscoped),
        sources=_sources(root),
    )


def _judge(root: ConfinedRoot, plan: _Plan, report: AgentMemoryReport) -> None:
    for key, files in plan.projects.items():
        there = _stored(root, key)
        if there is None:
            report.imported += 1
        elif there == files:
            report.unchanged += 1
        else:
            report.updated += 1
    report.removed = len(_vanished(root, plan)) + len(_ownerless(root, plan))


def _applied(home: Home, live: Path, plan: _Plan) -> bool:
    """Bring the folder in line with the plan; false when it was so already."""
    root = ConfinedRoot(live)
    changed = False
    for key, files in plan.projects.items():
        if _stored(root, key) != files:
            _replace(home, live, key, files)
            changed = True
    for key in (*_vanished(root, plan), *_ownerless(root, plan)):
        remove_tree(live / RESOURCES / key)
        changed = True
    instructions = template(INSTRUCTIONS_TEMPLATE).encode()
    kept = {key: one for key, one in plan.sources.items() if _stored(root, key) is not None}
    sources = {**kept, **dict.fromkeys(plan.projects, plan.agent_home)}
    text = json.dumps(dict(sorted(sources.items())), ensure_ascii=False, indent=1) + "\n"
    for path, data in ((INSTRUCTIONS, instructions), (SOURCES, text.encode())):
        if _bytes(root, path) != data:
            root.write(path, data)
            changed = True
    return changed


def _replace(home: Home, live: Path, key: str, files: Mapping[str, bytes]) -> None:
    """Put a project's folder in place, whole."""
    fresh = home.staging / f"import-{secrets.token_hex(4)}"
    try:
        make_private_folder(fresh)
        for path, data in files.items():
            make_private_folder((fresh / path).parent)
            with open_private(fresh / path, _NEW) as file:
                file.write(data)
        sync_tree(fresh)
        make_private_folder(live / RESOURCES)
        remove_tree(live / RESOURCES / key)
        fresh.rename(live / RESOURCES / key)
    finally:
        remove_tree(fresh)


def _vanished(root: ConfinedRoot, plan: _Plan) -> list[str]:
    """Projects that this home brought and has no more."""
    return [
        key for key in _owned(root, plan) if key not in plan.projects and key not in plan.unscoped
    ]


def _ownerless(root: ConfinedRoot, plan: _Plan) -> list[str]:
    """Copies without a scope of projects that cannot be scoped."""
    return [
        key for key in plan.unscoped if _stored(root, key) is not None and not _is_scoped(root, key)
    ]


def _owned(root: ConfinedRoot, plan: _Plan) -> list[str]:
    """The keys of ours that came from this home, or of which nothing else is known."""
    return [
        key
        for key in _keys(root)
        if _is_scoped(root, key) and plan.sources.get(key, plan.agent_home) == plan.agent_home
    ]


def _is_scoped(root: ConfinedRoot, key: str) -> bool:
    return _bytes(root, f"{RESOURCES}/{key}/{SCOPE_FILE}") is not None


def _known_scope(root: ConfinedRoot, key: str) -> str | None:
    """The folder that an earlier import found; the agent clears its old sessions away."""
    match _json(_bytes(root, f"{RESOURCES}/{key}/{SCOPE_FILE}")):
        case {"cwd": str(cwd)} if is_usable_folder(cwd):
            return cwd
        case _:
            return None


def _sources(root: ConfinedRoot) -> Mapping[str, str]:
    known = _json(_bytes(root, SOURCES))
    if not isinstance(known, dict):
        return {}
    return {key: one for key, one in known.items() if isinstance(one, str)}


def _keys(root: ConfinedRoot) -> list[str]:
    folder = root.path / RESOURCES
    if not folder.is_dir() or folder.is_symlink():
        return []
    return sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.is_symlink())


def _stored(root: ConfinedRoot, key: str) -> Mapping[str, bytes] | None:
    """Every file of a project's folder; None when there is no such folder."""
    if key not in _keys(root):
        return None
    folder = ConfinedRoot(root.path / RESOURCES / key)
    return {path: _bytes(folder, path) or b"" for path in folder.walk()}


def _bytes(root: ConfinedRoot, path: str) -> bytes | None:
    try:
        return root.read_bytes(path)
    except (PathRefused, FileNotFoundError):
        return None


def _json(data: bytes | None) -> object:
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None
