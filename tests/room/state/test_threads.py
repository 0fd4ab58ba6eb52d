"""Rows of threads: lists, names, modes, and who may be learned from."""

import json
from dataclasses import replace

import pytest

from state.database import Database, Reading
from state.stores.outputs import OutputStore
from state.stores.threads import ThreadCursor, ThreadPage, ThreadQuery, ThreadRow, ThreadStore
from tests.support.rows import DAY_MS, HOUR_MS, NOW_MS, a_thread, an_output, thread_id


async def put(database: Database, threads: ThreadStore, *rows: ThreadRow) -> None:
    """Write some threads."""
    async with database.writing() as tx:
        for row in rows:
            await threads.put(tx, row)


async def numbers(database: Database, threads: ThreadStore, query: ThreadQuery) -> list[int]:
    """The threads of a page by their numbers."""
    async with database.reading() as read:
        return listed(await threads.page(read, query))


def listed(page: ThreadPage) -> list[int]:
    """The numbers of a page's threads."""
    return [int(row.thread_id[-12:]) for row in page.rows]


async def every_page(read: Reading, threads: ThreadStore, query: ThreadQuery) -> list[int]:
    """All pages, one after the other."""
    found: list[int] = []
    while True:
        page = await threads.page(read, query)
        found += listed(page)
        if page.next_cursor is None:
            return found
        query = replace(query, cursor=ThreadCursor.parse(str(page.next_cursor)))


async def test_a_row_comes_back_as_it_was_put(database: Database, threads: ThreadStore) -> None:
    """Every column, with and without a value."""
    bare = a_thread(1)
    full = a_thread(
        2,
        name="A name",
        source='{"subAgent":"review"}',
        thread_source="user",
        model="model-1",
        originator="test",
        history_mode="legacy",
        memory_mode="polluted",
        archived=True,
        git_branch="main",
        git_sha="abc",
        git_origin_url="https://example.org/x.git",
        forked_from_id=thread_id(1),
        imported_from="/elsewhere/a.jsonl",
        imported_digest="d1",
        imported_at_ms=5,
        use_memories=False,
    )
    await put(database, threads, bare, full)
    await put(database, threads, replace(full, name="Another"))
    async with database.reading() as read:
        assert await threads.get(read, thread_id(1)) == bare
        assert await threads.get(read, thread_id(2)) == replace(full, name="Another")
        assert await threads.get(read, thread_id(3)) is None
        mark = await threads.import_digest(read, thread_id(2))
        assert mark is not None
        assert (mark.imported_from, mark.digest) == ("/elsewhere/a.jsonl", "d1")
        assert await threads.import_digest(read, thread_id(1)) is None


