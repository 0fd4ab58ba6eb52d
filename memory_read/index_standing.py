"""How the index of ranked search stands to the folder that it follows, and its bounds. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from memory_read.rulings import KnownRulings
from state.stores.search import IndexedFile
from state.workspace.layout import NOTES
from state.workspace.watched import Stamps


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLimits:
    """Bounds of the work on the index."""

    units_per_transaction: int = 100
    """About 15 ms of the writer (measured)."""
    pages_per_sweep: int = 64
    """About 10 ms of the writer (measured)."""
    bytes_awaited_max: int = 262_144
    """Changes of up to so many bytes are indexed before an answer."""
    files_awaited_max: int = 64
    awaited_s: float = 1.0
    settled_s: float = 5.0
    trusted_s: float = 10.0
    """For so long what the kernel tells of changes is not compared with the folder."""


INDEX_LIMITS = IndexLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the index of a version stands to its folder at one look."""

    stamps: Stamps
    """Of every file that can be found by a search."""
    files: dict[str, IndexedFile]
    """Those of them that the index holds as they are."""
    missing: tuple[str, ...]
    """The others."""
    gone: bool
    """Whether the index holds files that are not there any more."""
    file_ids: frozenset[int]
    """Of the files that the index holds as they are."""
    units: int
    """Units that are indexed."""
    words: int
    """Their stems."""
    rulings: KnownRulings
    """What the notes say of the other lines."""


def standing_of(stamps: Stamps, known: Mapping[str, IndexedFile]) -> Standing:
    """What the index holds of these files, compared with what they look like."""
    files: dict[str, IndexedFile] = {}
    missing: list[str] = []
    for path, stamp in stamps.items():
        file = known.get(path)
        if file is not None and file.stamp == stamp:
            files[path] = file
        else:
            missing.append(path)
    return Standing(
        stamps=stamps,
        files=files,
        missing=tuple(missing),
        gone=any(path not in stamps for path in known),
        file_ids=frozenset(file.file_id for file in files.values()),
        units=sum(file.units for file in files.values()),
        words=sum(file.words for file in files.values()),
        rulings=KnownRulings(
            tuple((path, stamp) for path, stamp in stamps.items() if path.startswith(f"{NOTES}/"))
        ),
    )
