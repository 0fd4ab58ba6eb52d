"""Any provider behind the Chat Completions API: most local servers, and many gateways.

What a server refuses of the optional keys is left out from then on, so that a plain endpoint
without strict schemas, usage or parallel calls serves both turns and learning.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from server.agent.errors import ProviderFailed
from server.agent.limits import ModelLimits
from server.agent.models.base import Completed, ModelEvent, ModelRequest
from server.agent.models.chat_events import ChatReader
from server.agent.models.chat_request import OPTIONAL, body_of, refused_keys
from server.agent.models.openai_client import END_WAIT_S, OpenAIProvider, OpenResponse
from server.agent.models.response_events import joined
from server.settings import ProviderSettings
from state.clock import Clock


class OpenAIChat(OpenAIProvider):
    """One configured provider."""

    def __init__(self, settings: ProviderSettings, *, clock: Clock, limits: ModelLimits) -> None:
        super().__init__(settings, clock=clock, limits=limits)
        self._without: frozenset[str] = frozenset()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One call.

        Raises: ProviderFailed.
        """
        response, whole = await self._opened(request), False
        reader = ChatReader(
            tools=request.tools,
            rate_limits=response.rate_limits,
            arguments_bytes_max=self._limits.event_bytes_max,
        )
        bytes_max = self._limits.delta_bytes_max
        try:
            async for chunks in self._chunks(response, reader):
                for event in joined(reader.feed(chunks), delta_bytes_max=bytes_max):
                    yield event
            for event in reader.finish():
                whole = isinstance(event, Completed)
                yield event
        finally:
            if whole:
                response.leave()
            else:
                await response.close()

    async def _chunks(
        self, response: OpenResponse, reader: ChatReader
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """What the server sends, up to where nothing more is needed."""
        if not response.streams:
            yield [await response.whole()]
            return
        reads = aiter(response.read())
        while not reader.ended:
            try:
                # Behind the answer only the usage may come, and a server that tells none may
                # leave the stream open.
                async with asyncio.timeout(END_WAIT_S if reader.answered else None):
                    chunks = await anext(reads, None)
            except TimeoutError:
                return
            if chunks is None:
                return
            yield chunks

    async def _opened(self, request: ModelRequest) -> OpenResponse:
        """The open response; each refusal of an optional key is answered by leaving it out."""
        for _ in range(len(OPTIONAL)):
            body = body_of(request, without=self._without)
            try:
                return await self._asked(request)
            except ProviderFailed as error:
                if error.http_status not in (400, 422):
                    raise
                refused = refused_keys(error.message, body)
                if not refused:
                    raise
                self._without |= refused
        return await self._asked(request)

    async def _asked(self, request: ModelRequest) -> OpenResponse:
        body = body_of(request, without=self._without)
        return await self.opened("/chat/completions", body, items=len(request.input))
