"""Raw clients, the same for both sides: JSON lines over stdio, JSON frames over WebSocket."""

import asyncio
import itertools
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
from websockets.asyncio.client import ClientConnection, connect

from tests.bench.sides import SideHome

PATIENCE_S = 120
_START_S = 30
_LINE_BYTES_MAX = 64 * 1_048_576


class BenchFailed(Exception):
    """A side answered with an error, or not at all."""


class _Link(Protocol):
    async def send(self, message: bytes) -> None: ...

    async def receive(self) -> bytes | str | None: ...


@dataclass(slots=True)
class TurnTimes:
    """Milliseconds from sending `turn/start`."""

    began: float
    answered: float = 0.0
    first_delta: float = 0.0
    completed: float = 0.0
    deltas: int = 0
    last_delta: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def since(self) -> float:
        """Milliseconds until now."""
        return (time.perf_counter() - self.began) * 1000


class Client:
    """One connection; replies by id, notifications counted for the turns that are measured."""

    def __init__(self, link: _Link) -> None:
        self._link = link
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._turns: dict[str, TurnTimes] = {}
        self._reader = asyncio.create_task(self._read())

    async def initialize(self) -> None:
        """The handshake."""
        info = {"name": "bench", "title": None, "version": "1"}
        await self.call(
            "initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        )
        await self._link.send(b'{"jsonrpc":"2.0","method":"initialized"}')

    async def call(self, method: str, params: Any) -> dict[str, Any]:
        """The result of a request.

        Raises: BenchFailed.
        """
        number = next(self._ids)
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await self._link.send(orjson.dumps(request))
        async with asyncio.timeout(PATIENCE_S):
            answer = await reply
        if "error" in answer:
            raise BenchFailed(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def timed(self, method: str, params: Any) -> float:
        """Milliseconds until the reply."""
        began = time.perf_counter()
        await self.call(method, params)
        return (time.perf_counter() - began) * 1000

    async def start_thread(self, cwd: str) -> str:
        """The id of a new thread."""
        result = await self.call("thread/start", {"cwd": cwd})
        return str(result["thread"]["id"])

    async def turn(self, thread_id: str, text: str) -> TurnTimes:
        """One turn, to its end."""
        times = self._turns[thread_id] = TurnTimes(time.perf_counter())
        words = [{"type": "text", "text": text}]
        await self.call("turn/start", {"threadId": thread_id, "input": words})
        times.answered = times.since()
        async with asyncio.timeout(PATIENCE_S):
            await times.ended.wait()
        return times

    async def close(self) -> None:
        """Stop reading."""
        self._reader.cancel()
        await asyncio.wait({self._reader})

    async def _read(self) -> None:
        while (message := await self._link.receive()) is not None:
            if not message:
                continue
            value = orjson.loads(message)
            if "method" not in value:
                waiting = self._waiting.pop(value.get("id"), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(value)
            else:
                self._notified(value["method"], value.get("params") or {})
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BenchFailed("the connection ended"))

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        times = self._turns.get(params.get("threadId", ""))
        if times is None:
            return
        if method == "item/agentMessage/delta":
            times.deltas += 1
            times.last_delta = times.since()
            times.first_delta = times.first_delta or times.last_delta
        elif method == "turn/completed":
            times.completed = times.since()
            times.ended.set()


class _Stdio:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    async def send(self, message: bytes) -> None:
        self._stdin.write(message + b"\n")
        await self._stdin.drain()

    async def receive(self) -> bytes | None:
        return await self._stdout.readline() or None


class _Ws:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, message: bytes) -> None:
        await self._socket.send(message, text=True)

    async def receive(self) -> bytes:
        return await self._socket.recv(decode=False)


@asynccontextmanager
async def stdio_client(home: SideHome) -> AsyncIterator[tuple[Client, int]]:
    """A client of a process of its own, and that process's number."""
    process = await asyncio.create_subprocess_exec(
        *home.stdio(),
        env=home.environment,
        cwd=home.user,
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_BYTES_MAX,
    )
    client = Client(_Stdio(process))
    try:
        await client.initialize()
        yield client, process.pid
    finally:
        await client.close()
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def ws_client(port: int) -> AsyncIterator[Client]:
    """A client of a server that listens there, soon at the latest."""
    socket = await _connected(port)
    client = Client(_Ws(socket))
    try:
        await client.initialize()
        yield client
    finally:
        await client.close()
        await socket.close()


async def _connected(port: int) -> ClientConnection:
    until = time.monotonic() + _START_S
    while True:
        try:
            return await connect(
                f"ws://127.0.0.1:{port}", compression=None, max_size=None, ping_interval=None
            )
        except OSError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.005)
