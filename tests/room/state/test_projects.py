"""One project has one key, from wherever it is seen. Real git, driven as its users drive it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from state.projects import project_of

pytestmark = [
    pytest.mark.requirement("FR-R4"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def git(folder: Path, *arguments: str) -> None:
    """Run git without anybody's settings."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a folder in it."""
    root = tmp_path / "main"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "a.txt").write_text("a\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_folder_link_and_slash_lead_to_the_repository(repository: Path, tmp_path: Path) -> None:
    """Also from a folder that is not there any more."""
    link = tmp_path / "link"
    link.symlink_to(repository / "src")
    key = project_of(str(repository)).key
    for place in (
        f"{repository}/",
        f"{repository}/src/deep",
        f"{repository}/src/../src",
        f"{link}/deep",
        f"{repository}/gone/too",
    ):
        found = project_of(place)
        assert (found.key, found.root) == (key, repository), place


def test_a_worktree_belongs_to_its_repository(repository: Path, tmp_path: Path) -> None:
    """Wherever it lies; its own folder is still its root."""
    worktree = tmp_path / "elsewhere" / "tree"
    git(repository, "worktree", "add", "-q", str(worktree), "-b", "branch")
    found = project_of(str(worktree / "src"))
    assert (found.key, found.root) == (project_of(str(repository)).key, worktree)


def test_clones_of_one_remote_are_one_project(repository: Path, tmp_path: Path) -> None:
    """A clone of a folder follows it; spellings of one address are one address."""
    git(tmp_path, "clone", "-q", str(repository), "second")
    git(tmp_path, "clone", "-q", str(tmp_path / "second"), "third")
    local = project_of(str(repository)).key
    assert project_of(str(tmp_path / "second")).key == local
    assert project_of(str(tmp_path / "third")).key == local
    git(repository, "remote", "add", "origin", "git@Example.org:team/App.git")
    assert project_of(str(repository)).key == "git:example.org/team/App"
    assert project_of(str(tmp_path / "third")).key == "git:example.org/team/App"
    for address in (
        "https://example.org/team/App",
        "https://user:token@example.org:8443/team/App.git/",
        "ssh://git@example.org/team/App.git",
    ):
        git(repository, "remote", "set-url", "origin", address)
        assert project_of(str(repository)).key == "git:example.org/team/App", address


def test_bare_and_looping_remotes_end(repository: Path, tmp_path: Path) -> None:
    """A remote on this machine may be bare, gone, or lead back."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), "work")
    assert project_of(str(tmp_path / "work")).key == project_of(str(repository)).key
    git(repository, "remote", "add", "origin", str(tmp_path / "work"))
    git(tmp_path / "bare.git", "remote", "set-url", "origin", str(repository))
    assert project_of(str(repository)).key.startswith("path:")
    git(repository, "remote", "set-url", "origin", "/nowhere/at/all")
    assert project_of(str(repository)).key == f"path:{repository}"


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    """Even where it lies inside another repository."""
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "b").write_text("b")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "b")
    git(repository, "submodule", "add", "-q", str(inner), "vendored")
    assert project_of(str(repository / "vendored")).key == project_of(str(inner)).key
    assert project_of(str(repository / "vendored")).key != project_of(str(repository)).key


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    """An empty `.git` is no repository; a recorded address stands in for a folder that is gone."""
    plain = tmp_path / "plain"
    (plain / ".git").mkdir(parents=True)
    assert project_of(str(plain)).key == f"path:{plain}"
    (plain / ".git").rmdir()
    (plain / ".git").write_text("gitdir: /nowhere\n")
    assert project_of(str(plain)).key == f"path:{plain}"
    gone = str(tmp_path / "gone")
    recorded = project_of(gone, origin_url="https://example.org/team/app.git")
    assert recorded.key == "git:example.org/team/app"
    assert project_of(gone, origin_url="/a/path").key == f"path:{gone}"
