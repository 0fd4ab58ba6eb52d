"""The rows behind ranked search: files, units, and a full-text index of their stems.

Invariant: a file's stamp is set in the transaction that adds its last unit and taken away in the
one that removes its first, so after a crash a stamp says that all units of the file are here. No
text of memory is kept, only numbers of stems; what is deleted is out of the database's bytes once
the mark `littered` is gone.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from state.database import Database, Reading, Transaction, Value
from state.named_queries import Queries
from state.visits import Visit

Q = Queries("search")

VERSIONS = ("v1", "v2", "v3")
KEY_BYTES = 4
_KEY_DIGITS = 2 * KEY_BYTES
_SLOT_BITS = 45
"""Places of a version have a range of ids, by which the full-text index tells versions apart."""
_SIZE_BITS = 5
"""A place is the id of its unit, and behind it the unit's size."""
SIZES = 1 << _SIZE_BITS
SIZE_OF_PLACE = SIZES - 1
"""The bits of a place that tell how long its unit is: `length_of_size` reads them."""
COMPARED_MAX = 2_500
"""Places that the full-text index itself puts in order; one costs it 2.3 µs (measured)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """A file as the index knows it."""

    file_id: int
    path: str
    stamp: str
    """Of the file whose units are here; empty where some are missing."""
    digest: bytes
    """Of its bytes."""
    units: int
    words: int


class UnitRow(NamedTuple):
    """One unit of a file: where it stands, by what it is known again, and its stems.

    A tuple in the order of the columns, since two hundred are made for a search.
    """

    begin_byte: int
    end_byte: int
    first_line: int
    last_line: int
    mark: bytes
    """A digest of its bytes."""
    headings: str
    """Of each heading above it begin, end and mark, as `heading_places` reads them."""
    at_ms: int | None
    threads: str
    """Their ids, as `thread_ids` tells them."""
    cwd: str
    heading_stems: bytes
    """The keys of the stems, one behind the other, as in `stems`."""
    stems: bytes
    length: int
    """In stems."""
    path: str = ""
    unit_id: int = 0
    file_id: int = 0
    used: int = 0
    """How often the one of its threads that was cited most was."""

    @property
    def thread_ids(self) -> tuple[str, ...]:
        """The threads that it comes from."""
        return tuple(self.threads.split())


class SearchStore:
    """Files and units of every version."""

    async def made_by(self, read: Reading) -> str:
        """What made the stems that are here; empty where nothing did."""
        row = await read.one(Q["made_by"])
        return "" if row is None else str(row["value"])

    async def files(self, read: Reading, version: str) -> dict[str, IndexedFile]:
        """Every file of a version by its path."""
        return {
            row["path"]: IndexedFile(**dict(row))
            for row in await read.all(Q["files"], version=version)
        }

    async def is_sound(self, read: Reading) -> bool:
        """Whether the full-text index knows a unit that is here; an emptied one reads as sound.

        Raises: DatabaseBroken.
        """
        row = await read.one(Q["any_unit"])
        if row is None:
            return True
        words = _words_of(row["heading_stems"], row["stems"])[:1]
        return not words or bool(await read.all(Q["frequencies"], words=json.dumps(words)))

    async def clear(self, tx: Transaction, made_by: str) -> None:
        """Empty the index, also one whose full-text part cannot be read, for a new maker."""
        for name in (
            "drop_vocabulary_table",
            "drop_stems_table",
            "make_stems_table",
            "make_vocabulary_table",
            "clear_units",
            "clear_files",
        ):
            await tx.run(Q[name])
        await tx.run(Q["set_made_by"], made_by=made_by)
        await tx.run(Q["set_littered"], littered=1)

    async def open_file(self, tx: Transaction, version: str, path: str) -> int:
        """The id of a file, whose units count as incomplete from here on."""
        row = await tx.one(Q["file"], version=version, path=path)
        if row is None:
            first = _first_unit(version)
            row = await tx.one(Q["open_file"], version=version, path=path, first_unit=first)
            assert row is not None
        else:
            await tx.run(Q["unsettle_file"], file_id=row["file_id"])
        return int(row["file_id"])

    async def drop_units(self, tx: Transaction, file_id: int, *, most: int) -> int:
        """Remove so many units of a file; how many were removed."""
        rows = await tx.all(Q["some_of_file"], file_id=file_id, most=most)
        if rows:
            await tx.run_each(
                Q["drop_stems"],
                [
                    {
                        "place": _place(row["unit_id"], row["length"]),
                        "stems": " ".join(_words_of(row["heading_stems"], row["stems"])),
                    }
                    for row in rows
                ],
            )
            await tx.run_each(Q["drop_unit"], [{"unit_id": row["unit_id"]} for row in rows])
            await tx.run(Q["set_littered"], littered=1)
        return len(rows)

    async def drop_file(self, tx: Transaction, file_id: int) -> None:
        """Forget a file that has no units left."""
        await tx.run(Q["drop_file"], file_id=file_id)

    async def next_unit(self, tx: Transaction, version: str) -> int:
        """The first id of a file's units; a gap keeps files from being neighbours."""
        first = _first_unit(version)
        last = _slot(version)[1] >> _SIZE_BITS
        row = await tx.one(Q["last_unit"], first=first, last=last)
        taken = None if row is None else row["unit_id"]
        return first if taken is None else int(taken) + 2

    async def add_units(
        self, tx: Transaction, file_id: int, units: Sequence[UnitRow], *, first_unit: int
    ) -> None:
        """Add units in their order."""
        numbered = list(enumerate(units, first_unit))
        await tx.run_each(
            Q["add_unit"], [_values(unit, number, file_id) for number, unit in numbered]
        )
        await tx.run_each(
            Q["add_stems"],
            [
                {
                    "place": _place(number, unit.length),
                    "stems": " ".join(_words_of(unit.heading_stems, unit.stems)),
                }
                for number, unit in numbered
            ],
        )

    async def close_file(
        self,
        tx: Transaction,
        file_id: int,
        *,
        stamp: str,
        digest: bytes,
        first_unit: int,
        units: int,
        words: int,
    ) -> None:
        """All units of the file are here, made from what the stamp stands for."""
        await tx.run(
            Q["close_file"],
            file_id=file_id,
            stamp=stamp,
            digest=digest,
            first_unit=first_unit,
            units=units,
            words=words,
        )

    async def restamp(self, tx: Transaction, file_id: int, stamp: str) -> None:
        """The file looks different from outside and holds what it held."""
        await tx.run(Q["restamp_file"], file_id=file_id, stamp=stamp)

    async def is_littered(self, read: Reading) -> bool:
        """Whether words that were deleted may still stand in the full-text index."""
        row = await read.one(Q["is_littered"])
        return row is not None and bool(row["value"])

    async def sweep(self, tx: Transaction, *, pages: int, anew: bool) -> bool:
        """Work deleted words out of so many pages of the full-text index; true when all are out."""
        before = await self._changes(tx)
        await tx.run(Q["merge"], pages=-pages if anew else pages)
        return await self._changes(tx) - before < 2 and not anew

    async def set_swept(self, tx: Transaction) -> None:
        """Deleted words are out of the file and of its log."""
        await tx.run(Q["set_littered"], littered=0)

    def frequencies(self, visit: Visit, stems: Iterable[str]) -> dict[str, int]:
        """In how many units each stem stands; those in none are left out."""
        by_word = {word_of(stem): stem for stem in stems}
        found = visit.all(Q["frequencies"], words=json.dumps(list(by_word)))
        return {by_word[word]: units for word, units in found}

    def places(
        self, visit: Visit, version: str, wanted: Sequence[Sequence[str]], *, most: int
    ) -> list[str]:
        """For each group of stems the newest places that hold all of it, as numbers in a text.

        `unit_of` and `SIZE_OF_PLACE` read such a number.
        """
        first, last = _slot(version)
        found = visit.all(
            Q["places"],
            expressions=json.dumps([_joined(group, "AND") for group in wanted]),
            first=first,
            last=last,
            most=most,
        )
        return [places or "" for _, places in sorted(found, key=lambda one: int(one[0]))]

    def best_by_index(
        self, visit: Visit, version: str, stems: Sequence[str], *, most: int
    ) -> list[int]:
        """Units of a version that hold one of the stems, as the full-text index orders them."""
        first, last = _slot(version)
        found = visit.all(
            Q["best_by_index"],
            match=_joined(stems, "OR"),
            first=first,
            last=last,
            most=COMPARED_MAX,
            best=most,
        )
        return [place >> _SIZE_BITS for (place,) in found]

    def units_and_neighbours(
        self, visit: Visit, version: str, unit_ids: Sequence[int], *, centres: int
    ) -> list[UnitRow]:
        """These units, those that are there, with those around the first of them."""
        found = visit.all(
            Q["units_and_neighbours"],
            version=version,
            unit_ids=json.dumps(unit_ids),
            centres=json.dumps(unit_ids[:centres]),
        )
        return list(map(UnitRow._make, found))

    async def usage(
        self, database: Database, version: str, thread_ids: Iterable[str]
    ) -> Mapping[str, int]:
        """How often threads were cited, those that were."""
        rows = await database.glance(
            Q["usage"], version=version, thread_ids=json.dumps(list(thread_ids))
        )
        return {row["thread_id"]: int(row["usage_count"]) for row in rows}

    async def _changes(self, read: Reading) -> int:
        row = await read.one(Q["changes"])
        return 0 if row is None else int(row["changes"])


