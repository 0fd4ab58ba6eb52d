"""Search by meaning with a made-up model of the same contract, and what tests ask of it."""

import hashlib
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from memory_read.semantic.embedder import Embedder, Window
from memory_read.semantic.filling import FILLING_LIMITS, FillingLimits, VectorFilling
from memory_read.semantic.meaning import Meaning
from memory_read.wording import stems
from state.recovery import State

DIMENSIONS = 64
WINDOW_STEMS = 32


@dataclass
class StemEmbedder:
    """Each stem has a direction of its own, and stems that mean the same share one.

    Deterministic on every machine. It counts what it is asked, and stops at a gate.
    """

    model_id: str = "stems/1"
    dimensions: int = DIMENSIONS
    meanings: Mapping[str, str] = field(default_factory=dict)
    """From a word to the one that it means."""
    broken: bool = False
    embedded: int = 0
    texts: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def reads(self, text: str) -> bool:
        """All but Han."""
        return not any("\u4e00" <= letter <= "\u9fff" for letter in text)

    def windows(self, text: str, *, most: int) -> list[Window] | None:
        """By stems."""
        if self.broken:
            return None
        self.texts.append(text)
        same = {stem: other for word, other in self.meanings.items() for stem in stems(word)}
        ids = [_number(same.get(stem, stem)) for stem in stems(text)]
        begins = range(0, max(len(ids), 1), WINDOW_STEMS)
        windows: list[Window] = [ids[begin : begin + WINDOW_STEMS] for begin in begins]
        return windows[:most]

    def vector(self, window: Window) -> bytes | None:
        """The sum of its directions, each about at right angles to the others."""
        self.gate.wait()
        if self.broken:
            return None
        self.embedded += 1
        self.threads.add(threading.current_thread().name)
        total = [0] * self.dimensions
        for one in window:
            digest = hashlib.blake2b(str(one).encode(), digest_size=self.dimensions).digest()
            total = [value + byte - 128 for value, byte in zip(total, digest, strict=True)]
        return _bytes(total)


def _number(stem: str) -> int:
    return int.from_bytes(hashlib.blake2b(stem.encode(), digest_size=6).digest(), "big")


def _bytes(values: Sequence[int]) -> bytes:
    most = max(map(abs, values)) or 1
    return bytes(round(value * 127 / most) & 0xFF for value in values)


@dataclass(frozen=True)
class Opened:
    """What a test works with."""

    index: SearchIndex
    search: MemorySearch
    filling: VectorFilling

    async def filled(self, version: str = "v1") -> None:
        """Everything is indexed and has its vectors, however slow the machine is."""
        await self.index.settle()
        await self.index.finished(version)
        self.filling.follow(version)
        await self.filling.finished(version)


@asynccontextmanager
async def meaning(
    state: State, embedder: Embedder, limits: FillingLimits = FILLING_LIMITS
) -> AsyncIterator[Opened]:
    """Index, search and filling of an open home, closed at the end."""
    filling = VectorFilling(state, embedder, limits=limits)
    index = SearchIndex(state, filling=filling)
    try:
        search = MemorySearch(state, index, meaning=Meaning(state, embedder, filling))
        yield Opened(index=index, search=search, filling=filling)
    finally:
        await index.close()
        await filling.close()
