"""Looking at threads without loading them: lists, single threads, pages of turns and items."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import overload

from protocol import methods
from protocol.errors import not_supported_yet, out_of_range, refused
from protocol.messages.handshake import DeprecationNotice
from protocol.messages.lifecycle import (
    ThreadSearchHit,
    ThreadSearchParams,
    ThreadSearchResult,
)
from protocol.messages.threads import (
    ItemsListParams,
    ItemsPage,
    Thread,
    ThreadListParams,
    ThreadListResult,
    ThreadReadParams,
    ThreadReadResult,
    TurnsListParams,
    TurnsPage,
)
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Found, Lookup
from server.handlers.pages import (
    Cursor,
    Scope,
    items_page,
    limit_of,
    newest_turns,
    read_cursor,
    turns_page,
)
from server.handlers.services import Services
from server.handlers.sizes import ROWS_MAX, fitting_rows
from server.handlers.stored_turns import StoredTurns
from server.handlers.views import stored_thread
from server.wire.dispatch import Call
from state.ids import ThreadId
from state.rollouts.items import RecordedItem, RecordedTurn
from state.stores.threads import SortKey, ThreadCursor, ThreadQuery, ThreadRow

FULL_HISTORY = DeprecationNotice(
    summary="Full-history hydration is deprecated for paginated threads; omit `includeTurns` or "
    "set it to `false`, then page with `thread/turns/list` and `thread/items/list`.",
    details=None,
)


SNIPPET_CHARACTERS_MAX = 200


class ReadingHandlers:
    """Answers what looks at threads and changes nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)
        self._stored = StoredTurns(services.state)

    async def list_threads(self, call: Call, params: ThreadListParams) -> ThreadListResult:
        """One page of stored threads."""
        if params.project_id or params.section_id:
            return _empty_list()
        query = _query(params)
        if params.parent_thread_id or params.ancestor_thread_id:
            query = await self._below(query, params)
        state = self._services.state
        async with state.database.reading() as read:
            page = await state.threads.page(read, query)
        # Made one by one, so that none is made beyond what fits.
        shown = ((row, self._row_view(row)) for row in page.rows)
        fitting = fitting_rows(shown, lambda pair: len(pair[1].to_json()))
        onward = page.next_cursor
        if len(fitting) < len(page.rows):
            last = fitting[-1][0]
            at_ms = last.created_at_ms if query.sort == "created_at" else last.updated_at_ms
            onward = ThreadCursor(at_ms, last.thread_id)
        return ThreadListResult(
            data=[thread for _, thread in fitting],
            next_cursor=None if onward is None else str(onward),
            backwards_cursor=None if page.backwards_cursor is None else str(page.backwards_cursor),
            read_states={},
        )

    async def _below(self, query: ThreadQuery, params: ThreadListParams) -> ThreadQuery:
        """The same among the threads that one spawned, itself or through others."""
        if params.parent_thread_id and params.ancestor_thread_id:
            raise refused("parentThreadId and ancestorThreadId cannot be combined")
        above = thread_id_of(params.parent_thread_id or params.ancestor_thread_id or "")
        state = self._services.state
        async with state.database.reading() as read:
            spawned = await state.lineage.descendants(read, above)
        if params.parent_thread_id:
            spawned = [row for row in spawned if row.parent_thread_id == above]
        ids = tuple(
            row.thread_id
            for row in spawned
            if query.included_ids is None or row.thread_id in query.included_ids
        )
        kinds = query.source_kinds or ("subAgent",)
        return replace(query, included_ids=ids, source_kinds=kinds)

    async def search(self, call: Call, params: ThreadSearchParams) -> ThreadSearchResult:
        """One page of threads whose name or first message holds the words."""
        term = params.search_term.strip()
        if not term:
            raise refused("searchTerm must not be empty")
        found = await self.list_threads(
            call,
            ThreadListParams(
                search_term=term,
                cursor=params.cursor,
                limit=params.limit,
                archived=params.archived,
                sort_key=params.sort_key,
                sort_direction=params.sort_direction,
                source_kinds=params.source_kinds,
            ),
        )
        return ThreadSearchResult(
            data=[
                ThreadSearchHit(thread=thread, snippet=_snippet(thread, term))
                for thread in found.data
            ],
            next_cursor=found.next_cursor,
            backwards_cursor=found.backwards_cursor,
        )

    async def read(self, call: Call, params: ThreadReadParams) -> ThreadReadResult:
        """One thread, with its newest turns if asked for."""
        thread_id = thread_id_of(params.thread_id)
        found = await self._found(thread_id, recorded=bool(params.include_turns))
        home = self._services.state.home
        if not params.include_turns:
            return ThreadReadResult(thread=found.view(home))
        if found.ephemeral:
            raise refused("ephemeral threads do not support includeTurns")
        if not found.materialised:
            raise not_supported_yet("list_turns")
        turns = newest_turns(await self._turns(found))
        if found.row.history_mode == "paginated":
            self._services.hub.tell(
                call.peer, methods.DEPRECATION_NOTICE, FULL_HISTORY, thread_id=None
            )
        return ThreadReadResult(thread=found.view(home, turns=turns))

    async def list_turns(self, call: Call, params: TurnsListParams) -> TurnsPage:
        """One page of a thread's turns, the newest first unless asked otherwise."""
        found = await self._found(thread_id_of(params.thread_id), recorded=True)
        if found.ephemeral:
            raise refused("ephemeral threads do not support thread/turns/list")
        if not found.materialised:
            raise refused(
                f"thread {found.thread_id} is not materialized yet; "
                "thread/turns/list is unavailable before first user message"
            )
        return turns_page(
            found.thread_id,
            await self._turns(found),
            cursor=params.cursor,
            limit=params.limit,
            direction=params.sort_direction or "desc",
            view=params.items_view or "summary",
        )

    async def list_items(self, call: Call, params: ItemsListParams) -> ItemsPage:
        """One page of the items of a thread or of one turn, the oldest first by default."""
        found = await self._found(thread_id_of(params.thread_id), recorded=True)
        if found.ephemeral:
            raise refused("ephemeral threads do not support thread/items/list")
        if not found.materialised:
            raise not_supported_yet("thread/items/list")
        rows = _item_rows(await self._turns(found), params.turn_id)
        scope: Scope = "items" if params.turn_id is None else "turnItems"
        return items_page(
            found.thread_id,
            rows,
            anchor=_anchor(params, rows, found.thread_id, scope),
            limit=params.limit,
            direction=params.sort_direction or "asc",
            scope=scope,
        )

    async def _found(self, thread_id: ThreadId, *, recorded: bool) -> Found:
        look = self._lookup.find_recorded if recorded else self._lookup.find
        found = await look(thread_id)
        if found is None:
            raise refused(f"thread not loaded: {thread_id}")
        return found

    async def _turns(self, found: Found) -> Sequence[RecordedTurn]:
        """Its turns in order, the running one as it stands.

        Raises: RolloutMissing, RolloutUnreadable, OSError.
        """
        return await self._stored.of(found.row) if found.live is None else found.live.history()

    def _row_view(self, row: ThreadRow) -> Thread:
        live = self._services.live.get(row.thread_id)
        status = None if live is None else live.status
        return stored_thread(self._services.state.home, row, status=status)


