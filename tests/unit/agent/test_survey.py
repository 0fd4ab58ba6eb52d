"""What is found on the machine before a command starts: repositories inside writable folders."""

from pathlib import Path, PurePosixPath

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
    """A link cannot lead the look astray, and a repository is protected as a whole."""
    root = _tree(tmp_path / "root", ".git/modules/x/.git", "real/.git")
    outside = _tree(tmp_path / "outside", ".git")
    (root / "link").symlink_to(outside)
    (root / "real" / ".codex").symlink_to(outside)
    (root / "loop").symlink_to(root)
    assert _protected(root) == {".git", "real/.git"}


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
