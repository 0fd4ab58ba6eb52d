"""Functions that ask the database several statements and reckon in between, in one trip.

A statement that is awaited is a trip to another thread and back, and on a busy machine each way
waits for a processor. A visit is one such trip, on a connection that nobody else uses meanwhile.
Invariant: its statements see one state, and none of them stays open behind it.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import aiosqlite

from state.named_queries import Query

T = TypeVar("T")


class Visit:
    """Statements of one function; each of them blocks."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._cursor = connection.cursor()
        self._cursor.row_factory = None

    def all(self, query: Query, /, **parameters: object) -> list[tuple[Any, ...]]:
        """Every row, as a tuple in the order of its columns."""
        return self._cursor.execute(query.sql, parameters).fetchall()


class Reader(aiosqlite.Connection):
    """A connection that only reads, for awaited statements and, at other times, for visits."""

    _beneath: sqlite3.Connection

    def __init__(self, uri: str) -> None:
        super().__init__(partial(self._connected, uri), iter_chunk_size=64)

    def visited(self, work: Callable[[Visit], T]) -> T:
        """What the function finds; blocks.

        Raises: sqlite3.Error.
        """
        self._beneath.execute("BEGIN")
        try:
            return work(Visit(self._beneath))
        finally:
            self._beneath.execute("ROLLBACK")

    def _connected(self, uri: str) -> sqlite3.Connection:
        self._beneath = sqlite3.connect(
            f"{uri}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        return self._beneath
