"""Ranked search for clients: whose memory is asked, within what a frame can carry."""

from memory_read.hits import Hit
from memory_read.recall import checked_query
from memory_read.search import HITS_DEFAULT
from protocol.errors import WireError, out_of_range
from protocol.messages.search import SearchHit, SearchParams, SearchResult
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup
from server.handlers.services import Services
from server.handlers.sizes import fitting_rows, json_bytes
from server.settings import BUILT_VERSIONS
from server.wire.dispatch import Call
from state.errors import PathRefused, RolloutMissing


class SearchHandler:
    """Answers `memory/search`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def search(self, call: Call, params: SearchParams) -> SearchResult:
        """The best hits of the version that is asked, or why there are none."""
        query = _checked(params)
        memory = self._services.settings.memory
        version, cwd, use = memory.version, "", True
        if params.thread_id is not None:
            version, cwd, use = await self._of_thread(params.thread_id)
        version = params.version or version
        if not (memory.enabled and use):
            return SearchResult(
                hits=[],
                version=version,
                mode="lexical",
                indexing=False,
                truncated=False,
                reason="use_off" if memory.enabled else "disabled",
            )
        wanted = HITS_DEFAULT if params.limit is None else params.limit
        reply = await self._services.search.search(
            query, version=version, limit=wanted, cwd=params.cwd or cwd
        )
        hits = [_view(hit) for hit in reply.hits]
        fitting = fitting_rows(hits, lambda hit: json_bytes(hit.to_wire())) if hits else []
        return SearchResult(
            hits=fitting,
            version=version,
            mode=reply.mode,
            indexing=reply.indexing,
            truncated=reply.truncated or len(fitting) < len(hits),
            reason=None,
        )

    async def _of_thread(self, text: str) -> tuple[str, str, bool]:
        """The version a thread reads, its folder, and whether it sees memory.

        Raises: WireError, RolloutMissing.
        """
        thread_id = thread_id_of(text)
        found = await self._lookup.find(thread_id)
        if found is None:
            raise RolloutMissing(thread_id)
        if found.live is not None:
            settings = found.live.settings
            return settings.memory_version, settings.cwd, settings.use_memories
        row = found.row
        return self._services.settings.memory.version, row.cwd, row.use_memories


def _checked(params: SearchParams) -> str:
    """The query to ask.

    Raises: WireError.
    """
    if params.version is not None and params.version not in BUILT_VERSIONS:
        raise _bad(f"version must be one of {', '.join(BUILT_VERSIONS)}")
    try:
        return checked_query(params.query)
    except PathRefused as refusal:
        raise _bad(str(refusal)) from refusal


def _bad(sentence: str) -> WireError:
    return out_of_range(f"Invalid request: {sentence}")


def _view(hit: Hit) -> SearchHit:
    return SearchHit(
        path=hit.path,
        start_line=hit.start_line,
        end_line=hit.end_line,
        heading=hit.heading,
        text=hit.text,
        score=hit.score,
        thread_ids=list(hit.thread_ids),
        updated_at=None if hit.at_ms is None else hit.at_ms // 1000,
        pending=hit.pending,
    )
