"""The baseline in real git objects, and the staged copy with its swap."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from state.errors import WorkspaceUnsafe
from state.home import Home
from state.workspace import trees
from state.workspace.diff import Change
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot, take_snapshot
from state.workspace.staging import Staging, clear_staging, edited_since, new_notes
from state.workspace.trees import ensure_real_folder, exchange, remove_tree
from tests.support.consolidation import git, needs_git, open_modes
from tests.support.life_of_memory import quick_folder
from tests.support.source import ROOT

NOTES = "extensions/ad_hoc/notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "memories"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("a\n")
    (root / "sub" / "b.md").write_text("b\n")
    (root / ".gitignore").write_text("*\n")
    return root


def _taken(root: Path) -> Snapshot:
    return take_snapshot(root, files_max=1_000, bytes_max=1_000_000)


def _commit(root: Path, at_s: int = 1_000) -> str:
    return Baseline(root).fresh_commit(_taken(root), "Memory published", at_s)


@pytest.mark.requirement("MW-8.3-baseline")
@needs_git
def test_a_fresh_commit_is_the_only_one_and_the_folder_is_clean(folder: Path) -> None:
    _commit(folder)
    (folder / "a.md").write_text("changed\n")
    second = _commit(folder, 2_000)
    assert git(folder, "log", "--format=%H %an %at %P").strip() == f"{second} memoryd 2000"
    assert git(folder, "status", "--porcelain", "--ignored") == ""
    assert git(folder, "count-objects").startswith("6 objects"), "no old object survives"
    assert not (folder / ".git" / "logs").exists()
    assert git(folder, "config", "core.bare").strip() == "false"


def test_the_diff_sees_what_ignore_rules_hide(folder: Path) -> None:
    _commit(folder)
    (folder / "sub" / "b.md").unlink()
    (folder / "a.md").write_text("changed\n")
    (folder / "new.md").write_text("new\n")
    diff = Baseline(folder).diff(_taken(folder), bytes_max=10_000)
    assert diff.changes == (Change("M", "a.md"), Change("A", "new.md"), Change("D", "sub/b.md"))
    assert "-a\n+changed\n" in diff.text
    assert "-b\n" in diff.text


@pytest.mark.requirement("MW-8.3-baseline")
def test_an_executable_bit_is_a_change(folder: Path) -> None:
    _commit(folder)
    (folder / "a.md").chmod(0o700)
    assert Baseline(folder).changes(_taken(folder)) == (Change("M", "a.md"),)


@pytest.mark.requirement("FR-S15", "MW-8.3-git-recovers")
@pytest.mark.parametrize(
    "damage",
    ["absent", "empty", "file", "link", "unborn", "no objects", "garbage head", "half a tree"],
)
def test_an_unusable_baseline_is_made_anew_and_everything_counts_as_new(
    folder: Path, tmp_path: Path, damage: str
) -> None:
    _commit(folder)
    _damage(folder / ".git", tmp_path, damage)
    ensure_real_folder(folder)
    baseline = Baseline(folder)
    assert not baseline.usable()
    assert baseline.head_commit() is None
    with pytest.raises(WorkspaceUnsafe):
        baseline.diff(_taken(folder), bytes_max=10)
    assert baseline.ensure(5_000)
    assert not baseline.ensure(6_000)
    assert {change.kind for change in baseline.changes(_taken(folder))} == {"A"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".git.")]


def _damage(place: Path, tmp_path: Path, damage: str) -> None:
    if damage in ("absent", "empty", "file", "link"):
        place.rename(tmp_path / "aside")
        if damage == "empty":
            place.mkdir()
        elif damage == "file":
            place.write_text("gitdir: elsewhere")
        elif damage == "link":
            place.symlink_to(tmp_path / "aside")
    elif damage == "unborn":
        (place / "refs/heads/main").unlink()
    elif damage == "no objects":
        shutil.rmtree(place / "objects")
    elif damage == "garbage head":
        (place / "HEAD").write_bytes(b"\xff\xfe\n")
    else:
        for objects in (place / "objects").iterdir():
            if objects.name == "78":  # the blob of "a\n" is 78981922…
                shutil.rmtree(objects)


def test_what_a_crash_left_beside_the_baseline_is_removed(folder: Path) -> None:
    _commit(folder)
    (folder / ".git.new-dead").mkdir()
    (folder / ".git").rename(folder / ".git.old-dead")
    assert Baseline(folder).ensure(1)
    assert [path.name for path in folder.iterdir() if path.name.startswith(".git.")] == []


@needs_git
def test_a_baseline_that_the_user_packed_still_reads(folder: Path) -> None:
    commit_id = _commit(folder)
    git(folder, "gc", "--quiet")
    assert Baseline(folder).head_commit() == commit_id
    assert Baseline(folder).changes(_taken(folder)) == ()


def open_descriptors() -> int:
    """How many files this process holds open."""
    return len(os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"))


CUT_OFF = """
import gc, os, pathlib, resource, sys
from state.workspace.repo import Baseline
from state.workspace.snapshot import take_snapshot
folder = pathlib.Path(sys.argv[1])
taken = take_snapshot(folder, files_max=100, bytes_max=100_000)
old, before = Baseline(folder).head_commit(), len(os.listdir("/dev/fd"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
failed = 0
gc.disable()  # whoever waits for the collector closes too late
for bytes_max in range(0, 400, 20):
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))
    try:
        Baseline(folder).fresh_commit(taken, "Memory published", 2_000 + bytes_max)
        break
    except OSError:
        failed += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert Baseline(folder).head_commit() == old, "old or new"
    assert len(os.listdir("/dev/fd")) <= before, "a descriptor was kept"
