"""Any provider behind the OpenAI Responses API.

Invariant: a stream without its terminal event has failed.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from server.agent.errors import ProviderFailed
from server.agent.limits import ModelLimits
from server.agent.models.base import Completed, ModelEvent, ModelRequest
from server.agent.models.flat_tools import (
    needs_more_than_functions,
    plain_functions,
    plain_item,
)
from server.agent.models.openai_client import CUT, OpenAIProvider, OpenResponse
from server.agent.models.response_events import model_events
from server.settings import ProviderSettings
from state.clock import Clock


class OpenAIResponses(OpenAIProvider):
    """One configured provider."""

    def __init__(self, settings: ProviderSettings, *, clock: Clock, limits: ModelLimits) -> None:
        super().__init__(settings, clock=clock, limits=limits)
        self._namespaces = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One call.

        Raises: ProviderFailed.
        """
        response, whole = await self._opened(request), False
        try:
            async for raw in response.read():
                for event in model_events(
                    raw,
                    tools=request.tools,
                    rate_limits=response.rate_limits,
                    delta_bytes_max=self._limits.delta_bytes_max,
                ):
                    whole = isinstance(event, Completed)
                    yield event
                    if whole:
                        return
        finally:
            if whole:
                response.leave()
            else:
                await response.close()
        raise ProviderFailed("other", CUT, retryable=True)

    async def _opened(self, request: ModelRequest) -> OpenResponse:
        """The open response; a server without namespaces is asked once more, without them."""
        try:
            return await self._asked(request)
        except ProviderFailed as error:
            refused = error.http_status == 400 and self._namespaces and refuses_namespaces(error)
            if not (refused and needs_more_than_functions(request.tools)):
                raise
            self._namespaces = False
        return await self._asked(request)

    async def _asked(self, request: ModelRequest) -> OpenResponse:
        # Without an effort a model keeps its thoughts, and forgets them between two tools.
        effort = request.effort or self.default_effort(request.model)
        body = body_of(replace(request, effort=effort), namespaces=self._namespaces)
        return await self.opened("/responses", body, items=len(request.input))


def body_of(request: ModelRequest, *, namespaces: bool) -> dict[str, Any]:
    """The request as the Responses API takes it."""
    flat = not namespaces
    body: dict[str, Any] = {
        "model": request.model,
        "instructions": request.instructions,
        "input": [plain_item(item) for item in request.input] if flat else list(request.input),
        "store": False,
        "stream": True,
    }
    if request.tools:
        body["tools"] = plain_functions(request.tools) if flat else list(request.tools)
        body["tool_choice"] = "auto"
        body["parallel_tool_calls"] = True
    if request.effort:
        body["reasoning"] = {"effort": request.effort, "summary": request.summary or "auto"}
        if request.summary == "none":
            del body["reasoning"]["summary"]
        body["include"] = ["reasoning.encrypted_content"]
    if request.service_tier:
        body["service_tier"] = request.service_tier
    if request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if request.output_schema is not None:
        body["text"] = {
            "format": {
                "type": "json_schema",
                "name": "output_schema",
                "strict": True,
                # A recipe holds it read-only, which is nothing that JSON knows.
                "schema": dict(request.output_schema),
            }
        }
    return body


def refuses_namespaces(error: ProviderFailed) -> bool:
    """Whether a refusal speaks of the tools that were sent."""
    said = error.message.lower()
    return "namespace" in said or "tools" in said or "tool type" in said
