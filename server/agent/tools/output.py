"""What a command printed: its head and its tail within a bound, and text from its bytes."""

import asyncio
import codecs
from collections.abc import Callable

from state.policy.budget import BYTES_PER_TOKEN, truncate_middle


class HeadTail:
    """Collects bytes; keeps the first and the last part, counts what is left out between them."""

    def __init__(self, bytes_max: int) -> None:
        self._half = max(1, bytes_max // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """Everything that ever came."""

    def add(self, data: bytes) -> None:
        """Take more."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        # Cut only now and then: a deletion at the front moves all that stays.
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """Bytes that were not kept."""
        return self.total - len(self._head) - min(len(self._tail), self._half)

    def data(self) -> bytes:
        """What is kept, with a mark where something is missing."""
        tail = bytes(self._tail[-self._half :])
        if self.left_out <= 0:
            return bytes(self._head) + tail
        return bytes(self._head) + f"\n[... {self.left_out} bytes left out ...]\n".encode() + tail

    def text(self) -> str:
        """The same as text; what is no UTF-8 is replaced."""
        return self.data().decode("utf-8", "replace")

    def take(self) -> "HeadTail":
        """What came since the last taking; the collector is empty afterwards."""
        taken = HeadTail(2 * self._half)
        taken._head, taken._tail, taken.total = self._head, self._tail, self.total
        self._head, self._tail, self.total = bytearray(), bytearray(), 0
        return taken


class Deltas:
    """Cuts a stream of bytes into pieces of text, in order, without splitting a character.

    Beyond `bytes_max` nothing more is told; the whole stands in the completed item.
    """

    def __init__(self, *, bytes_max: int, piece_bytes_max: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = bytes_max
        self._piece = piece_bytes_max

    def pieces(self, data: bytes, *, final: bool = False) -> list[str]:
        """The next pieces; with `final` also what was held back of a character."""
        data = data[: self._left]
        self._left -= len(data)
        cuts = [data[at : at + self._piece] for at in range(0, len(data), self._piece)]
        texts = [self._decoder.decode(cut) for cut in cuts]
        if final:
            texts.append(self._decoder.decode(b"", final=True))
        return [text for text in texts if text]


class Telling:
    """Tells deltas in order, joined: at most once in `pause_s`, however small what comes is."""

    def __init__(
        self, deltas: Deltas, tell: Callable[[str], None], *, pause_s: float, piece_max: int
    ) -> None:
        self._deltas, self._tell = deltas, tell
        self._pause_s, self._piece_max = pause_s, piece_max
        self._waiting: list[str] = []
        self._pause: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """More output; told at once unless something was told just now."""
        self._waiting += self._deltas.pieces(data)
        if self._pause is None:
            self._go_on()

    def finish(self) -> None:
        """Tell what waits; nothing more comes."""
        self._waiting += self._deltas.pieces(b"", final=True)
        if self._pause is not None:
            self._pause.cancel()
        self._flush()

    def _go_on(self) -> None:
        self._pause = None
        if self._waiting:
            self._flush()
            self._pause = asyncio.get_running_loop().call_later(self._pause_s, self._go_on)

    def _flush(self) -> None:
        text = "".join(self._waiting)
        self._waiting.clear()
        for at in range(0, len(text), self._piece_max):
            self._tell(text[at : at + self._piece_max])


def clamped(value: float | None, *, default: int, lowest: int, highest: int) -> int:
    """A number of the model within its bounds."""
    return min(max(default if value is None else int(value), lowest), highest)


def cut_for_model(text: str, *, tokens_max: int) -> str:
    """Head and tail within the budget, with a first line that says how long it was."""
    size = len(text.encode("utf-8", "replace"))
    budget = tokens_max * BYTES_PER_TOKEN
    if size <= budget:
        return text
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"Total output lines: {lines}\n\n{truncate_middle(text, tokens_max=tokens_max)}"
