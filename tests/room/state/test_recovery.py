"""Opening a home: private, migrated, and free of what a dead owner held."""

import random
import stat
from pathlib import Path

import pytest

from state.errors import DatabaseUnusable
from state.home import Home
from state.recovery import open_state
from state.stores.jobs import Claimed
from tests.support.clock import ManualClock
from tests.support.rows import thread_id


async def test_a_new_home_opens_private_and_empty(tmp_path: Path, clock: ManualClock) -> None:
    """Folders 0700, files 0600; a second start finds the same home."""
    home = Home(tmp_path / "home")
    for _ in range(2):
        state = await open_state(home, clock, "owner")
        async with state.database.reading() as read:
            assert (await state.threads.counts(read)).total == 0
        await state.close()
    for path in (home.root, *home.root.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.requirement("FR-S12")
async def test_a_start_frees_the_jobs_of_the_owner_before(
    tmp_path: Path, clock: ManualClock
) -> None:
    """The lease need not end first: the home has one owner, and it is a new one."""
    home = Home(tmp_path / "home")
    for owner in ("first", "second"):
        state = await open_state(home, clock, owner)
        async with state.database.writing() as tx:
            found = await state.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=thread_id(1),
                watermark_ms=1,
                lease_s=90,
                running_max=1,
            )
        assert isinstance(found, Claimed)
        await state.close()


@pytest.mark.requirement("FR-S5")
async def test_a_broken_database_is_named_and_kept(tmp_path: Path, clock: ManualClock) -> None:
    """Nothing of the file is lost to a start that cannot use it."""
    home = Home(tmp_path / "home")
    home.prepare()
    noise = random.Random(2).randbytes(4_096)
    home.database.write_bytes(noise)
    with pytest.raises(DatabaseUnusable, match=r"state\.sqlite"):
        await open_state(home, clock, "owner")
    assert home.database.read_bytes() == noise