gc.collect()
assert failed > 5, failed
assert len(os.listdir("/dev/fd")) <= before, "a descriptor was kept"
"""


@pytest.mark.requirement("FR-S15")
@pytest.mark.parametrize("had_one", [False, True], ids=["first", "later"])
def test_a_baseline_that_failed_half_way_leaves_a_usable_folder(
    folder: Path, had_one: bool
) -> None:
    """No file may be longer than so much: its head fails, its settings, objects, the index."""
    if had_one:
        _commit(folder)
    # A process of its own, since what it may write is bounded for all of it.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CUT_OFF, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in folder.glob(".git.*")] == []
    assert _commit(folder, 3_000) == Baseline(folder).head_commit()
    assert Baseline(folder).changes(_taken(folder)) == ()


@pytest.mark.requirement("FR-S15")
@pytest.mark.timeout(300)
def test_many_resets_need_no_more_descriptors(tmp_path: Path) -> None:
    """Two thousand, in memory where there is such a place."""
    with quick_folder(tmp_path) as folder:
        (folder / "a.md").write_text("a\n")
        _reset_often(folder)


def _reset_often(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, soft), hard))
    before = open_descriptors()
    try:
        for at_s in range(2_000):
            _commit(folder, at_s)
            if at_s % 10 == 0:
                Baseline(folder).changes(_taken(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_descriptors() <= before


@pytest.mark.requirement("FR-S16")
def test_links_and_special_files_are_listed_and_never_opened(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path)
    (folder / "dangling").symlink_to("/nowhere")
    os.mkfifo(folder / "sub" / "pipe")
    names = ["dangling", "link", "sub/pipe"]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"not-utf8-\xff"))
        (folder / names[-1]).write_text("x")
    snapshot = _taken(folder)
    assert [*snapshot.files] == [".gitignore", "a.md", "sub/b.md"]
    assert [*snapshot.odd] == sorted(names)
    assert ensure_real_folder(folder) == ("dangling", "link")
    with pytest.raises(WorkspaceUnsafe, match="it is a link"):
        (tmp_path / "root").symlink_to(folder)
        ensure_real_folder(tmp_path / "root")


@pytest.mark.parametrize(
    ("files_max", "bytes_max", "reason"), [(2, 1_000, "2 files"), (100, 5, "5 bytes")]
)
def test_a_folder_above_its_limits_is_refused(
    folder: Path, files_max: int, bytes_max: int, reason: str
) -> None:
    with pytest.raises(WorkspaceUnsafe, match=reason):
        take_snapshot(folder, files_max=files_max, bytes_max=bytes_max)


@pytest.fixture
def staging(tmp_path: Path, folder: Path) -> Staging:
    home = Home(tmp_path)
    home.prepare()
    return Staging.of(home, version="v1", fence=7, files_max=1_000, bytes_max=1_000_000)


@pytest.mark.parametrize("exchangeable", [True, False])
def test_a_swap_puts_content_and_baseline_in_force_together(
    staging: Staging, monkeypatch: pytest.MonkeyPatch, exchangeable: bool
) -> None:
    if not exchangeable:
        monkeypatch.setattr(trees, "_exchanged", lambda one, other: False)
    old = _commit(staging.live)
    before = staging.make()
    assert staging.staged_snapshot() == before
    assert not (staging.staged / ".git").exists()
    (staging.staged / "a.md").write_text("new\n")
    new = _commit(staging.staged, 2_000)
    staging.sync()
    staging.swap()
    assert Baseline(staging.live).head_commit() == new
    assert (staging.live / "a.md").read_text() == "new\n"
    assert Baseline(staging.staged).head_commit() == old
    staging.swap()
    assert Baseline(staging.live).head_commit() == old
    staging.discard()
    assert list(staging.staged.parent.iterdir()) == []


@pytest.mark.parametrize("done", [1, 2])
def test_an_exchange_by_renames_is_mended_wherever_it_was_cut(staging: Staging, done: int) -> None:
    staging.make()
    (staging.staged / "a.md").write_text("new\n")
    aside = trees.aside_of(staging.staged)
    staging.live.rename(aside)
    if done == 2:
        staging.staged.rename(staging.live)
    staging.mend()
    assert (staging.live / "a.md").read_text() == ("a\n" if done == 1 else "new\n")
    assert (staging.staged / "a.md").read_text() == ("new\n" if done == 1 else "a\n")
    staging.mend()
    assert staging.live.exists()


def test_only_new_notes_are_no_edit(staging: Staging) -> None:
    note = staging.live / NOTES / "one.md"
    note.parent.mkdir(parents=True)
    note.write_text("one")
    before = staging.make()
    (staging.live / NOTES / "two.md").write_text("two")
    now = staging.live_snapshot()
    assert new_notes(before, now) == (f"{NOTES}/two.md",)
    assert edited_since(before, now) == ()
    staging.carry_over(staging.live, staging.staged, new_notes(before, now))
    assert (staging.staged / NOTES / "two.md").read_text() == "two"
    note.write_text("changed")
    (staging.live / "a.md").unlink()
    (staging.live / "other.md").write_text("x")
    assert edited_since(before, staging.live_snapshot()) == (
        "a.md",
        f"{NOTES}/one.md",
        "other.md",
    )


def test_what_cannot_be_copied_moves_along(staging: Staging) -> None:
    os.mkfifo(staging.live / "sub" / "pipe")
    staging.make()
    staging.swap()
    former = staging.staged_snapshot()
    staging.keep_odd(former)
    assert (staging.live / "sub" / "pipe").is_fifo()


def test_a_folder_that_forbids_writing_is_removed_all_the_same(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "locked").mkdir(parents=True)
    (place / "locked" / "x").write_text("x")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "y").write_text("y")
    (place / "link").symlink_to(tmp_path / "kept")
    (place / "locked").chmod(0o500)
    place.chmod(0o500)
    remove_tree(place)
    assert not place.exists()
    assert (tmp_path / "kept" / "y").exists()
    remove_tree(place)


def test_an_exchange_with_something_missing_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(OSError):
        exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one").is_dir()


def test_leftovers_are_cleared_by_version_or_all(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    for name in ("v1-1", "v1-2.aside", "v2-3"):
        (home.staging / name).mkdir()
    assert clear_staging(home, version="v1") == ("v1-1", "v1-2.aside")
    assert clear_staging(home) == ("v2-3",)


@pytest.mark.requirement("FR-F22")
def test_git_objects_are_for_their_owner_only_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        _commit(folder)
    finally:
        os.umask(before)
    assert open_modes(folder / ".git") == []


@needs_git
def test_git_itself_finds_no_fault(folder: Path) -> None:
    _commit(folder)
    result = subprocess.run(
        ["git", "-C", str(folder), "fsck", "--strict", "--full"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_a_baseline_that_goes_while_it_is_read_is_told_as_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes the folder between the list of its files and their bytes."""
    _commit(folder)
    baseline = Baseline(folder)
    listed = baseline._tree_or_none()
    monkeypatch.setattr(baseline, "_tree_or_none", lambda: listed)
    assert "a.md" in baseline.snapshot().files
    shutil.rmtree(folder / ".git")
    with pytest.raises(WorkspaceUnsafe, match="went while it was read"):
        baseline.snapshot()