@pytest.mark.requirement("MR-9-32")
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", ["created_at", "updated_at"])
@pytest.mark.parametrize("cwds", [(), ("/a", "/b"), ("/a",)])
async def test_pages_hold_every_thread_once_in_order(
    database: Database, threads: ThreadStore, descending: bool, sort: str, cwds: tuple[str, ...]
) -> None:
    """Also where many share one instant, which the id then orders."""
    rows = [
        a_thread(n, created_at_ms=n // 4, updated_at_ms=(40 - n) // 3, cwd=f"/{'abc'[n % 3]}")
        for n in range(40)
    ]
    await put(database, threads, *rows)
    query = ThreadQuery(
        limit=3,
        sort="created_at" if sort == "created_at" else "updated_at",
        descending=descending,
        cwds=cwds,
    )
    expected = sorted(
        (row for row in rows if not cwds or row.cwd in cwds),
        key=lambda row: (getattr(row, f"{sort}_ms"), row.thread_id),
        reverse=descending,
    )
    async with database.reading() as read:
        found = await every_page(read, threads, query)
    assert found == [int(row.thread_id[-12:]) for row in expected]


@pytest.mark.requirement("FR-T19")
async def test_a_page_stays_stable_while_threads_arrive(
    database: Database, threads: ThreadStore
) -> None:
    """Newer threads come in front of the cursor; none of the older ones is skipped or doubled."""
    await put(database, threads, *(a_thread(n) for n in range(10)))
    async with database.reading() as read:
        first = await threads.page(read, ThreadQuery(limit=4))
    await put(database, threads, *(a_thread(n) for n in range(10, 15)))
    async with database.reading() as read:
        second = await threads.page(read, ThreadQuery(limit=4, cursor=first.next_cursor))
    assert (listed(first), listed(second)) == ([9, 8, 7, 6], [5, 4, 3, 2])


async def test_the_cursor_back_begins_with_the_first_instant_of_the_page(
    database: Database, threads: ThreadStore
) -> None:
    """Read the other way round it gives the page's first thread and those before it."""
    await put(database, threads, *(a_thread(n) for n in range(6)))
    async with database.reading() as read:
        first = await threads.page(read, ThreadQuery(limit=2))
        second = await threads.page(read, ThreadQuery(limit=2, cursor=first.next_cursor))
        back = ThreadQuery(limit=3, descending=False, cursor=second.backwards_cursor)
        assert listed(second) == [3, 2]
        assert listed(await threads.page(read, back)) == [3, 4, 5]
        nothing = await threads.page(read, ThreadQuery(cwds=("/nowhere",)))
    assert nothing == ThreadPage(rows=(), next_cursor=None, backwards_cursor=None)


@pytest.mark.parametrize("text", ["", "1", "x|y", "-1|a", "1.5|a", "²|a", "9" * 40 + "|a"])
def test_a_cursor_of_another_form_is_refused(text: str) -> None:
    """It names itself in the error."""
    with pytest.raises(ValueError, match="invalid cursor"):
        ThreadCursor.parse(text)


async def test_lists_filter_by_archive_provider_source_and_id(
    database: Database, threads: ThreadStore
) -> None:
    """Sub-agents and threads without a preview are not in the default list."""
    await put(
        database,
        threads,
        a_thread(1),
        a_thread(2, archived=True),
        a_thread(3, model_provider="openai"),
        a_thread(4, source='"exec"'),
        a_thread(5, source='{"subAgent":{"thread_spawn":{}}}'),
        a_thread(6, preview=""),
        a_thread(7, source='{"custom":"somebody"}'),
    )
    expected = {
        ThreadQuery(): [4, 3, 1],
        ThreadQuery(archived=True): [2],
        ThreadQuery(providers=("openai", "other")): [3],
        ThreadQuery(source_kinds=("exec",)): [4],
        ThreadQuery(source_kinds=("subAgent",)): [5],
        ThreadQuery(source_kinds=("subAgentThreadSpawn", "exec")): [5, 4],
        ThreadQuery(source_kinds=("unknown",)): [7],
        ThreadQuery(included_ids=(thread_id(1), thread_id(5))): [1],
        ThreadQuery(included_ids=()): [],
        ThreadQuery(excluded_ids=(thread_id(4),)): [3, 1],
    }
    for query, wanted in expected.items():
        assert await numbers(database, threads, query) == wanted, query


async def test_search_finds_parts_of_names_and_previews_in_any_case(
    database: Database, threads: ThreadStore
) -> None:
    """The term is literal text: no wildcard, no pattern."""
    await put(
        database,
        threads,
        a_thread(1, preview="Fix the ÜBERSICHT page"),
        a_thread(2, preview="100% done"),
        a_thread(3, preview="nothing", name="Release Notes"),
    )
    for term, wanted in {
        "übersicht": [1],
        "100%": [2],
        "%": [2],
        "release n": [3],
        "": [3, 2, 1],
    }.items():
        assert await numbers(database, threads, ThreadQuery(search=term)) == wanted, term
    async with database.writing() as tx:
        assert await threads.set_name(tx, thread_id(3), "Other")
        assert await threads.touch(tx, thread_id(2), updated_at_ms=9, preview="half done")
    assert await numbers(database, threads, ThreadQuery(search="release")) == []
    assert await numbers(database, threads, ThreadQuery(search="100%")) == []
    assert await numbers(database, threads, ThreadQuery(search="half")) == [2]
    assert await numbers(database, threads, ThreadQuery(search="other")) == [3]


async def test_changes_of_one_thread_say_whether_it_was_there(
    database: Database, threads: ThreadStore
) -> None:
    """Name, mode, use, archive, touch, delete; a thread that goes on only grows newer."""
    await put(database, threads, a_thread(5))
    async with database.writing() as tx:
        for known, number in ((True, 5), (False, 6)):
            one = thread_id(number)
            assert await threads.set_name(tx, one, "N") is known
            assert await threads.set_memory_mode(tx, one, "disabled") is known
            assert await threads.set_use_memories(tx, one, False) is known
            assert await threads.set_archived(tx, one, archived=True, rollout_path="p") is known
            assert await threads.touch(tx, one, updated_at_ms=4, model="m") is known
    async with database.reading() as read:
        row = await threads.get(read, thread_id(5))
    assert row == a_thread(
        5,
        name="N",
        memory_mode="disabled",
        use_memories=False,
        archived=True,
        rollout_path="p",
        model="m",
        updated_at_ms=6,
    )
    async with database.writing() as tx:
        assert await threads.delete(tx, thread_id(5))
        assert not await threads.delete(tx, thread_id(5))


async def candidates(database: Database, threads: ThreadStore, scan_max: int = 5_000) -> list[int]:
    """The numbers of the threads that v1 may extract now: 30 days, 12 hours."""
    async with database.reading() as read:
        found = await threads.idle_candidates(
            read,
            from_ms=NOW_MS - 30 * DAY_MS,
            until_ms=NOW_MS - 12 * HOUR_MS,
            ahead_ms=NOW_MS + 12 * HOUR_MS,
            scan_max=scan_max,
            exclude={thread_id(99)},
            due_for="v1",
        )
    return [int(row.thread_id[-12:]) for row in found]


@pytest.mark.requirement("MW-8.1-window")
async def test_candidates_lie_in_the_window_and_are_not_the_current_thread(
    database: Database, threads: ThreadStore
) -> None:
    """Both ends count as inside; the filters apply before the limit of the scan."""
    ages = {
        1: 12 * HOUR_MS - 60_000,
        2: 12 * HOUR_MS,
        3: 12 * HOUR_MS + 60_000,
        4: 30 * DAY_MS,
        5: 30 * DAY_MS + 1,
        99: 13 * HOUR_MS,
    }
    await put(
        database, threads, *(a_thread(n, updated_at_ms=NOW_MS - age) for n, age in ages.items())
    )
    assert await candidates(database, threads) == [2, 3, 4]
    assert await candidates(database, threads, scan_max=1) == [2]
    assert await candidates(database, threads, scan_max=0) == []


@pytest.mark.requirement("FR-S12")
async def test_a_thread_of_a_clock_that_was_far_ahead_rests_all_the_same(
    database: Database, threads: ThreadStore
) -> None:
    """One that is a little ahead, as after a clock was set back, waits as long as any other."""
    ahead = {1: 12 * HOUR_MS, 2: 12 * HOUR_MS + 1, 3: 365 * DAY_MS, 4: 0}
    await put(
        database, threads, *(a_thread(n, updated_at_ms=NOW_MS + by) for n, by in ahead.items())
    )
    assert await candidates(database, threads) == [3, 2]


@pytest.mark.requirement("FR-E6", "MW-8.1-enabled-only")
async def test_only_enabled_sessions_of_a_person_are_candidates(
    database: Database, threads: ThreadStore
) -> None:
    """Imported ones of unknown make count; sub-agents and workers never, imported or not."""
    old = NOW_MS - DAY_MS
    sources: dict[int, tuple[object, dict[str, object]]] = {
        1: ("cli", {}),
        2: ("exec", {}),
        3: ("mcp", {}),
        4: ("appServer", {}),
        5: ({"custom": "atlas"}, {}),
        6: ("unknown", {}),
        7: ("unknown", {"imported_at_ms": NOW_MS}),
        8: ({"subAgent": "review"}, {"imported_at_ms": NOW_MS}),
        9: ({"internal": "memory_consolidation"}, {"imported_at_ms": NOW_MS}),
        10: ("vscode", {"thread_source": "memory_consolidation"}),
        11: ("vscode", {"memory_mode": "disabled"}),
        12: ("vscode", {"memory_mode": "polluted"}),
        13: ("vscode", {"archived": True}),
        14: ("vscode", {"preview": ""}),
        15: ("vscode", {"history_mode": "legacy"}),
        16: ({"subagent": {"other": "x"}}, {"imported_at_ms": NOW_MS}),
    }
    rows = [
        a_thread(n, updated_at_ms=old, source=json.dumps(source), **changes)
        for n, (source, changes) in sources.items()
    ]
    await put(database, threads, *rows)
    assert await candidates(database, threads) == [1, 2, 3, 4, 5, 7, 15]
    async with database.reading() as read:
        whole = await threads.all_enabled(read)
        counts = await threads.counts(read)
    assert [int(row.thread_id[-12:]) for row in whole] == [1, 2, 3, 4, 5, 7, 13, 15]
    assert (counts.total, counts.enabled, counts.imported, counts.archived) == (16, 14, 4, 1)
    assert (counts.disabled, counts.polluted) == (1, 1)


@pytest.mark.requirement("MW-8.1-scan")
async def test_what_is_extracted_takes_no_place_in_the_scan(
    database: Database, threads: ThreadStore, outputs: OutputStore
) -> None:
    """A scan of one finds the one thread that has something new."""
    old = NOW_MS - DAY_MS
    await put(database, threads, *(a_thread(n, updated_at_ms=old - n) for n in (1, 2)))
    async with database.writing() as tx:
        await outputs.put(tx, an_output(1, source_updated_at_ms=old - 1))
        await outputs.put(tx, an_output(2, source_updated_at_ms=old - 2, version="v2"))
    assert await candidates(database, threads, scan_max=1) == [2]
    async with database.writing() as tx:
        await threads.touch(tx, thread_id(1), updated_at_ms=old)
    assert await candidates(database, threads) == [1, 2]
