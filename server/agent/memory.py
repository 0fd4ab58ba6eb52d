"""How a live thread meets memory: the section at its first turn, the tools, the citations."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from memory_read.citations import Citation, CitationStripper, count_usage
from memory_read.instructions import memory_section
from memory_read.tools import memory_tools
from server.agent.tools.base import Tool, ToolSet
from state.errors import StateError
from state.recovery import State

log = logging.getLogger(__name__)

NAMESPACE = "memories"
SECTION_TOKENS_MAX = 2_500


class MemoryReader(Protocol):
    """What the agent needs of memory, each time in the version that its thread reads."""

    async def section(self, version: str, *, use: bool, dedicated_tools: bool) -> Sequence[str]:
        """The parts of the memory section; empty when there is nothing to say."""
        ...

    def tools(self, version: str) -> ToolSet:
        """The memory tools as one namespace."""
        ...

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        ...

    async def count(self, version: str, citation: Citation) -> None:
        """Count one use of each cited source."""
        ...


class LiveMemory:
    """Memory of this home in every version."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._tools: dict[str, ToolSet] = {}

    async def section(self, version: str, *, use: bool, dedicated_tools: bool) -> Sequence[str]:
        """The parts of the memory section; empty when there is nothing to say."""
        if not use:
            return ()
        section = await asyncio.to_thread(
            memory_section,
            self._state.home,
            version=version,
            tokens_max=SECTION_TOKENS_MAX,
            use=use,
            dedicated_tools=dedicated_tools,
        )
        return section.parts

    def tools(self, version: str) -> ToolSet:
        """The memory tools as one namespace."""
        if version not in self._tools:
            tools: tuple[Tool, ...] = memory_tools(self._state.home, version, self._state.clock)
            self._tools[version] = ToolSet(namespace=NAMESPACE, tools=tools)
        return self._tools[version]

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        return CitationStripper()

    async def count(self, version: str, citation: Citation) -> None:
        """Count one use of each cited source."""
        try:
            await count_usage(self._state, version, citation)
        except StateError as error:
            # The answer stands; only the ranking misses one use.
            log.warning("a citation was not counted: %s", error)
