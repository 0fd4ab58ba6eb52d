"""A client that keeps nothing but counts: what ended for it, what it missed, how late it came."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from websockets.asyncio.client import connect

from tests.support.wire_links import LineLink, WebSocketLink

PATIENCE_S = 60.0


class Attached:
    """One healthy client; counts what ends for it."""

    def __init__(self, link: LineLink | WebSocketLink, patience_s: float = PATIENCE_S) -> None:
        self.link = link
        self._patience_s = patience_s
        self._ids = itertools.count(1)
        self._replies: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._changed = asyncio.Condition()
        self.turns: Counter[str] = Counter()
        self.items: Counter[tuple[str, str]] = Counter()
        self.asked: Counter[Any] = Counter()
        """Requests of the server, by id."""
        self.deltas = self.dropped = self.errors = self.bytes = 0
        self.progress: Counter[str | None] = Counter()
        """Deltas of each thread, those that were dropped among them."""
        self.markers: Counter[str | None] = Counter()
        """Of each thread, how often it was told that it is behind."""
        self.delays_ms: list[float] = []
        """Of each notification, from the server's stamp to its arrival, in whole milliseconds."""
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def to(cls, url: str, *, patience_s: float = PATIENCE_S) -> "Attached":
        """Connected and introduced."""
        socket = await connect(url, compression=None, max_size=None, ping_interval=None)
        return await cls.over(WebSocketLink(socket), patience_s=patience_s)

    @classmethod
    async def over(
        cls, link: LineLink | WebSocketLink, *, patience_s: float = PATIENCE_S
    ) -> "Attached":
        """Introduced, over whatever link."""
        client = cls(link, patience_s)
        info = {"name": "load", "version": "1"}
        capabilities = {"experimentalApi": True}
        await client.call("initialize", {"clientInfo": info, "capabilities": capabilities})
        return client

    async def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result."""
        reply = await asyncio.wait_for(await self.ask(method, params), self._patience_s)
        assert "result" in reply, (method, reply)
        result: dict[str, Any] = reply["result"]
        return result

    async def ask(self, method: str, params: Mapping[str, Any]) -> "asyncio.Future[dict[str, Any]]":
        """Send a request; its reply is still to come."""
        number = next(self._ids)
        waiting = asyncio.get_running_loop().create_future()
        self._replies[number] = waiting
        frame = {"id": number, "method": method, "params": params}
        await self.link.send(orjson.dumps(frame))
        return waiting

    @property
    def lagged(self) -> int:
        """How often it was told that it is behind."""
        return self.markers.total()

    async def until(self, predicate: Callable[[], bool]) -> None:
        """Until something that was told makes it true."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(predicate)

    async def leave(self) -> None:
        """Close, and wait until all is read."""
        await self.link.close()
        await self._reader

    async def gone(self) -> int | None:
        """Wait until the server has ended the connection; the code that it gave."""
        await asyncio.wait({self._reader}, timeout=self._patience_s)
        return self.link.close_code

    async def send(self, frame: str | bytes) -> None:
        """Send whatever it is, text as text and bytes as a binary frame."""
        assert isinstance(self.link, WebSocketLink)
        await self.link.connection.send(frame)

    async def vanish(self) -> None:
        """End the connection without a word."""
        self.link.cut()
        await asyncio.wait({self._reader})

    async def pause(self) -> None:
        """Read nothing more, not even from the system's buffers."""
        self._reader.cancel()
        await asyncio.wait({self._reader})
        self.link.fall_silent()

    def wake(self) -> None:
        """Read on."""
        self.link.wake()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while (data := await self.link.receive()) is not None:
            self.bytes += len(data)
            frame = orjson.loads(data)
            if "method" not in frame:
                await self._replied(frame)
            elif "id" in frame:
                async with self._changed:
                    self.asked[frame["id"]] += 1
                    self._changed.notify_all()
            else:
                self.delays_ms.append(time.time() * 1000 - frame["emittedAtMs"])
                await self._told(frame["method"], frame.get("params") or {})

    async def _replied(self, frame: dict[str, Any]) -> None:
        async with self._changed:
            self.errors += "error" in frame
            self._changed.notify_all()
        waiting = self._replies.pop(frame["id"], None)
        if waiting is not None:
            waiting.set_result(frame)

    async def _told(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "item/agentMessage/delta":
            self.deltas += 1
            self.progress[params["threadId"]] += 1
        elif method == "server/lagged":
            self.markers[params["threadId"]] += 1
            self.dropped += params["dropped"]
            self.progress[params["threadId"]] += params["dropped"]
        elif method == "item/completed":
            self.items[params["turnId"], params["item"]["id"]] += 1
        elif method == "turn/completed":
            async with self._changed:
                self.turns[params["turn"]["id"]] += 1
                self._changed.notify_all()
