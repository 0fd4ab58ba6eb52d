"""Search of one server joined together: its index, and by meaning too where that is installed."""

from dataclasses import dataclass

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from memory_read.semantic.filling import VectorFilling
from memory_read.semantic.meaning import Meaning
from memory_read.semantic.minilm import MiniLm, missing_modules
from memory_read.withheld import ReadGate
from memory_write.ports import Announcement, Announcer
from server.settings import Settings
from state.recovery import State


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSearch:
    """What makes vectors, and what compares them."""

    filling: VectorFilling
    meaning: Meaning

    async def notes(self, version: str) -> list[str]:
        """For a person: what of a version cannot be found by its meaning yet, or at all.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        if self.filling.failed:
            return [
                "search goes by words alone: the model of the extra `semantic` cannot be used; "
                "`memoryd doctor` tries it"
            ]
        units, done = await self.filling.count(version)
        if done >= units:
            return []
        return [
            f"{done} of {units} pieces of memory {version} have vectors for search by meaning; "
            "the others are found by their words"
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The parts of search."""

    index: SearchIndex
    search: MemorySearch
    semantic: SemanticSearch | None
    """None where it is switched off or not installed."""


def searching_of(
    settings: Settings, state: State, gate: ReadGate, announce: Announcer
) -> tuple[Searching, Announcer]:
    """Search that tells how far its index is, and an announcer after which it looks."""

    def tell(version: str, done: int, total: int) -> None:
        data = {"done": done, "total": total}
        announce(Announcement(what="search/indexing", version=version, data=data))

    def tell_of_vectors(version: str, done: int, total: int) -> None:
        data = {"done": done, "total": total}
        announce(Announcement(what="search/embedding", version=version, data=data))

    def announce_and_look(told: Announcement) -> None:
        announce(told)
        if told.what.startswith("consolidation/"):
            index.nudge()

    semantic: SemanticSearch | None = None
    if settings.semantic_search and not missing_modules():
        # Nothing of the extra is loaded before the first vector is made.
        embedder = MiniLm()
        filling = VectorFilling(state, embedder, tell_of_vectors)
        semantic = SemanticSearch(filling=filling, meaning=Meaning(state, embedder, filling))
    index = SearchIndex(state, tell, filling=None if semantic is None else semantic.filling)
    meaning = None if semantic is None else semantic.meaning
    search = MemorySearch(state, index, meaning=meaning, gate=gate)
    return Searching(index=index, search=search, semantic=semantic), announce_and_look
