"""One configured model server behind the OpenAI API, over the `openai` client with a `base_url`.

The only owner of openai and httpx2, both loaded when first needed, in a thread. One call is one
try: retries stand in `retry.py`. Error texts may repeat what the server said, but never a header or
a key.
"""

import asyncio
import gc
import importlib
from collections.abc import AsyncIterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import orjson

from server.agent.errors import ProviderFailed
from server.agent.limits import ModelLimits
from server.agent.models.base import ModelInfo
from server.agent.models.quota import from_headers
from server.agent.models.response_events import status_failed
from server.agent.models.sse import EventTooLong, SseReader, loaded
from server.settings import OPENAI, OPENAI_BASE_URL, ProviderSettings
from state.clock import Clock
from state.rollouts.packed import exact

if TYPE_CHECKING:
    import openai

CUT = "stream disconnected before completion"
_LIST_WAIT_S = 5.0
_WINDOW_KEYS = ("context_window", "context_length", "max_context_length", "max_model_len")
"""Under which names servers list a model's window; the API itself has none for it."""
_NOTHING_THERE = (404, 405)
_SAID_CHARACTERS_MAX = 500
END_WAIT_S = 1.0
"""How long a server may take to end a response behind its last event."""


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


class OpenAIProvider:
    """What the providers of both APIs share: connections, keys, models."""

    def __init__(self, settings: ProviderSettings, *, clock: Clock, limits: ModelLimits) -> None:
        self._settings = settings
        self._clock = clock
        self._limits = limits
        self._client: openai.AsyncOpenAI | None = None
        self._loading = asyncio.Lock()
        self._left: set[asyncio.Task[None]] = set()
        known = MODELS if self.name == OPENAI else ()
        self._windows = {one.model_id: one.context_window for one in known}
        """In tokens, by model: known, listed by the server, or told in a refusal."""

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
        return MODELS if self.name == OPENAI else ()

    def default_effort(self, model: str) -> str | None:
        """The effort of a model that is known to reason, where nobody chose one."""
        return next((one.default_effort for one in self.models() if one.model_id == model), None)

    @property
    def lacks_key(self) -> bool:
        """Whether it is OpenAI's own, and no key is set."""
        return self._settings.api_key is None and self._settings.base_url == OPENAI_BASE_URL

    def window(self, model: str) -> int | None:
        """How many tokens that model of it takes; None where nobody told."""
        return self._windows.get(model)

    async def listed(self) -> Sequence[str] | None:
        """The ids that `GET /models` names; whatever goes wrong there says nothing."""
        if self.lacks_key:
            return None
        try:
            client = await self._ready()
        except ValueError:
            return None
        # Behind that: it is loaded then, and by a thread.
        import openai

        try:
            told: Any = await client.get(
                "/models",
                cast_to=object,
                options={"headers": self._headers(), "timeout": _LIST_WAIT_S, "max_retries": 0},
            )
        except (openai.OpenAIError, ProviderFailed, ValueError):
            return None
        rows = told.get("data") if isinstance(told, dict) else None
        models = {
            row["id"]: listed_window(row)
            for row in (rows if isinstance(rows, list) else ())
            if isinstance(row, dict) and isinstance(row.get("id"), str)
        }
        for model, window in models.items():
            self._windows[model] = self._windows.get(model) or window
        return list(models) or None

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

    async def opened(self, path: str, body: Mapping[str, Any], *, items: int) -> "OpenResponse":
        """The open response to a posted body with that many items of conversation.

        Raises: ProviderFailed.
        """
        if self.lacks_key:
            raise ProviderFailed(
                "unauthorized",
                f"no API key for model provider `{self.name}`: set OPENAI_API_KEY, or name a "
                "variable with `env_key` in its section of config.toml",
            )
        client = await self._ready()
        try:
            response = await self._post(client, path, await _encoded(body, items))
        except ProviderFailed as failed:
            if failed.window_tokens is not None:
                self._windows[str(body.get("model"))] = failed.window_tokens
            raise
        limits = from_headers(response.headers, now_ms=self._clock.now_ms())
        return OpenResponse(response, limits, self._limits, self._left)

    async def _post(self, client: "openai.AsyncOpenAI", path: str, content: bytes) -> Any:
        import openai

        try:
            stream = await client.post(
                path,
                cast_to=object,
                content=content,
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
                f"no connection to model provider `{self.name}` at "
                f"{client.base_url.netloc.decode()}: {error.__cause__ or error}; start it or "
                "correct its base_url",
                retryable=True,
            ) from error
        return stream.response

    def _status_failed(self, error: "openai.APIStatusError") -> ProviderFailed:
        body = error.body
        told = body.get("error", body) if isinstance(body, Mapping) else {}
        inner = told if isinstance(told, Mapping) else {}
        headers = error.response.headers
        failed = status_failed(
            error.status_code,
            error.response.text,
            inner,
            retry_after_s=retry_after_s(headers, now_ms=self._clock.now_ms()),
            rate_limits=from_headers(headers, now_ms=self._clock.now_ms()),
        )
        code, url = error.status_code, error.request.url
        place = f"model provider `{self.name}` at {url.netloc.decode()}"
        if failed.kind == "unauthorized":
            missing = self._settings.key_missing
            cure = f"set {missing} for the server" if missing else "correct its key"
            sentence = f"{place} refuses the key ({code}): {failed.message}; {cure}"
        elif failed.kind == "other" and code in _NOTHING_THERE:
            said = str(inner.get("message") or failed.message)[:_SAID_CHARACTERS_MAX]
            sentence = (
                f"{place} has nothing under {url.path} ({code}): {said}; correct its base_url "
                "or its wire_api"
            )
        else:
            return failed
        return ProviderFailed(failed.kind, sentence, http_status=code)

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


