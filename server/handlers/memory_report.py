"""How one thread meets memory, for whoever asks why it knows something, or does not."""

import asyncio

from protocol.messages.memory import MemoryReportParams, MemoryReportResult, PollutionView
from server.agent.memory_told import MemoryReport
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Found, Lookup
from server.handlers.services import Services
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.rollouts.history import read_history
from state.stores.private_rows import is_private
from state.stores.withdrawal import outside_source

NO_TURN = "no_turn"


class MemoryReportHandler:
    """Answers `thread/memory/report`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def report(self, call: Call, params: MemoryReportParams) -> MemoryReportResult:
        """From the thread itself where it is loaded, else from its transcript."""
        services = self._services
        thread_id = thread_id_of(params.thread_id)
        found = await self._lookup.find(thread_id)
        if found is None:
            raise RolloutMissing(thread_id)
        row, live = found.row, found.live
        told = await self._told(found)
        async with services.state.database.reading() as read:
            source = await outside_source(read, thread_id)
        version = services.settings.memory.version if live is None else live.settings.memory_version
        told = told or MemoryReport(injected=False, reason=NO_TURN, version=version)
        private = is_private(row)
        sees = row.use_memories if live is None else live.settings.use_memories
        return MemoryReportResult(
            thread_id=thread_id,
            loaded=live is not None,
            memory_mode=row.memory_mode,
            memory_use=sees,
            polluted_by=None
            if source is None
            else PollutionView(kind=source.kind, name=source.name),
            version=told.version,
            injected=told.injected and sees,
            reason="private" if private and not told.injected else told.reason,
            tokens=told.tokens,
            parts=told.parts,
            notes=told.notes,
            withheld=told.withheld,
            corrections=told.corrections,
            dated_lines=told.dated,
            doubtful_pointers=told.doubtful,
            digest=told.digest,
            tools_offered=live is not None and sees and live.settings.dedicated_tools,
            instruction_sources=[] if live is None else list(live.memory.instruction_sources),
        )

    async def _told(self, found: Found) -> MemoryReport | None:
        live = found.live
        if live is not None and (live.memory.report is not None or live.ephemeral):
            return live.memory.report
        if not found.materialised:
            return None
        path = self._services.state.home.root / found.row.rollout_path
        history = await asyncio.to_thread(read_history, path)
        return MemoryReport.read((history.context or {}).get("memory"))
