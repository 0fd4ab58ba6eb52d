"""The rows behind ranked search: files, units, and a full-text index of their stems.

Invariant: a file's stamp is set in the transaction that adds its last unit and taken away in the
one that removes its first, so after a crash a stamp says that all units of the file are here. No
text of memory is kept, only stems; what is deleted is out of the database's bytes once the mark
`littered` is gone.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from state.database import Database, Reading, Row, Transaction, Value
from state.named_queries import Queries

Q = Queries("search")

VERSIONS = ("v1", "v2", "v3")
_SLOT_BITS = 40
"""Units of a version have a range of ids, by which the full-text index tells versions apart."""
USED_MAX = 1_000
"""Threads whose use is looked at; others were cited less."""
LOOKED_AT_MAX = 2_500
"""Units whose words are compared for one query; a posting costs 2.3 µs (measured)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """One unit of a file: where it stands, by what it is known again, and its stems."""

    begin_byte: int
    end_byte: int
    first_line: int
    last_line: int
    mark: bytes
    """A digest of its bytes."""
    headings: str
    """Of each heading above it begin, end and mark, as `heading_places` reads them."""
    at_ms: int | None
    thread_ids: tuple[str, ...]
    cwd: str
    heading_stems: str
    """Each between two blanks, as in `stems`, so that one is counted by a search in the text."""
    stems: str
    length: int
    """In stems."""
    path: str = ""
    unit_id: int = 0
    file_id: int = 0


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
        headings, own = _unpacked(row["stems"])
        stems = (headings + own).split()[:1]
        return not stems or bool(await read.all(Q["frequencies"], stems=json.dumps(stems)))

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
        await tx.run(Q["set_littered"], littered=0)

    async def open_file(self, tx: Transaction, version: str, path: str) -> int:
        """The id of a file, whose units count as incomplete from here on."""
        row = await tx.one(Q["file"], version=version, path=path)
        if row is None:
            first, _ = _slot(version)
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
                    {"unit_id": row["unit_id"], "stems": _indexed(*_unpacked(row["stems"]))}
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
        first, last = _slot(version)
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
                {"unit_id": number, "stems": _indexed(unit.heading_stems, unit.stems)}
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

    async def frequencies(self, database: Database, stems: Iterable[str]) -> dict[str, int]:
        """In how many units each stem stands; those in none are left out."""
        rows = await database.glance(Q["frequencies"], stems=json.dumps(list(stems)))
        return {row["term"]: int(row["doc"]) for row in rows}

    async def candidates(
        self, database: Database, version: str, stems: Sequence[str], *, most: int
    ) -> list[int]:
        """Units of a version that hold one of the stems, as the full-text index orders them."""
        rows = await database.glance(
            Q["candidates"], **_match(version, stems, all_of=False), most=most
        )
        return [int(row["unit_id"]) for row in rows]

    async def candidates_and_neighbours(
        self,
        database: Database,
        version: str,
        stems: Sequence[str],
        *,
        all_of: bool,
        most: int,
        centres: int,
    ) -> list[UnitRow]:
        """Units that hold one or all of the stems, with those around the best of them."""
        if not stems:
            return []
        rows = await database.glance(
            Q["candidates_and_neighbours"],
            **_match(version, stems, all_of=all_of),
            version=version,
            most=most,
            centres=centres,
        )
        return [_unit_of(row) for row in rows]

    async def units(
        self, database: Database, version: str, unit_ids: Iterable[int]
    ) -> list[UnitRow]:
        """These units, those that are there."""
        rows = await database.glance(
            Q["units"], version=version, unit_ids=json.dumps(list(unit_ids))
        )
        return [_unit_of(row) for row in rows]

    async def usage(self, database: Database, version: str) -> Mapping[str, int]:
        """How often threads were cited, those that were most."""
        rows = await database.glance(Q["usage"], version=version, most=USED_MAX)
        return {row["thread_id"]: int(row["usage_count"]) for row in rows}

    async def _changes(self, read: Reading) -> int:
        row = await read.one(Q["changes"])
        return 0 if row is None else int(row["changes"])


def _match(version: str, stems: Sequence[str], *, all_of: bool) -> dict[str, Value]:
    first, last = _slot(version)
    return {
        "match": (" AND " if all_of else " OR ").join(f'"{stem}"' for stem in stems),
        "first": first,
        "last": last,
        "looked_at": LOOKED_AT_MAX,
    }


def _slot(version: str) -> tuple[int, int]:
    """The first and last id of a version's units."""
    first = (VERSIONS.index(version) + 1) << _SLOT_BITS
    return first, first + (1 << _SLOT_BITS) - 1


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
        "thread_ids": " ".join(unit.thread_ids),
        "cwd": unit.cwd,
        "length": unit.length,
        "packed": _packed(unit.heading_stems, unit.stems),
    }


def noted_headings(places: Iterable[tuple[int, int, bytes]]) -> str:
    """Begin, end and mark of headings as rows hold them, the outermost first."""
    return " ".join(f"{begin}:{end}:{mark.hex()}" for begin, end, mark in places)


def heading_places(noted: str) -> list[tuple[int, int, bytes]]:
    """The headings that a row notes."""
    parts = [one.split(":") for one in noted.split()]
    return [(int(begin), int(end), bytes.fromhex(mark)) for begin, end, mark in parts]


def padded(stems: Iterable[str]) -> str:
    """Stems as rows hold them."""
    return "".join(f" {stem} " for stem in stems)


def _indexed(heading_stems: str, stems: str) -> str:
    """What the full-text index is given, and must be given again to delete it."""
    return " ".join(dict.fromkeys((heading_stems + stems).split()))


def _packed(heading_stems: str, stems: str) -> bytes:
    return zlib.compress(f"{heading_stems}\n{stems}".encode(), 1)


def _unpacked(packed: bytes) -> tuple[str, str]:
    headings, _, stems = zlib.decompress(packed).decode().partition("\n")
    return headings, stems


def _unit_of(row: Row) -> UnitRow:
    heading_stems, stems = _unpacked(row["stems"])
    return UnitRow(
        begin_byte=row["begin_byte"],
        end_byte=row["end_byte"],
        first_line=row["first_line"],
        last_line=row["last_line"],
        mark=row["mark"],
        headings=row["headings"],
        at_ms=row["at_ms"],
        thread_ids=tuple(row["thread_ids"].split()),
        cwd=row["cwd"],
        heading_stems=heading_stems,
        stems=stems,
        length=row["length"],
        path=row["path"],
        unit_id=row["unit_id"],
        file_id=row["file_id"],
    )
