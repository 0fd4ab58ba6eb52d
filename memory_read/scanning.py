"""Reads units out of files that are not indexed yet, within a bound of bytes.

Only pieces that may hold a word of the question are looked at closer; the rest of a file is skipped
by a plain search in its bytes. Blocks on files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_read.searched_files import first_ones, rows_of
from memory_read.units import cut_units
from state.errors import PathRefused
from state.home import Home
from state.stores.search import UnitRow
from state.workspace.passages import read_whole, size_of
from state.workspace.root import ConfinedRoot

BYTES_MAX = 2 * 1_048_576
FILES_MAX = 500
BEGINNING_CHARS = 4
"""A stem and its word share at least their first characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What was read."""

    rows: tuple[UnitRow, ...]
    """With ids below zero, files and units alike."""
    stamps: dict[str, str]
    """Of the files that were read."""


NOTHING = Scanned(rows=(), stamps={})


def scanned(
    home: Home, version: str, asked: Sequence[str], paths: Sequence[str], stamps: dict[str, str]
) -> Scanned:
    """The units of these files that may answer, with those around them."""
    root = ConfinedRoot(home.memories(version))
    beginnings = [stem[:BEGINNING_CHARS].encode(errors="replace") for stem in asked]
    rows: list[UnitRow] = []
    read: dict[str, str] = {}
    left = BYTES_MAX
    for number, path in enumerate(sorted(paths, key=first_ones)[:FILES_MAX], 1):
        left -= size_of(stamps[path])
        if left < 0:
            break
        try:
            stamp, data = read_whole(root, path, bytes_max=BYTES_MAX)
        except (PathRefused, OSError):
            continue
        read[path] = stamp
        # Case is folded in ASCII only: other letters pass, and are compared as stems below.
        folded = data.lower()
        if data.isascii() and not any(beginning in folded for beginning in beginnings):
            continue
        rows += _rows(data, path, file_id=-number, first_id=-len(rows) - 10 * number)
    return Scanned(rows=tuple(rows), stamps=read)


def _rows(data: bytes, path: str, *, file_id: int, first_id: int) -> list[UnitRow]:
    """All units of one file, numbered downwards without touching those of another one."""
    return [
        row._replace(path=path, file_id=file_id, unit_id=first_id - number)
        for number, row in enumerate(rows_of(cut_units(data, path=path), data))
    ]
