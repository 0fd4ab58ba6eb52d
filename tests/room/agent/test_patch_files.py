"""Patches on real files: all or nothing, confined, modes and line ends kept, git agrees."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from server.agent.tools import patch_files
from server.agent.tools.patch import PatchRefused, read_patch
from server.agent.tools.patch_files import carry_out, plan
from server.agent.tools.stage import FileChanged
from server.agent.turn_diff import TurnDiff


def _patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def _do(folder: Path, *lines: str) -> None:
    carry_out(plan(read_patch(_patch(*lines)), str(folder)))


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_files_are_added_changed_moved_and_deleted_with_their_modes(tmp_path: Path) -> None:
    """Folders are made as needed; a script stays a script."""
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho a\n")
    (tmp_path / "run.sh").chmod(0o750)
    (tmp_path / "gone").write_text("x")
    _do(
        tmp_path,
        "*** Add File: deep/er/new.txt",
        "+hello",
        "*** Delete File: gone",
        "*** Update File: run.sh",
        "*** Move to: bin/go.sh",
        "-echo a",
        "+echo b",
    )
    assert _tree(tmp_path) == {
        "bin/go.sh": b"#!/bin/sh\necho b\n",
        "deep/er/new.txt": b"hello\n",
    }
    assert (tmp_path / "bin" / "go.sh").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    "path", ["../out", "a/../../out", "", "sub/", "bad\0name", "/etc/../etc/x"]
)
def test_hostile_paths_are_refused(path: str, tmp_path: Path) -> None:
    """Before anything is read."""
    with pytest.raises(PatchRefused):
        _do(tmp_path, f"*** Add File: {path}", "+x")
    assert _tree(tmp_path) == {}


def test_a_link_leads_where_it_leads_and_that_is_what_is_judged(tmp_path: Path) -> None:
    """The plan names the real file, so that it is outside for whoever decides."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "f").write_text("a\n")
    (project / "link").symlink_to(outside)
    (project / "file").symlink_to(outside / "f")
    for name in ("link/f", "file"):
        [change] = plan(read_patch(_patch(f"*** Update File: {name}", "-a", "+b")), str(project))
        assert change.path == str(outside / "f")


def test_a_folder_that_became_a_link_after_the_plan_is_not_followed(tmp_path: Path) -> None:
    """What was judged is what is changed, or nothing is."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "sub").mkdir(parents=True)
    outside.mkdir()
    changes = plan(read_patch(_patch("*** Add File: sub/f", "+x")), str(project))
    (project / "sub").rmdir()
    (project / "sub").symlink_to(outside)
    with pytest.raises(OSError):
        carry_out(changes)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "fifo", "binary", "latin", "large"])
def test_what_is_no_text_file_is_refused_by_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never waited for."""
    file = tmp_path / "f"
    monkeypatch.setattr(patch_files, "FILE_BYTES_MAX", 1_000)
    match kind:
        case "folder":
            file.mkdir()
        case "fifo":
            os.mkfifo(file)
        case "binary":
            file.write_bytes(b"a\n\0\n")
        case "latin":
            file.write_bytes(b"a\n\xff\n")
        case _:
            file.write_bytes(b"a\n" * 1_000)
    with pytest.raises(PatchRefused, match="f "):
        _do(tmp_path, "*** Update File: f", "-a", "+b")


def test_a_file_that_changed_after_the_plan_stops_all_of_it(tmp_path: Path) -> None:
    """A person may have saved it while they were asked."""
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "two").write_text("a\n")
    lines = ("*** Update File: one", "-a", "+b", "*** Update File: two", "-a", "+b")
    changes = plan(read_patch(_patch(*lines)), str(tmp_path))
    (tmp_path / "two").write_text("meanwhile\n")
    with pytest.raises(PatchRefused, match="changed meanwhile"):
        carry_out(changes)
    assert _tree(tmp_path) == {"one": b"a\n", "two": b"meanwhile\n"}


@pytest.mark.parametrize("fails_at", range(4))
def test_a_failure_in_the_middle_leaves_everything_as_it_was(
    fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever step it is: no new file, no lost one, no folder, no left-over."""
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "two").write_text("a\n")
    (tmp_path / "three").write_text("a\n")
    before = _tree(tmp_path)
    changes = plan(
        read_patch(
            _patch(
                "*** Add File: new/f",
                "+x",
                "*** Update File: one",
                "-a",
                "+b",
                "*** Delete File: two",
                "*** Update File: three",
                "*** Move to: moved",
                "-a",
                "+b",
            )
        ),
        str(tmp_path),
    )
    count = 0
    rename, unlink = os.rename, os.unlink

    def step(real: object) -> object:
        def act(*args: object, **kwargs: object) -> None:
            nonlocal count
            count += 1
            if count == fails_at + 1:
                raise OSError(28, "No space left on device")
            real(*args, **kwargs)  # type: ignore[operator]

        return act

    monkeypatch.setattr(os, "rename", step(rename))
    monkeypatch.setattr(os, "unlink", step(unlink))
    with pytest.raises(OSError, match="No space"):
        carry_out(changes)
    monkeypatch.undo()
    assert _tree(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_file_named_twice_is_refused(tmp_path: Path) -> None:
    """Also by two spellings of its path."""
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(PatchRefused, match="twice"):
        _do(tmp_path, "*** Update File: f", "-a", "+b", "*** Delete File: ./f")


@pytest.mark.parametrize("seed", range(12))
def test_git_applies_the_difference_of_a_turn(seed: int, tmp_path: Path) -> None:
    """Over several changes of the same files, with files that come, go and move."""
    rng = random.Random(seed)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        for number in range(4):
            text = "".join(f"{number} line {n}\n" for n in range(number * 8 + 1))
            (folder / f"f{number}").write_text(text[:-1] if number == 3 else text)
    diff = TurnDiff()
    for step in range(6):
        files = sorted(path for path in ours.rglob("*") if path.is_file())
        diff.add([_changed_somehow(rng, files, ours / f"n{step}")])
    text = diff.text(str(ours))
    subprocess.run(["git", "init", "-q"], cwd=theirs, check=True)
    if text:
        ran = subprocess.run(
            ["git", "apply", "-"], cwd=theirs, input=text.encode(), capture_output=True
        )
        assert ran.returncode == 0, f"{ran.stderr.decode()}\n{text}"
    assert {k: v for k, v in _tree(theirs).items() if not k.startswith(".git/")} == _tree(ours)


def _changed_somehow(rng: random.Random, files: list[Path], new: Path) -> FileChanged:
    path = rng.choice(files)
    before = path.read_bytes()
    match rng.choice(("add", "delete", "update", "update", "move")):
        case "delete" if len(files) > 1:
            path.unlink()
            return FileChanged(path=str(path), before=before, after=None)
        case "move":
            after = before + b"moved\n" if before.endswith(b"\n") else before
            path.unlink()
            new.write_bytes(after)
            return FileChanged(path=str(new), before=before, after=after, moved_from=str(path))
        case "update":
            lines = before.decode().splitlines(keepends=True)
            lines.insert(rng.randint(0, len(lines) - 1) if lines else 0, f"{rng.random()}\n")
            path.write_bytes("".join(lines).encode())
            return FileChanged(path=str(path), before=before, after=path.read_bytes())
        case _:
            new.write_bytes(b"brand new\n")
            return FileChanged(path=str(new), before=None, after=b"brand new\n")
