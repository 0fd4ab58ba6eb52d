"""The lock of the owner."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from state.errors import HomeUnusable
from state.home import Home
from state.owner import OwnerLock
from tests.support.source import ROOT

_HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from state.home import Home
from state.owner import OwnerLock
print(OwnerLock(Home(Path(sys.argv[2]))).try_acquire(), flush=True)
sys.stdin.read()
"""


@pytest.mark.requirement("P10")
def test_a_home_has_one_owner_at_a_time(tmp_path: Path) -> None:
    """The second finds it taken, and gets it once it is free."""
    first, second = OwnerLock(Home(tmp_path)), OwnerLock(Home(tmp_path))
    assert first.try_acquire() and first.try_acquire()
    assert not second.try_acquire()
    assert not second.held
    assert second.owner_pid() is not None
    first.release()
    first.release()
    assert second.owner_pid() is None
    assert second.try_acquire()
    second.release()
    assert stat.S_IMODE(Home(tmp_path).owner_lock.stat().st_mode) == 0o600


@pytest.mark.requirement("P10")
def test_the_lock_falls_with_a_process_that_is_killed(tmp_path: Path) -> None:
    """However it ends, and though its file stays."""
    lock = OwnerLock(Home(tmp_path))
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(ROOT), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout and holder.stdout.readline() == b"True\n"
        assert not lock.try_acquire()
        assert lock.owner_pid() == holder.pid
        holder.kill()
        holder.wait(5)
    assert lock.try_acquire()
    lock.release()


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    """It could point at a file of somebody else."""
    home = Home(tmp_path)
    home.run.mkdir()
    home.owner_lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HomeUnusable):
        OwnerLock(home).try_acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_who_finds_a_home_owned_reads_where_its_owner_listens(tmp_path: Path) -> None:
    """Until the owner is gone."""
    first, second = OwnerLock(Home(tmp_path)), OwnerLock(Home(tmp_path))
    assert first.try_acquire()
    first.announce("ws://127.0.0.1:4500")
    first.announce("unix:///a b")
    assert second.owner_pid() == os.getpid()
    assert second.addresses() == ("ws://127.0.0.1:4500", "unix:///a b")
    first.release()
    assert (second.owner_pid(), second.addresses()) == (None, ())