def key_of(stem: str) -> bytes:
    """What a stem is in a row; two stems that share one are as rare as they are harmless."""
    return zlib.crc32(stem.encode(errors="replace")).to_bytes(KEY_BYTES, "big")


def pressed(stems: Iterable[str]) -> bytes:
    """Stems as rows hold them."""
    return b"".join(map(key_of, stems))


def word_of(stem: str) -> str:
    """What a stem is in the full-text index."""
    return key_of(stem).hex()


def unit_of(version: str, place: int) -> int:
    """The unit of a place that `SearchStore.places` gave."""
    return _first_unit(version) + (place >> _SIZE_BITS)


def length_of_size(size: int) -> float:
    """About the length of a unit, in stems."""
    return float(2 ** ((size + 0.5) / 2) - 1)


def _place(unit_id: int, length: int) -> int:
    # Twice the logarithm to base two: as fine as a length has to be known.
    return (unit_id << _SIZE_BITS) + min((length + 1) ** 2, 1 << (SIZES - 1)).bit_length() - 1


def _joined(stems: Iterable[str], operator: str) -> str:
    return f" {operator} ".join(f'"{word_of(stem)}"' for stem in stems)


def _slot(version: str) -> tuple[int, int]:
    """The first and last place of a version."""
    first = (VERSIONS.index(version) + 1) << _SLOT_BITS
    return first, first + (1 << _SLOT_BITS) - 1


