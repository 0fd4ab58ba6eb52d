"""Learning on request: bring in sessions, consolidate now."""

import asyncio
import stat
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory_write.controls import claude_sessions
from memory_write.controls.session_files import ROLLOUTS, Form
from memory_write.controls.transfer import ImportProgress
from protocol import methods
from protocol.errors import WireError, draining, overloaded, refused
from protocol.messages import memory as wire
from protocol.messages.memory import (
    AgentMemoryParams,
    AgentMemoryResult,
    ConsolidateParams,
    ConsolidateResult,
    ImportParams,
    ImportResult,
    PauseParams,
    PauseResult,
)
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup
from server.handlers.services import Services
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.ids import uuid7

FAILURES_TOLD_MAX = 200
_FORMS: Mapping[str, Form] = {"codex": ROLLOUTS, "claude": claude_sessions.SESSIONS}


class LearningHandlers:
    """Answers the methods by which a person makes memoryd learn."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def import_sessions(self, call: Call, params: ImportParams) -> ImportResult:
        """Copy session files into the home; the source is never changed."""
        services = self._services
        if services.draining():
            raise draining()
        path = await asyncio.to_thread(_existing, params.path)
        loop = asyncio.get_running_loop()

        def tell(progress: ImportProgress) -> None:
            # The import works in threads of its own; the hub belongs to the loop.
            loop.call_soon_threadsafe(self._publish, progress)

        report = await services.importer.run(
            path,
            form=_FORMS[params.format or "codex"],
            outside_bars=services.settings.pollutable,
            since_ms=_since_ms(params.since),
            dry_run=bool(params.dry_run),
            progress=tell,
        )
        if report.barred and not report.dry_run:
            # What was learned from one before it took in outside context.
            await services.lanes.withdraw()
        return ImportResult(
            found=report.found,
            imported=report.imported,
            older=report.older,
            empty=report.empty,
            barred=report.barred,
            updated=report.updated,
            unchanged=report.unchanged,
            conflicts=_failures(report.conflicts),
            failed=_failures(report.failed),
            skipped_lines=report.skipped_lines,
            unreadable=_failures(report.unreadable),
            dry_run=bool(params.dry_run),
        )

    async def import_agent_memories(
        self, call: Call, params: AgentMemoryParams
    ) -> AgentMemoryResult:
        """Make an extension of the memory files in another agent's home."""
        services = self._services
        if services.draining():
            raise draining()
        path = await asyncio.to_thread(_existing, params.path)
        report = await services.agent_memories.run(path, dry_run=bool(params.dry_run))
        if report.changed and not report.dry_run:
            services.lanes.wake()
        return AgentMemoryResult(
            found=report.found,
            files=report.files,
            imported=report.imported,
            updated=report.updated,
            unchanged=report.unchanged,
            removed=report.removed,
            failed=_failures(report.failed),
            left_out=_failures(report.left_out),
            dry_run=report.dry_run,
        )

    async def consolidate(self, call: Call, params: ConsolidateParams) -> ConsolidateResult:
        """Run both phases now over every thread that may be learned from, or over one."""
        services = self._services
        if services.draining():
            raise draining()
        only = None
        if params.thread_id is not None:
            only = thread_id_of(params.thread_id)
            found = await self._lookup.find_recorded(only)
            if found is None or not found.materialised:
                raise RolloutMissing(only)
        if services.orders.full:
            raise overloaded()
        return await services.orders.consolidate(
            services.lanes,
            uuid7(services.clock.now_ms()),
            only=only,
            wait=params.wait is not False,
        )

    async def pause(self, call: Call, params: PauseParams) -> PauseResult:
        """Stop learning and end what works, or let it go on; the answer comes when it holds."""
        await self._services.pause.set(paused=params.paused)
        return PauseResult(paused=params.paused)

    def _publish(self, progress: ImportProgress) -> None:
        told = wire.ImportProgress(
            path=str(progress.path), done=progress.done, total=progress.total
        )
        self._services.hub.publish(methods.THREAD_IMPORT_PROGRESS, told, thread_id=None)


def _existing(text: str) -> Path:
    """The path to import, which the client must name from the root.

    Raises: WireError.
    """
    try:
        path = Path(text).expanduser()
        if not path.is_absolute():
            raise refused(f"import path must be absolute: {text[:500]}")
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise refused(f"no such file or folder: {text[:500]}") from None
    except (OSError, RuntimeError, ValueError) as error:
        # Such as too long a name, a home of nobody, a null byte, a folder that may not be entered.
        reason = getattr(error, "strerror", None) or str(error)
        raise refused(f"{text[:500]} cannot be read: {reason}") from error
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise refused(f"neither a file nor a folder: {text[:500]}")
    return path


def _since_ms(text: str | None) -> int | None:
    """A day or an RFC 3339 time as epoch milliseconds; without an offset it is UTC.

    Raises: WireError.
    """
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise _bad_time(text) from None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _bad_time(text: str) -> WireError:
    return refused(f"since must be a date such as 2026-01-31 or an RFC 3339 time: {text[:100]}")


def _failures(pairs: Sequence[tuple[str, str]]) -> list[wire.ImportFailure]:
    return [
        wire.ImportFailure(path=str(path), reason=str(reason))
        for path, reason in pairs[:FAILURES_TOLD_MAX]
    ]
