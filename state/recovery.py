"""Opens what lasts of a home, and frees what a dead owner left behind.

The one place where a broken database would be set aside and rebuilt from the rollouts; today a
broken one is refused by name and left as it is.
"""

from dataclasses import dataclass

from state.clock import Clock
from state.database import Database
from state.home import Home
from state.migrations import migrate
from state.stores.editions import EditionStore
from state.stores.jobs import JobStore
from state.stores.outputs import OutputStore
from state.stores.spending import SpendingStore
from state.stores.threads import ThreadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The open database of a home with its stores."""

    home: Home
    database: Database
    clock: Clock
    threads: ThreadStore
    jobs: JobStore
    outputs: OutputStore
    editions: EditionStore
    spending: SpendingStore

    async def close(self) -> None:
        """Close the database; waits for what is under way."""
        await self.database.close()


async def open_state(home: Home, clock: Clock, owner: str) -> State:
    """Prepare the home, open and migrate its database, free the jobs of other owners.

    Raises: HomeUnusable, DatabaseUnusable, DatabaseTooNew, DatabaseBusy, MigrationChanged.
    """
    home.prepare()
    database = await Database.open(home.database)
    try:
        await migrate(database, clock)
        jobs = JobStore(clock, owner)
        async with database.writing() as tx:
            await jobs.release_dead(tx)
    except BaseException:
        await database.close()
        raise
    return State(
        home=home,
        database=database,
        clock=clock,
        threads=ThreadStore(),
        jobs=jobs,
        outputs=OutputStore(),
        editions=EditionStore(),
        spending=SpendingStore(),
    )
