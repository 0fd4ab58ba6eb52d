"""What patches and images of a thread may touch: no more than its commands."""

import os
from pathlib import Path, PurePosixPath

import pytest

from server.agent.sandbox.policy import Places, policy_of
from server.agent.sandbox.roots import Roots
from server.agent.tools.kept_places import is_hidden, kept_of

WRITE = {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True}
FREE = {"type": "dangerFullAccess"}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's home with a project, a store that a worktree points to, and our home."""
    for folder in ("project/tree", "project/store/hooks", "project/store/worktrees/tree", ".ssh"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project/tree/.git").write_text("gitdir: ../store/worktrees/tree\n")
    (tmp_path / "project/store/worktrees/tree/commondir").write_text("../..\n")
    return Path(os.path.realpath(tmp_path))


def _places(user: Path) -> Places:
    home = PurePosixPath(user)
    return Places(home=home / ".memoryd", user_home=home)


@pytest.mark.parametrize(
    ("cwd", "path", "kept"),
    [
        ("project", "project/code.py", False),
        ("project", ".bashrc", True),
        (".", ".bashrc", True),
        (".", ".ssh/authorized_keys", True),
        (".", ".config/autostart/x", True),
        (".", "project/code.py", False),
        ("..", "project/code.py", True),
        ("project", "project/.git/config", True),
        ("project", "project/.GIT/config", True),
        ("project", "project/tree/.git", True),
        ("project", "project/store/hooks/pre-commit", True),
        ("project", "project/store/worktrees/tree/HEAD", True),
        ("project", "project/storeroom/x", False),
        (".memoryd", ".memoryd/config.toml", True),
    ],
)
def test_a_patch_may_write_what_a_command_may(user: Path, cwd: str, path: str, kept: bool) -> None:
    """Also with the user's own home, or a folder around it, as the folder of the thread."""
    wanted = str(user / path)
    found = kept_of([wanted], policy_of(WRITE), str(user / cwd), _places(user), Roots())
    assert found == ((wanted,) if kept else ())
    assert kept_of([wanted], policy_of(FREE), str(user / cwd), _places(user), Roots()) == ()


@pytest.mark.parametrize("named", ["cwd", "workspace", "root"])
def test_a_folder_that_leads_elsewhere_than_before_opens_nothing(user: Path, named: str) -> None:
    """Whichever way the thread came to it; where nothing is held back it may lead anywhere."""
    folder, other, roots = user / "project" / "inner", user / "other", Roots()
    folder.mkdir()
    other.mkdir()
    cwd = str(folder if named == "cwd" else user / "project")
    policy = policy_of(
        {**WRITE, "writableRoots": [str(folder)] if named == "root" else []},
        (str(folder),) if named == "workspace" else None,
    )
    wanted = str(folder / "code.py")
    assert kept_of([wanted], policy, cwd, _places(user), roots) == ()
    folder.rename(user / "project" / "moved")
    folder.symlink_to(other)
    wanted = str(other / "code.py")
    assert kept_of([wanted], policy, cwd, _places(user), roots) == (wanted,)
    assert kept_of([wanted], policy_of(FREE), cwd, _places(user), roots) == ()


def test_an_image_in_a_hidden_place_is_hidden(user: Path) -> None:
    """Unless the person chose full access."""
    places = _places(user)
    hidden = str(user / ".memoryd" / "images" / "a.png")
    for policy in (policy_of(WRITE), policy_of({"type": "readOnly"})):
        assert is_hidden(hidden, policy, str(user / "project"), places)
        assert is_hidden(str(user / ".ssh" / "a.png"), policy, str(user / "project"), places)
        assert not is_hidden(str(user / "project" / "a.png"), policy, str(user), places)
    assert not is_hidden(hidden, policy_of(FREE), str(user / "project"), places)
