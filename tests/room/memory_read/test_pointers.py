"""Pointers against real workspaces: the right mark for each case, bounded, and never outside."""

import subprocess
from pathlib import Path

import pytest

from memory_read.checkout_search import PointerLimits
from memory_read.pointers import PointerCheck, check

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def git(folder: Path, *words: str) -> None:
    """Run git as a person would."""
    subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)


def write(folder: Path, **files: str) -> None:
    """Files by path, where two underscores are a slash."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a history: something was renamed, removed, and is on another branch."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, src__app_py="def load_settings(): ...\n", old__name_py="class OrderQueue: ...\n")
    write(folder, gone_py="x = 1\n", moved__util_py="y = 2\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "branch", "keeps-gone")
    git(folder, "checkout", "-qb", "feature/x")
    write(folder, src__feature_py="z = 3\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "feature")
    git(folder, "checkout", "-q", "main")
    (folder / "new").mkdir()
    git(folder, "mv", "old/name.py", "new/other.py")
    git(folder, "rm", "-q", "gone.py")
    git(folder, "commit", "-qm", "two")
    (folder / "there").mkdir()
    (folder / "moved" / "util.py").rename(folder / "there" / "util.py")
    return folder


def standings(found: PointerCheck) -> dict[str, tuple[str, str]]:
    """By pointer, its mark and what is known of it."""
    return {one.pointer.text: (one.standing, one.detail) for one in found.marks}


@pytest.mark.requirement("FR-C12")
def test_each_pointer_has_the_right_mark(project: Path) -> None:
    """Present, on another branch, renamed, removed, moved without a commit, never there."""
    text = (
        "`src/app.py:1` `src/` `src/feature.py` `old/name.py` `gone.py` `moved/util.py` "
        "`never/was.py` `load_settings()` `OrderQueue` `no_such_name()`"
    )
    assert standings(check(str(project), text)) == {
        "src/app.py": ("present", ""),
        "src/": ("present", ""),
        "src/feature.py": ("other_branch", "feature/x"),
        "old/name.py": ("renamed", "new/other.py"),
        "gone.py": ("removed", "feature/x"),
        "moved/util.py": ("renamed", "there/util.py"),
        "never/was.py": ("missing", ""),
        "load_settings()": ("present", ""),
        "OrderQueue": ("present", ""),
        "no_such_name()": ("missing", ""),
    }
    # From a folder below, and from a linked worktree, it is the same workspace.
    assert standings(check(str(project / "src"), "`src/app.py`")) == {"src/app.py": ("present", "")}
    git(project, "worktree", "add", "-q", "-b", "side", "../side")
    beside = standings(check(str(project.parent / "side"), "`src/feature.py` `src/app.py`"))
    assert beside["src/feature.py"] == ("other_branch", "feature/x")
    assert beside["src/app.py"] == ("present", "")


@pytest.mark.requirement("FR-C12")
def test_packed_objects_and_branches_are_read_as_well(project: Path) -> None:
    """After git has tidied up."""
    git(project, "gc", "-q")
    found = standings(check(str(project), "`src/feature.py` `old/name.py`"))
    assert found["src/feature.py"] == ("other_branch", "feature/x")
    assert found["old/name.py"] == ("renamed", "new/other.py")


@pytest.mark.requirement("FR-C12")
def test_a_folder_without_git_knows_only_what_is_there(tmp_path: Path) -> None:
    """What is not may have been moved, and is not called missing for good."""
    write(tmp_path, a_py="def read_all(): ...\n", deep__b_py="")
    assert standings(check(str(tmp_path), "`a.py` `x/b.py` `y/c.py` `read_all()`")) == {
        "a.py": ("present", ""),
        "x/b.py": ("renamed", "deep/b.py"),
        "y/c.py": ("unversioned", ""),
        "read_all()": ("present", ""),
    }
    assert check(str(tmp_path / "no folder"), "`a.py`").marks == ()


def test_a_broken_repository_is_no_error(project: Path) -> None:
    """Objects that cannot be read, a HEAD that leads nowhere."""
    for objects in (project / ".git" / "objects").glob("??"):
        for file in objects.iterdir():
            file.chmod(0o600)
            file.write_bytes(b"no object")
    assert standings(check(str(project), "`never.py` `src/app.py`"))["src/app.py"][0] == "present"
    (project / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    assert standings(check(str(project), "`never.py`")) == {"never.py": ("unversioned", "")}


@pytest.mark.requirement("FR-C12")
def test_nothing_outside_the_workspace_is_looked_at(project: Path, tmp_path: Path) -> None:
    """Neither above it, nor by an absolute path, nor over a link."""
    (tmp_path / "secret.py").write_text("def outside_name(): ...\n")
    (project / "link").symlink_to(tmp_path)
    (project / "alias.py").symlink_to(tmp_path / "secret.py")
    text = f"`../secret.py` `{tmp_path}/secret.py` `link/secret.py` `~/x.py` `outside_name()`"
    found = standings(check(str(project), text))
    assert found == {
        "link/secret.py": ("unchecked", ""),
        "outside_name()": ("missing", ""),
    }
    inside = standings(check(str(project), f"`{project}/src/app.py` `alias.py`"))
    assert inside[f"{project}/src/app.py"] == ("present", "")


def test_other_projects_pointers_are_not_looked_for(project: Path) -> None:
    """They would all be missing here, and say nothing."""
    text = "- `a.py` (in essays)\n- `b.py` (in shop)\n\n### /somewhere/else\n- `c.py`"
    assert list(standings(check(str(project), text))) == ["b.py"]


@pytest.mark.requirement("FR-C12")
def test_two_hundred_pointers_take_a_bounded_number_of_looks(project: Path) -> None:
    """However many folders and commits there are; beyond a bound nothing is called missing."""
    for number in range(120):
        write(project, **{f"many__d{number}__f{number}_py": f"def name_{number}(): ...\n"})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "many")
    for number in range(10):
        git(project, "commit", "-q", "--allow-empty", "-m", str(number))
    names = [f"`many/d{n}/f{n}.py`" for n in range(60)] + [f"`lost/x{n}.py`" for n in range(60)]
    symbols = [f"`name_{n}()`" for n in range(60)] + [f"`lost_{n}()`" for n in range(20)]
    text = "\n".join([*names, *symbols])
    found = check(str(project), text)
    counted = [one.standing for one in found.marks]
    assert (counted.count("present"), counted.count("missing")) == (120, 80)
    assert found.looks < 1_200
    tight = PointerLimits(walk_entries_max=5, object_reads_max=2, text_bytes_max=10)
    bounded = check(str(project), text, limits=tight)
    assert bounded.looks < 600
    assert "missing" not in {one.standing for one in bounded.marks if one.pointer.kind == "symbol"}
    assert "missing" not in {one.standing for one in bounded.marks}


def test_a_look_changes_nothing(project: Path) -> None:
    """No file of the workspace, nor of its git."""

    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in project.rglob("*")
        }

    before = state()
    check(str(project), "`src/app.py` `gone.py` `no_such()`")
    assert state() == before
