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
    """What the agent needs of memory; the version is frozen when a thread is loaded."""

    async def section(self, *, use: bool, dedicated_tools: bool) -> Sequence[str]:
        """The parts of the memory section; empty when there is nothing to say."""
        ...

    def tools(self) -> ToolSet:
        """The memory tools as one namespace."""
        ...

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        ...

    async def count(self, citation: Citation) -> None:
        """Count one use of each cited source."""
        ...


class LiveMemory:
    """Memory of this home in one version."""

    def __init__(self, state: State, *, version: str) -> None:
        self._state = state
        self._version = version
        tools: tuple[Tool, ...] = memory_tools(state.home, version, state.clock)
        self._tools = ToolSet(namespace=NAMESPACE, tools=tools)

    async def section(self, *, use: bool, dedicated_tools: bool) -> Sequence[str]:
        """The parts of the memory section; empty when there is nothing to say."""
        if not use:
            return ()
        section = await asyncio.to_thread(
            memory_section,
            self._state.home,
            version=self._version,
            tokens_max=SECTION_TOKENS_MAX,
            use=use,
            dedicated_tools=dedicated_tools,
        )
        return section.parts

    def tools(self) -> ToolSet:
        """The memory tools as one namespace."""
        return self._tools

    def stripper(self) -> CitationStripper:
        """A fresh reader of citation markup for one message."""
        return CitationStripper()

    async def count(self, citation: Citation) -> None:
        """Count one use of each cited source."""
        try:
            await count_usage(self._state, self._version, citation)
        except StateError as error:
            # The answer stands; only the ranking misses one use.
            log.warning("a citation was not counted: %s", error)
