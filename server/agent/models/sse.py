"""Server-sent events out of a byte stream, their data read with orjson. Pure.

The typed events of the client library cost twenty times as much each; what is needed of an event
is a field or two.
"""

from typing import Any

import orjson

from protocol.jsonrpc import mended


class EventTooLong(Exception):
    """One event grew over its bound."""


class SseReader:
    """Takes bytes as they come, gives the JSON objects of whole events."""

    def __init__(self, *, event_bytes_max: int) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._bytes_max = event_bytes_max

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The events that are whole now.

        Raises: EventTooLong, ValueError (data that is no JSON).
        """
        last = self._parts[-1][-3:] if self._parts else b""
        seam = last + data
        if b"\n\n" not in seam and b"\r" not in seam:
            # Parts of a long event are joined once, at its end.
            self._keep(data)
            return []
        text = b"".join((*self._parts, data))
        # Line ends are \n, \r\n or \r by the standard; a \r at the end may be half of one.
        held = b"\r" if text.endswith(b"\r") else b""
        if b"\r" in text:
            text = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = text.split(b"\n\n")
        self._parts, self._size = [], 0
        self._keep(rest + held)
        return [event for block in whole if (event := _event(block)) is not None]

    def finish(self) -> list[dict[str, Any]]:
        """What stands at the end without its empty line.

        Raises: ValueError.
        """
        rest, self._parts = b"".join(self._parts), []
        event = _event(rest.replace(b"\r", b"\n")) if rest.strip() else None
        return [] if event is None else [event]

    def _keep(self, data: bytes) -> None:
        if data:
            self._parts.append(data)
            self._size += len(data)
        if self._size > self._bytes_max:
            raise EventTooLong


def _event(block: bytes) -> dict[str, Any] | None:
    lines = [line[5:] for line in block.split(b"\n") if line.startswith(b"data:")]
    data = b"\n".join(line[1:] if line.startswith(b" ") else line for line in lines)
    if not data or data == b"[DONE]":
        return None
    value = loaded(data)
    return value if isinstance(value, dict) else None


def loaded(data: bytes | bytearray) -> Any:
    """The value of a JSON text, with a mark in the place of each lone half of a pair.

    Raises: ValueError.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return orjson.loads(mended(data))
