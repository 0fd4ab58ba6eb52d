"""SQL as named text: a file of `state/sql/queries/` for each store, cut into its statements."""

import importlib.resources
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement, its name kept for errors and counters."""

    name: str
    sql: str


class Queries(Mapping[str, Query]):
    """The named statements of one file under `state/sql/queries/`."""

    def __init__(self, file: str) -> None:
        text = importlib.resources.files("state").joinpath("sql", "queries", f"{file}.sql")
        self._queries = {
            name: Query(f"{file}.{name}", sql)
            for name, sql in parse_named_queries(text.read_text("utf-8")).items()
        }

    def __getitem__(self, name: str) -> Query:
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


_NAME = re.compile(r"^-- name: ([a-z_0-9]+)$", re.MULTILINE)
_SHARED = re.compile(r"^ *\$([a-z_0-9]+)$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")


def parse_named_queries(text: str) -> dict[str, str]:
    """Cut a file into its statements, each after a line `-- name: what`.

    A line `$what` alone stands for the text of that name in the same file, so that a condition that
    several statements share has one place.
    """
    parts = _NAME.split(text)
    named = {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    return {
        name: _SHARED.sub(lambda found: named.get(found[1], found[0]), body)
        for name, body in named.items()
    }


def statements_of(text: str) -> list[str]:
    """Cut at the semicolons that end a statement, not at those in texts, comments or triggers."""
    found, pending = [], ""
    for piece in text.split(";"):
        pending += f"{piece};"
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    # The last piece got a semicolon that was not there; a comment alone is no statement.
    return [one for one in found if _COMMENT.sub("", one).strip("; \t\r\n")]
