"""Looking at threads without loading them: lists, single threads, pages of turns and items."""

from collections.abc import Sequence

from protocol import methods
from protocol.errors import not_supported_yet, out_of_range, refused
from protocol.messages.handshake import DeprecationNotice
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
    ROWS_MAX,
    Cursor,
    Scope,
    items_page,
    limit_of,
    newest_turns,
    read_cursor,
    turns_page,
)
from server.handlers.services import Services
from server.handlers.sizes import fitting_rows
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


class ReadingHandlers:
    """Answers what looks at threads and changes nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def list_threads(self, call: Call, params: ThreadListParams) -> ThreadListResult:
        """One page of stored threads."""
        if params.parent_thread_id or params.ancestor_thread_id:
            # Threads of ours have no parents, so none is below any other.
            return _empty_list()
        if params.project_id or params.section_id:
            return _empty_list()
        query = _query(params)
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

    async def read(self, call: Call, params: ThreadReadParams) -> ThreadReadResult:
        """One thread, with its newest turns if asked for."""
        thread_id = thread_id_of(params.thread_id)
        found = await self._found(thread_id)
        home = self._services.state.home
        if not params.include_turns:
            return ThreadReadResult(thread=found.view(home))
        if found.ephemeral:
            raise refused("ephemeral threads do not support includeTurns")
        if not found.materialised:
            raise not_supported_yet("list_turns")
        turns = newest_turns(await self._lookup.turns(found))
        if found.row.history_mode == "paginated":
            self._services.hub.tell(
                call.peer, methods.DEPRECATION_NOTICE, FULL_HISTORY, thread_id=None
            )
        return ThreadReadResult(thread=found.view(home, turns=turns))

    async def list_turns(self, call: Call, params: TurnsListParams) -> TurnsPage:
        """One page of a thread's turns, the newest first unless asked otherwise."""
        found = await self._found(thread_id_of(params.thread_id))
        if found.ephemeral:
            raise refused("ephemeral threads do not support thread/turns/list")
        if not found.materialised:
            raise refused(
                f"thread {found.thread_id} is not materialized yet; "
                "thread/turns/list is unavailable before first user message"
            )
        return turns_page(
            found.thread_id,
            await self._lookup.turns(found),
            cursor=params.cursor,
            limit=params.limit,
            direction=params.sort_direction or "desc",
            view=params.items_view or "summary",
        )

    async def list_items(self, call: Call, params: ItemsListParams) -> ItemsPage:
        """One page of the items of a thread or of one turn, the oldest first by default."""
        found = await self._found(thread_id_of(params.thread_id))
        if found.ephemeral:
            raise refused("ephemeral threads do not support thread/items/list")
        if not found.materialised:
            raise not_supported_yet("thread/items/list")
        rows = _item_rows(await self._lookup.turns(found), params.turn_id)
        scope: Scope = "items" if params.turn_id is None else "turnItems"
        return items_page(
            found.thread_id,
            rows,
            anchor=_anchor(params, rows, found.thread_id, scope),
            limit=params.limit,
            direction=params.sort_direction or "asc",
            scope=scope,
        )

    async def _found(self, thread_id: ThreadId) -> Found:
        found = await self._lookup.find(thread_id)
        if found is None:
            raise refused(f"thread not loaded: {thread_id}")
        return found

    def _row_view(self, row: ThreadRow) -> Thread:
        live = self._services.live.get(row.thread_id)
        status = None if live is None else live.status
        return stored_thread(self._services.state.home, row, status=status)


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


def _item_rows(
    turns: Sequence[RecordedTurn], turn_id: str | None
) -> list[tuple[str, RecordedItem]]:
    """The items in order, each with its turn.

    Raises: WireError.
    """
    if turn_id is not None and all(turn.turn_id != turn_id for turn in turns):
        raise refused(f"turn not found: {turn_id[:200]}")
    return [
        (turn.turn_id, item)
        for turn in turns
        if turn_id is None or turn.turn_id == turn_id
        for item in turn.items
    ]


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
