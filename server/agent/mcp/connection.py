"""One connection to one MCP server, over the package `mcp`, which only this module imports.

Invariant: the connection is opened, held and closed by one task of its own, as the package demands;
whoever calls a tool only waits. A child process ends with that task, and with this process, since
its input then ends. What it writes to stderr never reaches ours.
"""

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from server.agent.mcp.values import (
    Answered,
    Asked,
    AskUser,
    McpFailed,
    McpLimits,
    McpResult,
    McpServerInfo,
    McpStatus,
    McpTool,
    Progress,
    Told,
)
from server.mcp_settings import McpServerSettings
from server.release import __version__, adding
from state.policy.redaction import redact

if TYPE_CHECKING:
    from mcp import Client

ERROR_CHARACTERS_MAX = 1_000
INSTALL = f"the package `mcp` is not installed: {adding('mcp')}"


class McpConnection:
    """Starts with `start`; used on the event loop only."""

    def __init__(
        self,
        settings: McpServerSettings,
        *,
        cwd: str,
        limits: McpLimits,
        ask: AskUser,
        told: Told,
    ) -> None:
        self.settings = settings
        self.status = McpStatus(name=settings.name, state="starting")
        self._cwd = cwd
        self._limits = limits
        self._ask = ask
        self._told = told
        self._client: Client | None = None
        self._stderr = bytearray()
        self._settled = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running: set[asyncio.Timeout] = set()
        """The limits of the calls under way."""

    def start(self) -> None:
        """Begin to connect; `settled` tells when that came to an end."""
        self._told(self.status)
        self._task = asyncio.create_task(self._live(), name=f"mcp {self.settings.name}")

    async def settled(self) -> McpStatus:
        """Wait until it is ready or has failed; bounded by the server's own start-up limit."""
        await self._settled.wait()
        return self.status

    @property
    def alive(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress
    ) -> McpResult | McpFailed:
        """Call a tool; whatever goes wrong there comes back as a value."""
        client, name = self._client, self.settings.name
        if client is None:
            return McpFailed(message=f"MCP server {name} is not running")
        calling = asyncio.create_task(self._call(client, tool, dict(arguments), progress))
        assert self._task is not None
        try:
            async with asyncio.timeout(self.settings.tool_seconds_max) as limit:
                self._running.add(limit)
                try:
                    await asyncio.wait((calling, self._task), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    self._running.discard(limit)
        except TimeoutError:
            seconds = self.settings.tool_seconds_max
            return McpFailed(message=f"{name}: {tool} took longer than {seconds:g} seconds")
        finally:
            if not calling.done():
                calling.cancel()
        if not calling.done():
            return McpFailed(message=f"MCP server {name} ended in the middle of {tool}")
        return calling.result()

    async def close(self) -> None:
        """End the connection and its child; bounded."""
        self._stop.set()
        if self._task is not None:
            _, late = await asyncio.wait((self._task,), timeout=self._limits.stop_s)
            for task in late:
                task.cancel()
                await asyncio.wait((task,), timeout=self._limits.stop_s)

    async def _live(self) -> None:
        try:
            await asyncio.to_thread(importlib.import_module, "mcp.client.client")
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.settings.startup_seconds_max):
                    client = await stack.enter_async_context(self._opened(stack))
                    ready = await self._introduced(client)
                self._client = client
                self._tell(ready)
                await self._stop.wait()
        except TimeoutError:
            seconds = self.settings.startup_seconds_max
            self._fail(f"it did not answer within {seconds:g} seconds")
        except ModuleNotFoundError:
            self._fail(INSTALL)
        except asyncio.CancelledError:
            self._tell(McpStatus(name=self.settings.name, state="cancelled"))
            raise
        except Exception as error:  # the package raises groups of whatever its transports raise
            self._fail(_reason(error))
        finally:
            self._client = None
            self._settled.set()

    @asynccontextmanager
    async def _opened(self, stack: AsyncExitStack) -> AsyncIterator["Client"]:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp_types import Implementation

        settings = self.settings
        transport: Any
        if settings.url is not None:
            import httpx2

            http = httpx2.AsyncClient(
                headers=dict(settings.headers),
                trust_env=False,
                timeout=httpx2.Timeout(settings.startup_seconds_max, read=None),
            )
            transport = streamable_http_client(
                settings.url, http_client=await stack.enter_async_context(http)
            )
        else:
            errors = await stack.enter_async_context(self._kept_stderr())
            transport = stdio_client(
                StdioServerParameters(
                    command=settings.command or "",
                    args=list(settings.args),
                    env=dict(settings.env),
                    cwd=settings.cwd or self._cwd,
                ),
                errlog=errors,
            )
        async with Client(
            transport,
            client_info=Implementation(name="memoryd", version=__version__),
            elicitation_callback=self._elicited,
        ) as client:
            yield client

    @asynccontextmanager
    async def _kept_stderr(self) -> AsyncIterator[TextIO]:
        """A stream for the child whose last bytes are kept for an error message."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                data = os.read(reading, 65_536)
            except OSError:
                return
            if not data:
                loop.remove_reader(reading)
            self._stderr += data
            del self._stderr[: -self._limits.stderr_bytes_kept]

        loop.add_reader(reading, read)
        try:
            with os.fdopen(writing, "w") as stream:
                yield stream
        finally:
            loop.remove_reader(reading)
            os.close(reading)

    async def _introduced(self, client: "Client") -> McpStatus:
        tools: list[McpTool] = []
        cursor: str | None = None
        for _ in range(self._limits.pages_max):
            page = await client.list_tools(cursor=cursor)
            offered = (one for one in page.tools if self.settings.offers(one.name))
            tools.extend(_tool(one, self._limits) for one in offered)
            cursor = page.next_cursor
            if cursor is None or len(tools) >= self._limits.tools_max:
                break
        told = client.server_info
        info = None
        if told is not None:
            info = McpServerInfo(name=told.name, version=told.version, title=told.title)
        kept = tuple(tools[: self._limits.tools_max])
        return McpStatus(name=self.settings.name, state="ready", info=info, tools=kept)

    async def _call(
        self, client: "Client", tool: str, arguments: dict[str, Any], tell: Progress
    ) -> McpResult | McpFailed:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            of_all = f" of {total:g}" if total is not None else ""
            tell(message or f"{progress:g}{of_all}")

        try:
            result = await client.call_tool(tool, arguments, progress_callback=heard)
        except Exception as error:  # a server's answer can break in any way the package knows
            if not await self._answers(client):
                # The next turn starts it again.
                self._client = None
                self._stop.set()
            return McpFailed(message=f"{self.settings.name}: {_reason(error)}")
        size = sum(len(str(part)) for part in result.content)
        if size > self._limits.result_bytes_max:
            name = self.settings.name
            return McpFailed(message=f"{name}: the result of {tool} is too large ({size} bytes)")
        return McpResult(
            content=tuple(_plain(part) for part in result.content),
            structured=result.structured_content,
            is_error=bool(result.is_error),
        )

    async def _answers(self, client: "Client") -> bool:
        """Whether the server is still there; one that knows no ping says so, which is an answer."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        try:
            async with asyncio.timeout(self._limits.stop_s):
                await client.send_ping()
        except MCPError as error:
            return error.error.code != CONNECTION_CLOSED
        except Exception:  # the package raises what its transports raise
            return False
        return True

    async def _elicited(self, context: Any, params: Any) -> Any:
        """The package's callback; the answer goes back to the server."""
        from mcp_types import ElicitResult

        with self._standing():
            given: Answered = await self._ask(self.settings.name, Asked(request=_plain(params)))
        return ElicitResult(action=given.action, content=_content(given))

    @contextmanager
    def _standing(self) -> Iterator[None]:
        """While a person is asked the time of the calls stands: theirs is not the server's."""
        loop = asyncio.get_running_loop()
        ends = {limit: when for limit in self._running if (when := limit.when()) is not None}
        began_s = loop.time()
        for limit in ends:
            limit.reschedule(None)
        try:
            yield
        finally:
            for limit, when in ends.items():
                if limit in self._running:
                    limit.reschedule(when + loop.time() - began_s)

    def _fail(self, reason: str) -> None:
        said = redact(self._stderr.decode("utf-8", "replace").strip())
        told = f"{reason}; it wrote: {said}" if said else reason
        name = self.settings.name
        error = f"MCP server {name}: {told[:ERROR_CHARACTERS_MAX]}"
        self._tell(McpStatus(name=name, state="failed", error=error))

    def _tell(self, status: McpStatus) -> None:
        self.status = status
        self._settled.set()
        self._told(status)


def _tool(told: Any, limits: McpLimits) -> McpTool:
    plain = _plain(told)
    hints = plain.get("annotations") or {}
    schema = plain.get("inputSchema") or {"type": "object", "properties": {}}
    if len(str(schema)) > limits.schema_bytes_max:
        schema = {"type": "object"}  # the server checks what it gets; the model only guesses more
    return McpTool(
        name=told.name,
        title=plain.get("title") or hints.get("title"),
        description=(told.description or "")[: limits.description_characters_max],
        schema=schema,
        reads_only=hints.get("readOnlyHint"),
        destroys=hints.get("destructiveHint"),
        open_world=hints.get("openWorldHint"),
        as_told=plain,
    )


def _plain(model: Any) -> dict[str, Any]:
    """A value of the package as JSON, keys as the protocol has them."""
    plain: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain


def _content(given: Answered) -> dict[str, Any] | None:
    return dict(given.content) if given.action == "accept" and given.content else None


def _reason(error: BaseException) -> str:
    """The first thing that went wrong in a group of errors."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"no such command or folder: {error.filename or error}"
    return redact(str(error) or type(error).__name__)[:ERROR_CHARACTERS_MAX]
