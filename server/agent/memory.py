"""How a live thread meets memory: the section at its first turn, the tools, the citations."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from memory_read.citations import Citation, CitationStripper, count_usage
from memory_read.instructions import memory_section
from memory_read.recall import RecallTool
from memory_read.search import MemorySearch
from memory_read.tools import memory_tools
from memory_read.withheld import OPEN, ReadGate
from server.agent.inputs import ThreadSettings
from server.agent.memory_counters import MemoryCounters, counted
from server.agent.memory_told import MemoryTold, told, told_nothing
from server.agent.note_keeping import note_keeping
from server.agent.tools.base import Tool, ToolSet
from state.errors import StateError
from state.ids import ThreadId
from state.recovery import State

log = logging.getLogger(__name__)

NAMESPACE = "memories"
SECTION_TOKENS_MAX = 2_500


class MemoryReader(Protocol):
    """What the agent needs of memory, each time in the version that its thread reads."""

    @property
    def counters(self) -> MemoryCounters:
        """How memory was used since the start."""
        ...

    async def section(self, settings: ThreadSettings) -> MemoryTold:
        """What a thread of these settings is told now, or why it is told nothing."""
        ...

    def tools(self, version: str) -> ToolSet:
        """The memory tools as one namespace."""
        ...

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        ...

    async def count(
        self, version: str, citation: Citation, seen: Callable[[ThreadId], bool]
    ) -> None:
        """Count one use of each cited source that the thread has seen in memory."""
        ...


class LiveMemory:
    """Memory of this home in every version."""

    def __init__(
        self,
        state: State,
        search: MemorySearch,
        versions: Sequence[str] = (),
        gate: ReadGate = OPEN,
    ) -> None:
        """`versions` are those that are written; a note of the tool goes into each."""
        self._state = state
        self._gate = gate
        self._search = search
        self._versions = tuple(versions)
        self._tools: dict[str, ToolSet] = {}
        self.counters = MemoryCounters()

    async def section(self, settings: ThreadSettings) -> MemoryTold:
        """What a thread of these settings is told now, or why it is told nothing."""
        found = await self._section(settings)
        self.counters.section(found.report)
        return found

    async def _section(self, settings: ThreadSettings) -> MemoryTold:
        version = settings.memory_version
        if settings.memory_off is not None:
            return told_nothing(settings.memory_off, version)
        await self._gate.ready(version)
        section = await asyncio.to_thread(
            memory_section,
            self._state.home,
            version=version,
            tokens_max=SECTION_TOKENS_MAX,
            use=settings.use_memories,
            dedicated_tools=settings.dedicated_tools,
            now_ms=self._state.clock.now_ms(),
            cwd=settings.cwd,
            gate=self._gate,
        )
        return told(section, version)

    def tools(self, version: str) -> ToolSet:
        """The memory tools as one namespace."""
        if version not in self._tools:
            keep = note_keeping(self._state, version, self._versions)
            tools: tuple[Tool, ...] = (
                *(
                    counted(tool, self.counters)
                    for tool in memory_tools(
                        self._state.home, version, self._state.clock, keep=keep, gate=self._gate
                    )
                ),
                RecallTool(self._search, version, told=self._recalled),
            )
            self._tools[version] = ToolSet(namespace=NAMESPACE, tools=tools)
        return self._tools[version]

    def _recalled(self, truncated: bool | None) -> None:
        word = "unknown" if truncated is None else str(truncated).lower()
        self.counters.tool_call("recall", "all", succeeded=truncated is not None, truncated=word)

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        return CitationStripper()

    async def count(
        self, version: str, citation: Citation, seen: Callable[[ThreadId], bool]
    ) -> None:
        """Count one use of each cited source that the thread has seen in memory."""
        try:
            await count_usage(self._state, version, citation, seen=seen)
        except StateError as error:
            # The answer stands; only the ranking misses one use.
            log.warning("a citation was not counted: %s", error)
