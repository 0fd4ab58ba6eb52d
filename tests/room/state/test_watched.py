"""A folder that is watched: every change is seen at the next question, whoever made it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from state.errors import PathRefused
from state.workspace.inotify import Inotify
from state.workspace.passages import size_of
from state.workspace.watched import LOCAL_KINDS, Stamps, WatchedFolder


def _is_markdown(path: str) -> bool:
    return path.endswith(".md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file and one below."""
    root = tmp_path / "memories"
    (root / "recaps").mkdir(parents=True)
    (root / "MEMORY.md").write_text("one")
    (root / "recaps" / "a.md").write_text("two")
    (root / ".git").mkdir()
    return root


@pytest.fixture
def watched(folder: Path) -> Iterator[WatchedFolder]:
    """It, watched from here on; what needs the kernel is skipped where it does not tell."""
    opened = WatchedFolder(folder, _is_markdown)
    opened.adopt(opened.walk())
    if opened.current() is None:
        pytest.skip(f"changes are not told here: no Linux, or a file system beside {LOCAL_KINDS}")
    yield opened
    opened.close()


def _seen(watched: WatchedFolder) -> Stamps:
    """As a search would ask."""
    stamps = watched.current()
    return watched.adopt(watched.walk()) if stamps is None else stamps


def _in_place(folder: Path) -> None:
    with (folder / "MEMORY.md").open("r+") as file:
        file.write("ONE")


def _replaced(folder: Path) -> None:
    (folder / "recaps" / ".a.part").write_text("another")
    os.replace(folder / "recaps" / ".a.part", folder / "recaps" / "a.md")


def _exchanged(folder: Path) -> None:
    staged = folder.with_name("staged")
    (staged / "recaps").mkdir(parents=True)
    (staged / "MEMORY.md").write_text("published")
    folder.rename(folder.with_name("old"))
    staged.rename(folder)


CHANGES: list[tuple[Callable[[Path], object], dict[str, int]]] = [
    (_in_place, {"MEMORY.md": 3, "recaps/a.md": 3}),
    (_replaced, {"MEMORY.md": 3, "recaps/a.md": 7}),
    (_exchanged, {"MEMORY.md": 9}),
    (lambda folder: (folder / "recaps" / "a.md").unlink(), {"MEMORY.md": 3}),
    (
        lambda folder: (folder / "recaps").rename(folder / "older"),
        {"MEMORY.md": 3, "older/a.md": 3},
    ),
    (
        lambda folder: (folder / "recaps" / "a.md").rename(folder / "a.md"),
        {"MEMORY.md": 3, "a.md": 3},
    ),
    (lambda folder: os.truncate(folder / "MEMORY.md", 1), {"MEMORY.md": 1, "recaps/a.md": 3}),
    (
        lambda folder: (folder / "new.md").symlink_to(folder / "MEMORY.md"),
        {"MEMORY.md": 3, "recaps/a.md": 3},
    ),
]


@pytest.mark.parametrize(("change", "sizes"), CHANGES)
def test_every_kind_of_change_is_in_the_next_answer(
    watched: WatchedFolder, folder: Path, change: Callable[[Path], object], sizes: dict[str, int]
) -> None:
    """Also one that a walk between did not see."""
    before = dict(_seen(watched))
    change(folder)
    after = _seen(watched)
    assert {path: size_of(stamp) for path, stamp in after.items()} == sizes
    fresh = WatchedFolder(folder, _is_markdown)
    assert after == fresh.adopt(fresh.walk())
    fresh.close()
    assert after != before or (folder / "new.md").is_symlink()


def test_folders_made_later_are_watched_as_well(watched: WatchedFolder, folder: Path) -> None:
    """With what was put into them before anyone looked, and after."""
    (folder / "skills" / "deploy").mkdir(parents=True)
    (folder / "skills" / "deploy" / "SKILL.md").write_text("x")
    assert "skills/deploy/SKILL.md" in _seen(watched)
    (folder / "skills" / "deploy" / "more.md").write_text("y")
    assert watched.current() is not None
    assert "skills/deploy/more.md" in _seen(watched)


def test_where_nothing_changed_the_answer_is_the_same_object(
    watched: WatchedFolder, folder: Path
) -> None:
    """Nor does a change of what nobody searches make another one, or a walk that finds the same."""
    before = watched.current()
    (folder / "notes.txt").write_text("no memory")
    (folder / ".git" / "HEAD").write_text("x")
    assert watched.current() is before
    assert watched.adopt(watched.walk()) is before


def test_a_file_with_two_names_is_never_trusted_to_the_kernel(
    watched: WatchedFolder, folder: Path, tmp_path: Path
) -> None:
    """By its other name it changes without a word to this folder."""
    os.link(folder / "MEMORY.md", tmp_path / "elsewhere.md")
    watched.adopt(watched.walk())
    assert watched.current() is None
    (tmp_path / "elsewhere.md").write_text("longer than before")
    assert size_of(_seen(watched)["MEMORY.md"]) == 18


def test_more_changes_than_one_may_follow_are_walked(watched: WatchedFolder, folder: Path) -> None:
    """And none of them is lost."""
    for number in range(200):
        (folder / "recaps" / f"{number}.md").write_text("x")
    assert watched.current() is None
    assert len(_seen(watched)) == 202


def test_a_folder_that_is_a_link_is_refused_and_a_missing_one_is_empty(
    watched: WatchedFolder, folder: Path, tmp_path: Path
) -> None:
    """Also when it became so."""
    folder.rename(tmp_path / "moved")
    assert _seen(watched) == {}
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(PathRefused):
        _seen(watched)


def test_without_watches_every_question_is_a_walk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user has only so many of them."""

    def none_left(self: Inotify) -> None:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(Inotify, "__init__", none_left)
    watched = WatchedFolder(folder, _is_markdown)
    assert sorted(watched.adopt(watched.walk())) == ["MEMORY.md", "recaps/a.md"]
    assert watched.current() is None
