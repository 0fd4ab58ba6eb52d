"""Cuts a byte stream into lines with a fixed bound; pure, it reads nothing itself.

A line above the bound is answered with an error and skipped, so the next one works. A stream that
goes on without a line end is given up. Never is more kept than one line of the largest size.
"""

import re

import orjson

from protocol.errors import INVALID_REQUEST, WireError
from protocol.jsonrpc import RequestId
from server.wire.limits import WireLimits
from server.wire.transport import Refused

_HEAD_BYTES = 4096
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+|\s+')
_INTEGER = re.compile(rb"-?\d{1,19}")


class LineCutter:
    """Feeds on chunks and gives whole lines."""

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._partial = bytearray()
        self._skipped: int | None = None
        self._over = False

    def feed(self, chunk: bytes) -> list[bytes | Refused]:
        """The lines that this chunk completes; blank ones are left out."""
        ready: list[bytes | Refused] = []
        start = 0
        while not self._over and (end := chunk.find(b"\n", start)) >= 0:
            self._take(chunk[start:end], ready)
            self._end_line(ready)
            start = end + 1
        if not self._over:
            self._take(chunk[start:] if start else chunk, ready)
        return ready

    def finish(self) -> list[bytes | Refused]:
        """What stands behind the last line end, at the end of the stream."""
        ready: list[bytes | Refused] = []
        if not self._over:
            self._end_line(ready)
        self._over = True
        return ready

    def _take(self, piece: bytes, ready: list[bytes | Refused]) -> None:
        """More of the current line, without its end."""
        if self._skipped is not None:
            self._skipped += len(piece)
            if self._skipped > self._limits.skipped_bytes_max:
                self._over = True
                error = WireError(INVALID_REQUEST, "the stream has no line end; it is closed")
                ready.append(Refused(error=error, ends=True))
            return
        size = len(self._partial) + len(piece)
        if size > self._limits.frame_bytes_max:
            head = bytes(self._partial[:_HEAD_BYTES]) + piece[:_HEAD_BYTES]
            self._partial = bytearray()
            ready.append(Refused(error=_too_long(self._limits), id=leading_id(head[:_HEAD_BYTES])))
            self._skipped = 0
            self._take(piece, ready)
            return
        self._partial += piece

    def _end_line(self, ready: list[bytes | Refused]) -> None:
        """The current line is complete."""
        if self._skipped is not None:
            self._skipped = None
            return
        line = bytes(self._partial)
        self._partial.clear()
        if line.strip():
            ready.append(line)


def leading_id(head: bytes) -> RequestId | None:
    """The id of a message of which only the beginning is at hand, if it stands there."""
    depth = 0
    tokens = [token for token in _TOKEN.findall(head) if not token.isspace()]
    for position, token in enumerate(tokens[:-2]):
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and token == b'"id"' and tokens[position + 1] == b":":
            # The last token may be cut, so a value counts only with something behind it.
            return _id(tokens[position + 2]) if position + 3 < len(tokens) else None
    return None


def _id(token: bytes) -> RequestId | None:
    if not token.startswith(b'"') and not _INTEGER.fullmatch(token):
        return None
    try:
        value = orjson.loads(token)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, int | str) else None


def _too_long(limits: WireLimits) -> WireError:
    size = limits.frame_bytes_max
    return WireError(INVALID_REQUEST, f"Invalid request: the message is longer than {size} bytes")
