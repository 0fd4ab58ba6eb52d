"""A home is its owner's alone, whatever the umask and whatever stood there before."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from state.errors import HomeUnusable
from state.home import (
    SHARING_PAUSES_S,
    Home,
    make_private_folder,
    open_private,
    patiently,
    write_private,
)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("FR-F22")
def test_folders_are_0700_and_files_0600(tmp_path: Path, open_umask: None) -> None:
    """Missing parents included; a folder that was open to others is narrowed."""
    home = Home(tmp_path / "a" / "b")
    home.prepare()
    home.sessions.chmod(0o755)
    key = home.access_key.read_bytes()
    home.prepare()
    for path in (home.root.parent, home.root, *home.root.rglob("*")):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert home.access_key.read_bytes() == key
    assert len(key.strip()) >= 32


def test_two_homes_have_two_secrets(tmp_path: Path) -> None:
    """Each installation makes its own."""
    homes = [Home(tmp_path / name) for name in "ab"]
    for home in homes:
        home.prepare()
    assert homes[0].access_key.read_bytes() != homes[1].access_key.read_bytes()


def test_a_link_or_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    """By its name; what the link points to is left alone."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(outside)
    file.touch()
    for place in (link, file):
        with pytest.raises(HomeUnusable, match=place.name):
            make_private_folder(place)
    assert mode(outside) == 0o755


def test_a_replaced_file_is_whole_private_and_leaves_no_scrap(
    tmp_path: Path, open_umask: None
) -> None:
    """A replacement that fails leaves the old one."""
    target = tmp_path / "file"
    target.write_text("old")
    write_private(target, b"new")
    assert (target.read_bytes(), mode(target)) == (b"new", 0o600)
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_private(folder, b"never")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_behind_a_link_is_not_opened(tmp_path: Path) -> None:
    """Neither made nor written."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="link"):
        open_private(link, os.O_WRONLY | os.O_CREAT)
    assert not (tmp_path / "target").exists()


@pytest.mark.requirement("FR-S16")
def test_a_file_that_another_program_holds_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """Five refusals are none; a lasting one is told."""
    refusals = len(SHARING_PAUSES_S)
    left = [refusals]

    def step() -> None:
        if left[0]:
            left[0] -= 1
            raise PermissionError(errno.EACCES, "held by a scanner")
        (tmp_path / "done").touch()

    patiently(step)
    assert refusals == 5 and (tmp_path / "done").exists()
    left[0] = refusals + 1
    with pytest.raises(PermissionError):
        patiently(step)
