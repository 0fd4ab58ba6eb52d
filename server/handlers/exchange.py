"""Memory into a folder and out of one: whose it is, where it may lie, what the client hears."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from memory_read.export import Exported, Origins, exported, standing_texts
from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import OPEN, ReadGate
from memory_write.controls.restore import OwnMemory
from protocol.errors import draining, refused
from protocol.messages.exchange import (
    MemoryExportParams,
    MemoryExportResult,
    MemoryRestoreParams,
    MemoryRestoreResult,
)
from protocol.messages.memory import ImportFailure
from server.environment import user_home
from server.handlers.services import Services
from server.settings import BUILT_VERSIONS
from server.wire.dispatch import Call
from state.home import Home
from state.policy.export_form import Manifest, digest_of
from state.stores.threads import ThreadCursor, ThreadQuery
from state.workspace.export_folder import export_origin, write_export
from state.workspace.layout import rfc3339

LEFT_OUT_TOLD_MAX = 200
PATH_CHARS_MAX = 4_096
PAGE_ROWS = 100
PAGES_MAX = 100


class ExchangeHandlers:
    """Answers `memory/export` and `memory/restore`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def export(self, call: Call, params: MemoryExportParams) -> MemoryExportResult:
        """Write everything a thread could be told, in a form that means the same elsewhere."""
        services = self._services
        folder = _absolute(params.folder, "export")
        version = self._version(params.version)
        home = services.state.home
        await services.gate.ready(version)
        found = await asyncio.to_thread(
            exported, home, version, await self._origins(), gate=services.gate
        )
        if not found.files:
            raise refused(f"there is no memory of version {version} to export")
        await asyncio.to_thread(
            _written, home, folder, version, found, services.state.clock.now_ms()
        )
        return MemoryExportResult(
            folder=str(folder),
            version=version,
            files=len(found.files),
            bytes=sum(map(len, found.files.values())),
            left_out=_told(found.left_out),
        )

    async def restore(self, call: Call, params: MemoryRestoreParams) -> MemoryRestoreResult:
        """Take in what is new of an export; nothing that stands here is overwritten."""
        services = self._services
        if services.draining():
            raise draining()
        folder = _absolute(params.folder, "restore")
        origins = await self._origins()
        own = await asyncio.to_thread(
            _own, services.state.home, tuple(services.lanes.versions), origins, services.gate
        )
        report = await services.restore.run(folder, own, dry_run=params.dry_run is True)
        if report.changed and not report.dry_run:
            services.index.nudge()
            services.lanes.wake()
        return MemoryRestoreResult(
            version=report.version,
            created_at=report.created_at,
            found=report.found,
            notes=report.notes,
            imported=report.imported,
            updated=report.updated,
            unchanged=report.unchanged,
            removed=report.removed,
            left_out=_told(report.left_out),
            awaits_consolidation=report.for_consolidation,
            dry_run=report.dry_run,
        )

    def _version(self, named: str | None) -> str:
        if named is None:
            return self._services.settings.memory.version
        if named not in BUILT_VERSIONS:
            built = ", ".join(BUILT_VERSIONS)
            raise refused(f"there is no memory version {named[:40]}; it is one of {built}")
        return named

    async def _origins(self) -> Origins:
        """The home of the user, and what threads recorded of their repositories."""
        state = self._services.state
        remotes: dict[str, str | None] = {}
        async with state.database.reading() as read:
            for archived in (False, True):
                cursor: ThreadCursor | None = None
                for _ in range(PAGES_MAX):
                    query = ThreadQuery(limit=PAGE_ROWS, cursor=cursor, archived=archived)
                    page = await state.threads.page(read, query)
                    for row in page.rows:
                        known = remotes.get(row.cwd.rstrip("/"))
                        remotes[row.cwd.rstrip("/")] = known or row.git_origin_url
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        return Origins(user_home=user_home(), remotes=remotes)


def _own(
    home: Home, versions: Sequence[str], origins: Origins, gate: ReadGate
) -> dict[str, OwnMemory]:
    """What each version holds; what any of them would export is nothing new to the others."""
    known = frozenset(
        (path, digest_of(data))
        for version in versions
        for path, data in exported(home, version, origins, gate=gate).files.items()
    )
    return {
        version: OwnMemory(
            # What others bring is judged by what the notes here say; it never stood here.
            shown=standing_texts(MemorySnapshot(home, version, OPEN).standing()),
            known=known,
        )
        for version in versions
    }


def _written(home: Home, folder: Path, version: str, found: Exported, now_ms: int) -> None:
    manifest = Manifest(
        memory_version=version,
        origin=export_origin(home.keys),
        created_at=rfc3339(now_ms),
        digests={},
        pending=found.pending,
    )
    write_export(folder, manifest, found.files, forbidden=home.root)


def _absolute(text: str, what: str) -> Path:
    """The folder, which the client must name from the root.

    Raises: WireError.
    """
    if "\0" in text or not text.startswith("/") or len(text) > PATH_CHARS_MAX:
        raise refused(f"{what} folder must be an absolute path: {text[:500]}")
    return Path(text)


def _told(pairs: Sequence[tuple[str, str]]) -> list[ImportFailure]:
    return [ImportFailure(path=path, reason=reason) for path, reason in pairs[:LEFT_OUT_TOLD_MAX]]