class OpenResponse:
    """One response under way; ended by `leave` or `close`."""

    def __init__(
        self,
        response: Any,
        rate_limits: dict[str, Any] | None,
        limits: ModelLimits,
        left: set[asyncio.Task[None]],
    ) -> None:
        self.rate_limits = rate_limits
        """What its headers told, in the wire's shape."""
        self._response = response
        self._limits = limits
        self._left = left
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes()

    @property
    def streams(self) -> bool:
        """Whether it comes as events; some servers answer with one object all the same."""
        return not str(self._response.headers.get("content-type", "")).startswith(
            "application/json"
        )

    async def read(self) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """The JSON objects of whole events, as many as one read brought.

        Raises: ProviderFailed.
        """
        import httpx2

        reader = SseReader(event_bytes_max=self._limits.event_bytes_max)
        try:
            async for chunk in self._chunks:
                if events := reader.feed(chunk):
                    yield events
            if events := reader.finish():
                yield events
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ProviderFailed("other", f"{CUT}: {reason}", retryable=True) from error
        except EventTooLong as error:
            bytes_max = self._limits.event_bytes_max
            raise ProviderFailed(
                "other", f"{CUT}: one event is longer than {bytes_max} bytes"
            ) from error
        except ValueError as error:
            raise ProviderFailed("other", f"{CUT}: an event is not JSON") from error

    async def whole(self) -> Mapping[str, Any]:
        """The one object of a response that does not stream.

        Raises: ProviderFailed.
        """
        import httpx2

        data = bytearray()
        try:
            async for chunk in self._chunks:
                data += chunk
                if len(data) > self._limits.event_bytes_max:
                    raise ProviderFailed("other", "the model's answer is too long and was stopped")
            value = loaded(data)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ProviderFailed("other", f"{CUT}: {reason}", retryable=True) from error
        except ValueError as error:
            raise ProviderFailed("other", "the model's answer is not JSON") from error
        return value if isinstance(value, dict) else {}

    def leave(self) -> None:
        """Read what stands behind the last event, so that the next call can use the connection."""
        task = asyncio.create_task(_to_its_end(self._response, self._chunks))
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    async def close(self) -> None:
        """Let go of it and of its connection."""
        await self._response.aclose()


async def _to_its_end(response: Any, chunks: AsyncIterator[bytes]) -> None:
    import httpx2

    try:
        async with asyncio.timeout(END_WAIT_S):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError):
        return  # the answer was whole; only the connection is lost
    finally:
        await response.aclose()


def listed_window(row: Mapping[str, Any]) -> int | None:
    """The window that a row of a server's list tells of its model; the smallest of several."""
    meta = row.get("meta")
    told = [row.get(key) for key in _WINDOW_KEYS]
    told.append(meta.get("n_ctx") if isinstance(meta, Mapping) else None)
    return min((one for one in told if type(one) is int and one > 0), default=None)


LARGE_ITEMS = 200


async def _encoded(body: Mapping[str, Any], items: int) -> bytes:
    """The body as JSON; a long conversation is encoded in a thread."""
    large = items >= LARGE_ITEMS
    encoded = await asyncio.to_thread(orjson.dumps, body) if large else orjson.dumps(body)
    # Held as long as the model answers, so without the room that the encoder left.
    return exact(encoded)


def retry_after_s(headers: Mapping[str, str], *, now_ms: int) -> float | None:
    """How long a server wants to be left alone: in (milli)seconds, or until a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name) or "") * scale
        except ValueError:
            continue
        if 0 <= seconds < 86_400:
            return seconds
    try:
        until = parsedate_to_datetime(headers.get("retry-after") or "")
        seconds = until.timestamp() - now_ms / 1_000
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), 86_400.0)


def _load() -> None:
    # A hundred thousand objects, nearly all to stay: a look for garbage among them, while they come
    # or later, keeps the interpreter from everybody for a fifth of a second and more.
    collects = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module("httpx2")
        importlib.import_module("openai")
        # Submodules load at first use, which would otherwise fall into the first call.
        importlib.import_module("openai.resources.responses")
        gc.freeze()
    finally:
        if collects:
            gc.enable()
