"""Lists, candidates, claims and the selection are driven by an index at any size.

Work is counted in steps of the database engine, not in time.
"""

import itertools
import sqlite3
from pathlib import Path
from typing import get_args

import pytest

from state.database import Database, Value
from state.named_queries import Queries, Query
from state.stores.refusals import LEASE_MAX_MS, RETRY_MAX_MS
from state.stores.threads import PAGE_QUERIES, SortKey
from tests.support.many_threads import many_threads

THREADS = 12_000
STEPS = 100


@pytest.fixture
async def filled(database: Database) -> Path:
    """Twelve thousand threads and as many outputs and jobs, one in ten of another project."""
    many_threads(database.path, THREADS)
    return database.path


def steps_of(path: Path, query: Query, parameters: dict[str, Value]) -> tuple[int, int]:
    """How many hundred steps of the engine a statement took, and how many rows it gave."""
    connection = sqlite3.connect(path)
    steps = itertools.count()
    connection.execute("select 1 from threads limit 0")  # the schema is read before it counts
    connection.set_progress_handler(lambda: next(steps) and 0, STEPS)
    rows = connection.execute(query.sql, parameters).fetchall()
    connection.close()
    return next(steps), len(rows)


PAGE: dict[str, Value] = {
    "archived": 0,
    "at_ms": 2**63 - 1,
    "id": "~",
    "kinds": None,
    "root": 1,
    "providers": None,
    "within": None,
    "without": None,
    "term": None,
    "limit": 101,
}


@pytest.mark.requirement("FR-T19")
@pytest.mark.parametrize("sort", get_args(SortKey))
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("cwd", [None, "/rare", "/p3"])
def test_a_page_of_threads_costs_the_same_wherever_it_stands(
    filled: Path, sort: SortKey, descending: bool, cwd: str | None
) -> None:
    """Neither a scan nor a sort, at the start and in the middle of 12,000."""
    query = PAGE_QUERIES[sort, descending, cwd is not None]
    start = 2**63 - 1 if descending else -1
    costs = []
    for at_ms in (start, THREADS // 2):
        parameters = PAGE | {"at_ms": at_ms, "cwd": cwd}
        steps, rows = steps_of(filled, query, parameters)
        assert rows > 0
        costs.append(steps)
    # About thirty steps for each of at most 101 rows; a scan would take over 2,000 hundreds.
    assert max(costs) < 120, costs
    plan = explained(filled, query, PAGE | {"cwd": cwd})
    assert "TEMP B-TREE" not in plan, plan
    assert "USING INDEX threads_by_" in plan, plan


def explained(path: Path, query: Query, parameters: dict[str, Value]) -> str:
    """The plan of a statement."""
    connection = sqlite3.connect(path)
    rows = connection.execute(f"explain query plan {query.sql}", parameters).fetchall()
    connection.close()
    return "\n".join(row[-1] for row in rows)


@pytest.mark.requirement("FR-T19")
def test_candidates_are_found_without_a_scan_of_all_threads(filled: Path) -> None:
    """The partial index of what may be learned gives them in their order."""
    parameters: dict[str, Value] = {
        "from_ms": THREADS - 500,
        "until_ms": THREADS,
        "ahead_ms": 2 * THREADS,
        "exclude": "[]",
        "version": None,
        "limit": 100,
    }
    steps, rows = steps_of(filled, Queries("threads")["idle_candidates"], parameters)
    assert (rows, steps < 100) == (100, True), steps


def test_a_claim_looks_at_its_own_job_and_the_running_ones(filled: Path) -> None:
    """Not at the thousands that are done."""
    parameters: dict[str, Value] = {
        "version": "v1",
        "kind": "extraction",
        "key": "0194f5a6-89ab-7cde-8123-000000000001",
        "now_ms": 0,
        "lease_max_ms": LEASE_MAX_MS,
        "retry_max_ms": RETRY_MAX_MS,
    }
    steps, rows = steps_of(filled, Queries("jobs")["look"], parameters)
    assert (rows, steps < 3) == (1, True), steps


def test_the_list_of_jobs_stops_at_its_limit(filled: Path) -> None:
    """The newest come from the end of an index."""
    steps, rows = steps_of(filled, Queries("jobs")["list"], {"version": "v1", "limit": 50})
    assert (rows, steps < 40) == (50, True), steps


def test_the_selection_stops_at_its_limit(filled: Path) -> None:
    """Ranked by an index, the texts read only of what is taken."""
    parameters: dict[str, Value] = {
        "version": "v1",
        "blanks": " \n",
        "cutoff_ms": None,
        "limit": 256,
    }
    query = Queries("outputs")["select"]
    steps, rows = steps_of(filled, query, parameters)
    assert (rows, steps < 400) == (256, True), steps
    assert "outputs_by_rank" in explained(filled, query, parameters)


def test_a_search_that_finds_nothing_reads_each_thread_once(filled: Path) -> None:
    """The worst case of a search is one pass over the index of the list."""
    query = PAGE_QUERIES["created_at", True, False]
    steps, rows = steps_of(filled, query, PAGE | {"term": "nowhere"})
    assert rows == 0
    assert steps < THREADS * 40 // STEPS


@pytest.mark.requirement("FR-T19")
@pytest.mark.parametrize("name", ["due", "next_at", "consolidation_due"])
def test_what_may_go_on_is_found_among_jobs_that_are_not_done(filled: Path, name: str) -> None:
    """However many are done: an idle server asks again and again."""
    parameters: dict[str, Value] = {
        "version": "v1",
        "now_ms": THREADS,
        "exclude": "[]",
        "limit": 100,
        "lease_max_ms": LEASE_MAX_MS,
        "retry_max_ms": RETRY_MAX_MS,
        "idle_ms": 1,
        "cooldown_ms": 1,
    }
    steps, _ = steps_of(filled, Queries("backlog")[name], parameters)
    assert steps < 3, steps


@pytest.mark.requirement("FR-T19")
def test_whether_anything_was_selected_is_seen_without_a_count(filled: Path) -> None:
    """The answer is one row or none, from an index of the selected."""
    steps, rows = steps_of(filled, Queries("outputs")["has_selected"], {"version": "v1"})
    assert (rows, steps < 3) == (0, True), steps
