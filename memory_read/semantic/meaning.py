"""How near a question is to the units of memory, beside how many of its words they hold.

The vectors of a version are in memory from its first question on, file by file as the index holds
them. Invariant: only units of files that stand in the index at this look are compared; what a hit
says is read from its file by the search, whatever brought it here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory_read.index_standing import Standing
from memory_read.semantic.embedder import Embedder
from memory_read.semantic.filling import VectorFilling
from memory_read.semantic.mixing import NEAR_MIN, mixed
from state.recovery import State
from state.stores.search import IndexedFile
from state.stores.vectors import UnitVectors, VectorStore

if TYPE_CHECKING:
    from memory_read.semantic.vectors import Block, Cosines, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningLimits:
    """Bounds of what is kept and looked at."""

    nearest_max: int = 40
    """Units that a question finds by meaning alone."""
    units_per_read: int = 4_096
    questions_max: int = 256
    """Whose vectors are remembered; one costs 10 to 30 ms."""


MEANING_LIMITS = MeaningLimits()


@dataclass(slots=True)
class _Loaded:
    """What of one version is in memory."""

    blocks: "dict[int, tuple[object, Block]]" = field(default_factory=dict)
    """By file, with what it was made from."""
    matrix: "Matrix | None" = None
    standing: Standing | None = None
    made: int = -1
    """How far the vectors were when the matrix was made."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """What meaning says of one question."""

    cosines: "Cosines"
    nearest: tuple[int, ...]
    """Units that are near, whatever words they hold; the best first."""

    def mixed_with(self, by_words: Mapping[int, float], units: Container[int]) -> dict[int, float]:
        """Scores of units by words and meaning, also of those that are near and hold no word."""
        others = {unit_id: 0.0 for unit_id in self.nearest if unit_id in units}
        scored = others | dict(by_words)
        return mixed(scored, self.cosines.of(scored))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How far meaning can answer one question."""

    near: Near | None = None
    """None where words alone must do."""
    is_behind: bool = False
    """Whether units have no vectors yet that will get some."""


class Meaning:
    """Answers for every version of one home; one object for a process."""

    def __init__(
        self,
        state: State,
        embedder: Embedder,
        filling: VectorFilling,
        limits: MeaningLimits = MEANING_LIMITS,
    ) -> None:
        self._state = state
        self._embedder = embedder
        self._filling = filling
        self._limits = limits
        self._store = VectorStore()
        self._loaded: dict[str, _Loaded] = {}
        self._questions: OrderedDict[str, bytes] = OrderedDict()

    async def asked(self, query: str, version: str, standing: Standing) -> Asked:
        """What is near a question among the units that stand in the index.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if not standing.units or self._filling.failed or not self._embedder.reads(query):
            return Asked()
        matrix = await self._matrix(version, standing)
        units = standing.units
        is_behind = matrix.units < units and self._filling.is_behind(version, units=units)
        if not matrix.units:
            return Asked(is_behind=is_behind)
        question = await self._question(query)
        if question is None:
            return Asked()
        cosines = await asyncio.to_thread(matrix.cosines, question)
        nearest = cosines.nearest(self._limits.nearest_max, least=NEAR_MIN)
        return Asked(near=Near(cosines=cosines, nearest=tuple(nearest)), is_behind=is_behind)

    async def _question(self, query: str) -> bytes | None:
        found = self._questions.get(query)
        if found is None:
            found = await asyncio.to_thread(self._vector, query)
            if found is not None:
                self._questions[query] = found
                while len(self._questions) > self._limits.questions_max:
                    self._questions.popitem(last=False)
        return found

    def _vector(self, query: str) -> bytes | None:
        windows = self._embedder.windows(query, most=1)
        return self._embedder.vector(windows[0]) if windows else None

    async def _matrix(self, version: str, standing: Standing) -> "Matrix":
        """The vectors of the files in the index, those that changed since the last one read anew.

        As long as neither index nor vectors change this costs nothing.
        """
        loaded = self._loaded.setdefault(version, _Loaded())
        async with loaded.lock:
            made = self._filling.made_in_all
            if loaded.matrix is None or loaded.standing is not standing or loaded.made != made:
                loaded.matrix = await self._renewed(loaded, standing)
                loaded.standing, loaded.made = standing, made
            return loaded.matrix

    async def _renewed(self, loaded: _Loaded, standing: Standing) -> "Matrix":
        files = standing.files.values()
        wanted = {one.file_id: (one.digest, self._filling.made(one.file_id)) for one in files}
        for file_id in loaded.blocks.keys() - wanted.keys():
            del loaded.blocks[file_id]
        stale = [
            one
            for one in files
            if one.file_id not in loaded.blocks
            or loaded.blocks[one.file_id][0] != wanted[one.file_id]
        ]
        for some in _parts(stale, self._limits.units_per_read):
            rows = await self._store.of_files(
                self._state.database, self._embedder.model_id, [one.file_id for one in some]
            )
            blocks = await asyncio.to_thread(self._blocks, some, rows)
            loaded.blocks |= {
                file_id: (wanted[file_id], block) for file_id, block in blocks.items()
            }
        return await asyncio.to_thread(self._joined, loaded)

    def _blocks(
        self, files: Sequence[IndexedFile], rows: Sequence[UnitVectors]
    ) -> "dict[int, Block]":
        from memory_read.semantic.vectors import Block

        by_file: dict[int, list[tuple[int, bytes]]] = {one.file_id: [] for one in files}
        for row in rows:
            by_file[row.file_id].append((row.unit_id, row.windows))
        return {
            file_id: Block(units, dimensions=self._embedder.dimensions)
            for file_id, units in by_file.items()
        }

    def _joined(self, loaded: _Loaded) -> "Matrix":
        from memory_read.semantic.vectors import Matrix

        blocks = [block for _, block in loaded.blocks.values()]
        return Matrix(blocks, dimensions=self._embedder.dimensions)


def _parts(files: Sequence[IndexedFile], units_max: int) -> Iterable[Sequence[IndexedFile]]:
    part: list[IndexedFile] = []
    units = 0
    for one in files:
        if part and units + one.units > units_max:
            yield part
            part, units = [], 0
        part.append(one)
        units += one.units
    if part:
        yield part