def _snippet(thread: Thread, term: str) -> str:
    """The text in which the words stand, and not too much around them."""
    folded = term.casefold()
    texts = (thread.preview, thread.name or "")
    text = next((one for one in texts if folded in one.casefold()), texts[0])
    at = max(0, text.casefold().find(folded))
    start = max(0, at - SNIPPET_CHARACTERS_MAX // 2)
    return text[start : start + SNIPPET_CHARACTERS_MAX]


def _empty_list() -> ThreadListResult:
    return ThreadListResult(data=[], next_cursor=None, backwards_cursor=None, read_states={})


def _query(params: ThreadListParams) -> ThreadQuery:
    """The store's query for a client's.

    Raises: WireError.
    """
    excluded = tuple(params.excluded_thread_ids or ())
    if len(excluded) > ROWS_MAX:
        raise out_of_range(f"excludedThreadIds must hold at most {ROWS_MAX} ids")
    cursor = None
    if params.cursor is not None:
        try:
            cursor = ThreadCursor.parse(params.cursor)
        except ValueError:
            raise refused(f"invalid cursor: {params.cursor[:200]}") from None
    sort: SortKey = (
        "updated_at" if params.sort_key in ("updated_at", "recency_at") else "created_at"
    )
    cwds = params.cwd if params.cwd is not None else []
    included = params.included_thread_ids
    return ThreadQuery(
        limit=limit_of(params.limit),
        cursor=cursor,
        sort=sort,
        descending=params.sort_direction != "asc",
        archived=bool(params.archived),
        cwds=(cwds,) if isinstance(cwds, str) else tuple(cwds),
        providers=tuple(params.model_providers or ()),
        source_kinds=tuple(params.source_kinds or ()),
        search=(params.search_term or "").strip() or None,
        included_ids=None if included is None else tuple(included),
        excluded_ids=excluded,
    )


class _ItemRows(Sequence[tuple[str, RecordedItem]]):
    """The items of turns in order, each with its turn; none is copied, so a page costs its rows."""

    def __init__(self, turns: Sequence[RecordedTurn]) -> None:
        self._turns = turns
        self._ends = list(accumulate(map(len, map(attrgetter("items"), turns))))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> tuple[str, RecordedItem]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[str, RecordedItem]]: ...
    def __getitem__(
        self, place: int | slice
    ) -> tuple[str, RecordedItem] | list[tuple[str, RecordedItem]]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        position = range(len(self))[place]
        at = bisect_right(self._ends, position)
        turn = self._turns[at]
        return turn.turn_id, turn.items[position - self._ends[at]]


def _item_rows(turns: Sequence[RecordedTurn], turn_id: str | None) -> _ItemRows:
    """The items in order, each with its turn.

    Raises: WireError.
    """
    if turn_id is None:
        return _ItemRows(turns)
    of_one = [turn for turn in turns if turn.turn_id == turn_id]
    if not of_one:
        raise refused(f"turn not found: {turn_id[:200]}")
    return _ItemRows(of_one)


def _anchor(
    params: ItemsListParams,
    rows: Sequence[tuple[str, RecordedItem]],
    thread_id: ThreadId,
    scope: Scope,
) -> Cursor | None:
    """Where the page begins.

    Raises: WireError.
    """
    if params.cursor is None:
        return None
    if isinstance(params.cursor, str):
        return read_cursor(params.cursor, thread_id=thread_id, scope=scope)
    for position, (_, item) in enumerate(rows):
        if item.item_id == params.cursor.item_id:
            return Cursor(thread_id=thread_id, position=position, inclusive=False, scope=scope)
    raise refused(f"item not found: {params.cursor.item_id[:200]}")