def _first_unit(version: str) -> int:
    return _slot(version)[0] >> _SIZE_BITS


def _values(unit: UnitRow, unit_id: int, file_id: int) -> dict[str, Value]:
    return {
        "unit_id": unit_id,
        "file_id": file_id,
        "begin_byte": unit.begin_byte,
        "end_byte": unit.end_byte,
        "first_line": unit.first_line,
        "last_line": unit.last_line,
        "mark": unit.mark,
        "headings": unit.headings,
        "at_ms": unit.at_ms,
        "thread_ids": unit.threads,
        "cwd": unit.cwd,
        "length": unit.length,
        "heading_stems": unit.heading_stems,
        "stems": unit.stems,
    }


def noted_headings(places: Iterable[tuple[int, int, bytes]]) -> str:
    """Begin, end and mark of headings as rows hold them, the outermost first."""
    return " ".join(f"{begin}:{end}:{mark.hex()}" for begin, end, mark in places)


def heading_places(noted: str) -> list[tuple[int, int, bytes]]:
    """The headings that a row notes."""
    parts = [one.split(":") for one in noted.split()]
    return [(int(begin), int(end), bytes.fromhex(mark)) for begin, end, mark in parts]


def _words_of(heading_stems: bytes, stems: bytes) -> list[str]:
    """What the full-text index is given, and must be given again to delete it."""
    digits = (heading_stems + stems).hex()
    every = (digits[at : at + _KEY_DIGITS] for at in range(0, len(digits), _KEY_DIGITS))
    return list(dict.fromkeys(every))
