"""Ranked search over the memory of an open home, and what tests ask of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memory_read.index_standing import INDEX_LIMITS, IndexLimits
from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from state.recovery import State
from state.stores.search import VERSIONS


@asynccontextmanager
async def searching(
    state: State, limits: IndexLimits = INDEX_LIMITS
) -> AsyncIterator[tuple[SearchIndex, MemorySearch]]:
    """An index and the search over it, closed at the end."""
    index = SearchIndex(state, limits=limits)
    try:
        yield index, MemorySearch(state, index)
    finally:
        await index.close()


async def texts(search: MemorySearch, query: str, *, limit: int = 10) -> list[str]:
    """What is found, the best first."""
    return [hit.text for hit in (await search.search(query, version="v1", limit=limit)).hits]


async def settled(index: SearchIndex) -> None:
    """Everything is done that can be done, however slow the machine is."""
    await index.settle()
    for version in VERSIONS:
        await index.finished(version)


def bytes_of(state: State) -> bytes:
    """Everything the database has on the disk."""
    base = state.home.database
    return b"".join(path.read_bytes() for path in base.parent.glob(f"{base.name}*"))
