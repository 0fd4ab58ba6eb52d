"""Rows of threads: the index from which lists, searches and candidates are answered.

Invariant: the rollout is the truth and this index opens none; every list is driven by an index and
paged by keyset, so a page costs the same at any depth and none is skipped while threads arrive.
"""

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass, fields
from string import Template
from typing import Any, Literal, get_args

from state.database import Reading, Row, Transaction, Value
from state.ids import ThreadId
from state.named_queries import Queries, Query
from state.stores.sources import SUB_AGENT_KINDS, is_root, source_kind

Q = Queries("threads")

HistoryMode = Literal["legacy", "paginated"]
MemoryMode = Literal["enabled", "disabled", "polluted"]
SortKey = Literal["created_at", "updated_at"]

PAGE_ROWS_MAX = 1_000
SCAN_ROWS_MAX = 100_000
_END_OF_TIME_MS = 2**63 - 1
_AFTER_ANY_ID = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRow:
    """What is known of a thread without opening its rollout."""

    thread_id: ThreadId
    rollout_path: str
    """Relative to the root of the home."""
    created_at_ms: int
    updated_at_ms: int
    cwd: str
    preview: str
    name: str | None
    source: str
    """JSON text of the wire's source value, such as `"vscode"` with its quotes."""
    thread_source: str | None
    model_provider: str
    model: str | None
    cli_version: str
    originator: str | None
    history_mode: HistoryMode
    memory_mode: MemoryMode
    archived: bool
    git_branch: str | None
    git_sha: str | None
    git_origin_url: str | None
    forked_from_id: str | None
    imported_from: str | None
    """The path it was imported from."""
    imported_digest: str | None
    imported_at_ms: int | None
    use_memories: bool = True
    parent_thread_id: str | None = None
    """The thread that spawned it."""
    history_base_id: str | None = None
    """The thread whose file holds the beginning of its history."""


