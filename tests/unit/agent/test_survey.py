"""What is found on the machine before a command starts: repositories inside writable folders."""

import os
from pathlib import Path, PurePosixPath

import pytest

from server.agent.checkout import Checkout, read_checkout
from server.agent.sandbox.confine import open_plain
from server.agent.sandbox.limits import SurveyLimits
from server.agent.sandbox.policy import Reach
from server.agent.sandbox.survey import survey


def _protected(root: Path, **bounds: int) -> set[str]:
    """Paths below the root."""
    place = PurePosixPath(root)
    reach = Reach(cwd=place, writable=(place,), searched=(place,))
    found = survey(reach, SurveyLimits(**bounds)).protected
    return {str(Path(one).relative_to(root)) for one in found}


def _tree(root: Path, *folders: str) -> Path:
    for one in folders:
        (root / one).mkdir(parents=True)
    return root.resolve()


def test_repositories_and_settings_are_found_at_every_depth(tmp_path: Path) -> None:
    """Also files of worktrees with what they point to, and nothing of other names."""
    root = _tree(tmp_path, ".git", "a/b/c/.git", "a/.codex/x", "d/.agents", "e/.memoryd", "f/git")
    (root / "d" / ".git").write_text("gitdir: ../a/b/c/.git\n")
    assert _protected(root) == {
        ".git", "a/b/c/.git", "a/.codex", "d/.agents", "e/.memoryd", "d/.git",
    }  # fmt: skip


def test_nothing_is_looked_for_inside_what_was_found_or_behind_links(tmp_path: Path) -> None:
    """A link cannot lead the look astray, and a repository is protected as a whole.

    What is around a link of such a name is kept with it, since nothing can hold a link.
    """
    root = _tree(tmp_path / "root", ".git/modules/x/.git", "real/.git")
    outside = _tree(tmp_path / "outside", ".git")
    (root / "link").symlink_to(outside)
    (root / "real" / ".codex").symlink_to(outside)
    (root / "loop").symlink_to(root)
    assert _protected(root) == {".git", "real/.git", "real"}


def test_the_look_ends_at_its_bounds_with_the_nearest(tmp_path: Path) -> None:
    """Folders, depth and what is found are counted."""
    deep = "x/" * 10
    root = _tree(tmp_path, ".git", *(f"m{n}/.git" for n in range(9)), f"{deep}.git")
    assert _protected(root, depth_max=1) == {".git"}
    assert f"{deep}.git" not in _protected(root)
    assert f"{deep}.git" in _protected(root, depth_max=12)
    assert len(_protected(root, found_max=4)) == 4
    assert _protected(root, folders_max=1) == {".git"}
    assert len(_protected(root, entries_max=11)) <= 2


def test_a_repository_of_a_worktree_is_found_with_its_hooks(tmp_path: Path) -> None:
    """Whatever the folder is called that it lies in."""
    root = _tree(tmp_path, "store/hooks", "store/worktrees/far", "far")
    (root / "far" / ".git").write_text("gitdir: ../store/worktrees/far\n")
    assert "store" not in _protected(root)
    (root / "store" / "worktrees" / "far" / "commondir").write_text("../..\n")
    assert _protected(root) == {"far/.git", "store/worktrees/far", "store"}


def test_what_a_project_calls_its_repository_opens_no_place(tmp_path: Path) -> None:
    """Neither a hidden one nor one outside: to protect is to bind, and a binding shows."""
    root = _tree(tmp_path / "root", "a", "b", "c", "keys")
    hidden = _tree(tmp_path / "hidden", "inner")
    (root / "a" / ".git").write_text(f"gitdir: {hidden}/inner\n")
    (root / "b" / ".git").symlink_to(hidden / "inner")
    (root / "c" / ".git").write_text("gitdir: /proc\n")
    (root / "keys" / ".git").write_text("gitdir: ../keys\n")
    place = PurePosixPath(root)
    reach = Reach(
        cwd=place,
        writable=(place,),
        searched=(place,),
        hidden=(PurePosixPath(hidden), place / "keys"),
    )
    found = set(survey(reach, SurveyLimits()).protected)
    assert found == {f"{root}/{one}" for one in ("a/.git", "c/.git", "b")}


def test_what_stands_around_a_link_may_be_written_piece_by_piece(tmp_path: Path) -> None:
    """The folder itself may not change, or the link could be replaced."""
    root = _tree(tmp_path / "root", "sub", ".codex")
    (root / ".git").symlink_to(_tree(tmp_path / "elsewhere"))
    (root / "code.py").write_text("")
    (root / "link").symlink_to("/etc")
    place = PurePosixPath(root)
    ground = survey(Reach(cwd=place, writable=(place,), searched=(place,)), SurveyLimits())
    assert str(root) in ground.protected
    assert set(ground.writable) == {str(root), f"{root}/sub", f"{root}/code.py"}


def test_a_folder_that_is_a_link_by_now_is_not_looked_at(tmp_path: Path) -> None:
    """Its real path was taken a moment before, and where it leads now nobody asked for."""
    root = _tree(tmp_path / "root", "sub")
    root.rename(tmp_path / "moved")
    root.symlink_to(_tree(tmp_path / "elsewhere", "sub"))
    place = PurePosixPath(root)
    with pytest.raises(OSError, match="became a link"):
        survey(Reach(cwd=place, writable=(place,), searched=(place,)), SurveyLimits())


def test_a_pipe_in_the_place_of_a_pointer_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes to it, and a command may lay it there at any moment."""
    root = _tree(tmp_path, "a", "b", "store/worktrees/b")
    os.mkfifo(root / "a" / ".git")
    (root / "b" / ".git").write_text("gitdir: ../store/worktrees/b\n")
    os.mkfifo(root / "store" / "worktrees" / "b" / "commondir")
    assert _protected(root) == {"a/.git", "b/.git", "store/worktrees/b"}
    assert read_checkout(str(root / "a")) == Checkout()
    assert read_checkout(str(root / "b")) == Checkout()


def test_a_place_is_opened_as_it_is_and_through_no_link(tmp_path: Path) -> None:
    """Neither at its end nor on the way."""
    root = _tree(tmp_path, "a/b")
    (root / "file").write_text("x")
    (root / "link").symlink_to(root / "a")
    for path in (root, root / "a" / "b", root / "file", Path("/")):
        descriptor = open_plain(str(path), os.O_PATH)
        assert os.readlink(f"/proc/self/fd/{descriptor}") == str(path)
        os.close(descriptor)
    for path in (root / "link", root / "link" / "b"):
        with pytest.raises(OSError, match="became a link"):
            open_plain(str(path), os.O_PATH)
    with pytest.raises(FileNotFoundError):
        open_plain(str(root / "missing"), os.O_PATH)
