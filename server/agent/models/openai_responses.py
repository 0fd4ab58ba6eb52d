"""Any provider behind the OpenAI Responses API, over the `openai` client with a `base_url`.

The only owner of openai and httpx2, both loaded when first needed, in a thread. One call is one
try: retries stand in `retry.py`. Invariant: a stream without its terminal event has failed. Error
texts may repeat what the server said, but never a header or a key.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from server.agent.errors import ProviderFailed
from server.agent.limits import ModelLimits
from server.agent.models.base import Completed, ModelEvent, ModelInfo, ModelRequest
from server.agent.models.flat_tools import flat_definitions, flat_item, has_namespaces
from server.agent.models.quota import from_headers
from server.agent.models.response_events import model_events, status_failed
from server.agent.models.sse import EventTooLong, SseReader
from server.settings import OPENAI, OPENAI_BASE_URL, ProviderSettings
from state.clock import Clock

if TYPE_CHECKING:
    import openai

MODELS = (
    ModelInfo(
        model_id="gpt-5.5",
        display_name="GPT-5.5",
        description="General coding work",
        context_window=258_400,
        efforts=("low", "medium", "high", "xhigh"),
        default_effort="medium",
        is_default=True,
    ),
)
_CUT = "stream disconnected before completion"
_LIST_WAIT_S = 5.0
_END_WAIT_S = 1.0
"""How long a server may take to end a response behind its last event."""


class OpenAIResponses:
    """One configured provider."""

    def __init__(self, settings: ProviderSettings, *, clock: Clock, limits: ModelLimits) -> None:
        self._settings = settings
        self._clock = clock
        self._limits = limits
        self._client: openai.AsyncOpenAI | None = None
        self._namespaces = True
        self._loading = asyncio.Lock()
        self._left: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The name it has in the settings."""
        return self._settings.name

    @property
    def default_model(self) -> str:
        """The model used when nobody chose one."""
        return MODELS[0].model_id

    def models(self) -> Sequence[ModelInfo]:
        """The models it is known to offer; another server's models are not known."""
        return MODELS if self._settings.name == OPENAI else ()

    async def listed(self) -> Sequence[str] | None:
        """The ids that `GET /models` names; whatever goes wrong there says nothing."""
        if self._settings.api_key is None and self._settings.base_url == OPENAI_BASE_URL:
            return None
        import openai

        try:
            client = await self._ready()
            told: Any = await client.get(
                "/models",
                cast_to=object,
                options={"headers": self._headers(), "timeout": _LIST_WAIT_S, "max_retries": 0},
            )
        except (openai.OpenAIError, ProviderFailed, ValueError):
            return None
        rows = told.get("data") if isinstance(told, dict) else None
        ids = [row.get("id") for row in rows or () if isinstance(row, dict)]
        return [one for one in ids if isinstance(one, str)] or None

    async def warm(self) -> None:
        """Load the client library and make the client."""
        await self._ready()

    async def close(self) -> None:
        """Close its connections."""
        client, self._client = self._client, None
        for task in self._left:
            task.cancel()
        await asyncio.gather(*self._left, return_exceptions=True)
        if client is not None:
            await client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One call.

        Raises: ProviderFailed.
        """
        if self._settings.api_key is None and self._settings.base_url == OPENAI_BASE_URL:
            raise ProviderFailed(
                "unauthorized",
                f"no API key for model provider `{self.name}`: set OPENAI_API_KEY, or name a "
                "variable with `env_key` in its section of config.toml",
            )
        client = await self._ready()
        response = await self._opened(client, request)
        chunks, whole = response.aiter_bytes(), False
        try:
            rate_limits = from_headers(response.headers, now_ms=self._clock.now_ms())
            async for raw in self._read(chunks):
                for event in model_events(
                    raw,
                    tools=request.tools,
                    rate_limits=rate_limits,
                    delta_bytes_max=self._limits.delta_bytes_max,
                ):
                    whole = isinstance(event, Completed)
                    yield event
                    if whole:
                        return
        finally:
            if whole:
                self._leave(response, chunks)
            else:
                await response.aclose()
        raise ProviderFailed("other", _CUT, retryable=True)

    async def _opened(self, client: "openai.AsyncOpenAI", request: ModelRequest) -> Any:
        """The open response; a server without namespaces is asked once more, without them."""
        try:
            return await self._post(client, body_of(request, namespaces=self._namespaces))
        except ProviderFailed as error:
            refused = error.http_status == 400 and self._namespaces and refuses_namespaces(error)
            if not (refused and has_namespaces(request.tools)):
                raise
            self._namespaces = False
        return await self._post(client, body_of(request, namespaces=False))

    async def _post(self, client: "openai.AsyncOpenAI", body: Mapping[str, Any]) -> Any:
        import openai

        try:
            stream = await client.post(
                "/responses",
                cast_to=object,
                content=await _encoded(body),
                options={"headers": self._headers()},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except openai.APIStatusError as error:
            raise self._status_failed(error) from error
        except openai.APIConnectionError as error:
            # Time-outs are a kind of connection error here.
            raise ProviderFailed(
                "httpConnectionFailed",
                f"no connection to model provider `{self.name}` at {client.base_url.host}: "
                f"{error.__cause__ or error}",
                retryable=True,
            ) from error
        return stream.response

    def _leave(self, response: Any, chunks: AsyncIterator[bytes]) -> None:
        """Read what stands behind the last event, so that the next call can use the connection."""
        task = asyncio.create_task(_to_its_end(response, chunks))
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    async def _read(
        self, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        import httpx2

        reader = SseReader(event_bytes_max=self._limits.event_bytes_max)
        try:
            async for chunk in chunks:
                if events := reader.feed(chunk):
                    yield events
            if events := reader.finish():
                yield events
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ProviderFailed("other", f"{_CUT}: {reason}", retryable=True) from error
        except EventTooLong as error:
            bytes_max = self._limits.event_bytes_max
            raise ProviderFailed(
                "other", f"{_CUT}: one event is longer than {bytes_max} bytes"
            ) from error
        except ValueError as error:
            raise ProviderFailed("other", f"{_CUT}: an event is not JSON") from error

    def _status_failed(self, error: "openai.APIStatusError") -> ProviderFailed:
        body = error.body
        inner = body.get("error", body) if isinstance(body, Mapping) else {}
        headers = error.response.headers
        return status_failed(
            error.status_code,
            error.response.text,
            inner if isinstance(inner, Mapping) else {},
            retry_after_s=_retry_after_s(headers),
            rate_limits=from_headers(headers, now_ms=self._clock.now_ms()),
        )

    def _headers(self) -> "dict[str, str | openai.Omit]":
        """A key goes as a bearer token, unless the settings bring a header of their own for it."""
        import openai

        headers: dict[str, str | openai.Omit] = {
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
            **self._settings.headers,
        }
        if not any(name.lower() == "authorization" for name in headers):
            key = self._settings.api_key
            headers["Authorization"] = f"Bearer {key}" if key else openai.Omit()
        return headers

    async def _ready(self) -> "openai.AsyncOpenAI":
        if self._client is not None:
            return self._client
        async with self._loading:
            if self._client is None:
                # Loading takes a second where files are cold, reading certificates 50 ms.
                self._client = await asyncio.to_thread(self._made)
        return self._client

    def _made(self) -> "openai.AsyncOpenAI":
        _load()
        import httpx2
        import openai

        settings, limits = self._settings, self._limits
        timeout = httpx2.Timeout(limits.idle_timeout_s, connect=limits.connect_timeout_s)
        return openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=httpx2.AsyncClient(trust_env=False, timeout=timeout),
        )


def body_of(request: ModelRequest, *, namespaces: bool) -> dict[str, Any]:
    """The request as the Responses API takes it."""
    flat = not namespaces
    body: dict[str, Any] = {
        "model": request.model,
        "instructions": request.instructions,
        "input": [flat_item(item) for item in request.input] if flat else list(request.input),
        "store": False,
        "stream": True,
    }
    if request.tools:
        body["tools"] = flat_definitions(request.tools) if flat else list(request.tools)
        body["tool_choice"] = "auto"
        body["parallel_tool_calls"] = True
    if request.effort:
        body["reasoning"] = {"effort": request.effort, "summary": "auto"}
        body["include"] = ["reasoning.encrypted_content"]
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


async def _to_its_end(response: Any, chunks: AsyncIterator[bytes]) -> None:
    import httpx2

    try:
        async with asyncio.timeout(_END_WAIT_S):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError):
        return  # the answer was whole; only the connection is lost
    finally:
        await response.aclose()


LARGE_ITEMS = 200


async def _encoded(body: Mapping[str, Any]) -> bytes:
    """The body as JSON; a long conversation is encoded in a thread."""
    if len(body["input"]) < LARGE_ITEMS:
        return orjson.dumps(body)
    return await asyncio.to_thread(orjson.dumps, body)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name) or "") * scale
        except ValueError:
            continue
        if 0 <= seconds < 86_400:
            return seconds
    return None


def _load() -> None:
    importlib.import_module("httpx2")
    importlib.import_module("openai")
    # Submodules load at first use, which would otherwise fall into the first call.
    importlib.import_module("openai.resources.responses")