@dataclass(frozen=True, slots=True)
class ThreadCursor:
    """A place between two rows of a list."""

    at_ms: int
    thread_id: str

    def __str__(self) -> str:
        return f"{self.at_ms}|{self.thread_id}"

    @classmethod
    def parse(cls, text: str) -> "ThreadCursor":
        """The cursor that `str` gave.

        Raises: ValueError.
        """
        at_ms, bar, thread_id = text.partition("|")
        if not bar or not at_ms.isascii() or not at_ms.isdigit() or len(at_ms) > 18:
            raise ValueError(f"invalid cursor: {text}")
        return cls(int(at_ms), thread_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuery:
    """Which threads to list, and from where. An empty filter lets everything pass."""

    limit: int = 25
    cursor: ThreadCursor | None = None
    sort: SortKey = "created_at"
    descending: bool = True
    archived: bool = False
    cwds: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    source_kinds: tuple[str, ...] = ()
    """Empty: threads that a user began, of whatever client."""
    search: str | None = None
    included_ids: tuple[str, ...] | None = None
    """None: any; empty: none at all."""
    excluded_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """One page, and the cursors to both sides of it."""

    rows: tuple[ThreadRow, ...]
    next_cursor: ThreadCursor | None
    backwards_cursor: ThreadCursor | None
    """For the opposite direction; that page begins with this page's first row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportMark:
    """Where an imported thread came from, and what its file was like."""

    imported_from: str
    digest: str
    imported_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCounts:
    """How many threads there are, by mode."""

    total: int
    enabled: int
    disabled: int
    polluted: int
    archived: int
    imported: int


class ThreadStore:
    """The rows of threads."""

    async def put(self, tx: Transaction, row: ThreadRow) -> None:
        """Write the whole row, new or replaced; what its rollout does not say is told as well."""
        before = await self.get(tx, row.thread_id)
        await tx.run(Q["put"], **_to_columns(row))
        for what, facts in _untold(row, before):
            tx.tell(what, thread_id=row.thread_id, **facts)

    async def get(self, read: Reading, thread_id: ThreadId) -> ThreadRow | None:
        """The row of a thread."""
        row = await read.one(Q["get"], thread_id=thread_id)
        return thread_row(row) if row is not None else None

    async def page(self, read: Reading, query: ThreadQuery) -> ThreadPage:
        """One page of a list; rows without a preview are never listed."""
        limit = max(1, min(query.limit, PAGE_ROWS_MAX))
        rows = await _page_rows(read, query, limit + 1)
        page = tuple(thread_row(row) for row in rows[:limit])
        if not page:
            return ThreadPage(rows=(), next_cursor=None, backwards_cursor=None)
        return ThreadPage(
            rows=page,
            next_cursor=_cursor(page[-1], query.sort) if len(rows) > limit else None,
            # The whole instant of the first row, so that none of the same time is passed over.
            backwards_cursor=ThreadCursor(
                _cursor(page[0], query.sort).at_ms, "" if query.descending else _AFTER_ANY_ID
            ),
        )

    async def set_name(self, tx: Transaction, thread_id: ThreadId, name: str | None) -> bool:
        """Name a thread; false when there is none."""
        row = await self.get(tx, thread_id)
        if row is None:
            return False
        await tx.run(
            Q["set_name"],
            thread_id=thread_id,
            name=name,
            searchable=_searchable(name, row.preview),
        )
        tx.tell("name", thread_id=thread_id, name=name)
        return True

    async def set_memory_mode(self, tx: Transaction, thread_id: ThreadId, mode: MemoryMode) -> bool:
        """Say whether a thread may be learned from; false when there is none."""
        changed = await tx.run(Q["set_memory_mode"], thread_id=thread_id, mode=mode) > 0
        if changed:
            tx.tell("mode", thread_id=thread_id, mode=mode)
        return changed

    async def set_use_memories(self, tx: Transaction, thread_id: ThreadId, use: bool) -> bool:
        """Say whether a thread sees memory; false when there is none."""
        changed = await tx.run(Q["set_use_memories"], thread_id=thread_id, use=int(use)) > 0
        if changed:
            tx.tell("use", thread_id=thread_id, use=use)
        return changed

    async def set_archived(
        self, tx: Transaction, thread_id: ThreadId, *, archived: bool, rollout_path: str
    ) -> bool:
        """Note that a thread's file was moved to or from the archive."""
        changed = await tx.run(
            Q["set_archived"],
            thread_id=thread_id,
            archived=int(archived),
            rollout_path=rollout_path,
        )
        return changed > 0

    async def touch(
        self,
        tx: Transaction,
        thread_id: ThreadId,
        *,
        updated_at_ms: int,
        preview: str | None = None,
        model: str | None = None,
    ) -> bool:
        """Note that a thread went on; what is not given stays."""
        searchable = None
        if preview is not None:
            row = await self.get(tx, thread_id)
            searchable = _searchable(row.name if row else None, preview)
        changed = await tx.run(
            Q["touch"],
            thread_id=thread_id,
            updated_at_ms=updated_at_ms,
            preview=preview,
            model=model,
            searchable=searchable,
        )
        return changed > 0

    async def delete(self, tx: Transaction, thread_id: ThreadId) -> bool:
        """Remove the row; false when there was none."""
        tx.tell("deleted", thread_id=thread_id)
        return await tx.run(Q["delete"], thread_id=thread_id) > 0

    async def import_digest(self, read: Reading, thread_id: ThreadId) -> ImportMark | None:
        """What an import noted of the thread; None for one that is not there or is our own."""
        row = await read.one(Q["import_mark"], thread_id=thread_id)
        if row is None:
            return None
        return ImportMark(
            imported_from=row["imported_from"] or "",
            digest=row["imported_digest"],
            imported_at_ms=row["imported_at_ms"] or 0,
            updated_at_ms=row["updated_at_ms"],
        )

    async def idle_candidates(
        self,
        read: Reading,
        *,
        from_ms: int,
        until_ms: int,
        ahead_ms: int,
        scan_max: int,
        exclude: Set[ThreadId],
        due_for: str | None = None,
    ) -> list[ThreadRow]:
        """Threads that may be learned from and last changed between those times, the newest first.

        A change behind `ahead_ms` was told by a wrong clock and counts as one between them. With
        `due_for` those that this version has already extracted take no place in the scan.
        """
        rows = await read.all(
            Q["idle_candidates"],
            from_ms=from_ms,
            until_ms=until_ms,
            ahead_ms=ahead_ms,
            exclude=json.dumps(sorted(exclude)),
            version=due_for,
            limit=max(0, scan_max),
        )
        return [thread_row(row) for row in rows]

    async def all_enabled(self, read: Reading, *, due_for: str | None = None) -> list[ThreadRow]:
        """Threads an order may learn from, whatever their age, archived too, the newest first."""
        rows = await read.all(Q["all_enabled"], version=due_for, limit=SCAN_ROWS_MAX)
        return [thread_row(row) for row in rows]

    async def counts(self, read: Reading) -> ThreadCounts:
        """How many threads there are."""
        row = await read.one(Q["counts"])
        assert row is not None
        return ThreadCounts(**{key: row[key] for key in row.keys()})


_FIELDS = tuple(field.name for field in fields(ThreadRow))
_FLAGS = ("archived", "use_memories")


def thread_row(row: Row) -> ThreadRow:
    """The thread in a database row that has all columns of its table."""
    values: dict[str, Any] = {name: row[name] for name in _FIELDS}
    for flag in _FLAGS:
        values[flag] = bool(values[flag])
    return ThreadRow(**values)


def _untold(row: ThreadRow, before: ThreadRow | None) -> Iterator[tuple[str, dict[str, Value]]]:
    """What of a row stands in no transcript and is not as the journal has it already."""
    old = (before.memory_mode, before.use_memories, before.name) if before else None
    mode, use, name = old or ("enabled", True, None)
    if row.memory_mode != mode:
        yield "mode", {"mode": row.memory_mode}
    if row.use_memories != use:
        yield "use", {"use": row.use_memories}
    if row.name != name:
        yield "name", {"name": row.name}
    mark = (row.imported_from, row.imported_digest)
    if mark != ((before.imported_from, before.imported_digest) if before else (None, None)):
        yield (
            "imported",
            {
                "imported_from": row.imported_from,
                "imported_digest": row.imported_digest,
                "imported_at_ms": row.imported_at_ms,
            },
        )


def _to_columns(row: ThreadRow) -> dict[str, Value]:
    values: dict[str, Value] = {name: getattr(row, name) for name in _FIELDS}
    for flag in _FLAGS:
        values[flag] = int(bool(values[flag]))
    kind = source_kind(row.source)
    root = is_root(kind, row.thread_source, imported=row.imported_at_ms is not None)
    return values | {
        "source_kind": kind,
        "root": int(root),
        "searchable": _searchable(row.name, row.preview),
    }


def _searchable(name: str | None, preview: str) -> str:
    return f"{name or ''}\n{preview}".casefold()


def _cursor(row: ThreadRow, sort: SortKey) -> ThreadCursor:
    at_ms = row.created_at_ms if sort == "created_at" else row.updated_at_ms
    return ThreadCursor(at_ms, row.thread_id)


def _page_query(sort: SortKey, *, descending: bool, one_cwd: bool) -> Query:
    """The statement for an order; only these fixed words ever stand in it."""
    text = Template(Q["page"].sql).substitute(
        column=f"{sort}_ms",
        direction="desc" if descending else "asc",
        beyond="<" if descending else ">",
        and_cwd="and cwd = :cwd" if one_cwd else "",
    )
    return Query(f"threads.page_{sort}", text)


PAGE_QUERIES = {
    (sort, descending, one_cwd): _page_query(sort, descending=descending, one_cwd=one_cwd)
    for sort in get_args(SortKey)
    for descending in (True, False)
    for one_cwd in (True, False)
}


async def _page_rows(read: Reading, query: ThreadQuery, limit: int) -> list[Row]:
    """The rows of one page; several working directories are several short ranges, merged."""
    start = (_END_OF_TIME_MS, _AFTER_ANY_ID) if query.descending else (-1, "")
    at_ms, after_id = (query.cursor.at_ms, query.cursor.thread_id) if query.cursor else start
    kinds = _expanded(query.source_kinds)
    filters: dict[str, Value] = {
        "archived": int(query.archived),
        "at_ms": at_ms,
        "id": after_id,
        "kinds": json.dumps(kinds) if kinds else None,
        "root": None if kinds else 1,
        "providers": json.dumps(query.providers) if query.providers else None,
        "within": None if query.included_ids is None else json.dumps(query.included_ids),
        "without": json.dumps(query.excluded_ids) if query.excluded_ids else None,
        "term": query.search.casefold() if query.search else None,
        "limit": limit,
    }
    statement = PAGE_QUERIES[query.sort, query.descending, bool(query.cwds)]
    if not query.cwds:
        return await read.all(statement, **filters)
    rows: list[Row] = []
    for cwd in dict.fromkeys(query.cwds):
        rows += await read.all(statement, cwd=cwd, **filters)
    column = f"{query.sort}_ms"
    rows.sort(key=lambda row: (row[column], row["thread_id"]), reverse=query.descending)
    return rows[:limit]


def _expanded(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return kinds + SUB_AGENT_KINDS if "subAgent" in kinds else kinds
