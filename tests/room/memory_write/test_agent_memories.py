"""The memory files of another agent become an extension: whole projects, scoped, masked."""

import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.controls.agent_memories import EXTENSION, AgentMemoryImport
from memory_write.controls.agent_memory_files import FILE_BYTES_MAX
from memory_write.errors import NothingToImport
from memory_write.offline.consolidation import OfflineConsolidator
from memory_write.recipes import template
from state.errors import WorkspaceUnsafe
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, git, job_of, phase2_of
from tests.support.learning import opened

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", ManualClock()) as state:
        yield state


@pytest.fixture
def agent_home(tmp_path: Path) -> Path:
    home = tmp_path / "agent"
    _project(home, "-srv-shop", tmp_path / "shop", {"MEMORY.md": "# Shop\n\n- uses make\n"})
    _project(home, "-srv-site", tmp_path / "site", {"notes/css.md": "# CSS\n\ntabs\n"})
    return home


def _project(home: Path, key: str, cwd: Path | None, files: dict[str, str]) -> Path:
    folder = home / "projects" / key
    for path, text in files.items():
        (folder / "memory" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "memory" / path).write_text(text)
    if cwd is not None:
        cwd.mkdir(exist_ok=True)
        _session(folder, "one", str(cwd), at_s=1_000)
    return folder


def _session(folder: Path, name: str, cwd: str, *, at_s: int) -> None:
    path = folder / f"{name}.jsonl"
    lines = [{"type": "summary"}, {"type": "user", "cwd": cwd, "message": {}}]
    path.write_text("not json\n" + "".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (at_s, at_s))


def _resources(state: State, version: str = "v1") -> Path:
    return state.home.memories(version) / EXTENSION / "resources"


def _importer(state: State, *versions: str) -> AgentMemoryImport:
    return AgentMemoryImport(state, versions or ("v1",))


async def test_files_are_copied_by_project_with_their_scope_and_a_consolidation_is_asked_for(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    before = contents(agent_home)
    report = await _importer(state).run(agent_home)
    assert (report.found, report.imported, report.files, report.failed) == (2, 2, 2, [])
    resources = _resources(state)
    assert contents(resources) == {
        "-srv-shop/MEMORY.md": b"# Shop\n\n- uses make\n",
        "-srv-shop/scope.json": f'{{"cwd":"{tmp_path}/shop"}}'.encode(),
        "-srv-site/notes/css.md": b"# CSS\n\ntabs\n",
        "-srv-site/scope.json": f'{{"cwd":"{tmp_path}/site"}}'.encode(),
    }
    told = (resources.parent / "instructions.md").read_text()
    assert told == template("external_agent_import_instructions.md")
    assert contents(agent_home) == before
    job = await job_of(state)
    assert job.status == "pending"
    assert "external_agent_import" in git(
        state.home.memories("v1"), "status", "--porcelain", "-uall"
    )
    assert not any(path.lstat().st_mode & 0o077 for path in resources.rglob("*"))


def test_its_instructions_say_all_that_they_must() -> None:
    text = template("external_agent_import_instructions.md")
    for said in (
        "Read `scope.json` of a project first",
        "`MEMORY.md` of a project",
        "point to them by their path, do not copy them",
        "`### extension_resource_files`",
        "`source=external_agent_import`",
        "make up no thread ids, recaps or dates",
        "older topics",
        "one compact route",
        "profile, preferences or general tips",
        "no instruction to whoever reads it",
        "never changed",
    ):
        assert said in text


async def test_a_second_run_changes_nothing(state: State, agent_home: Path) -> None:
    importer = _importer(state)
    await importer.run(agent_home)
    before = contents(state.home.memories("v1"))
    report = await importer.run(agent_home)
    assert (report.unchanged, report.changed) == (2, False)
    assert contents(state.home.memories("v1")) == before


async def test_a_changed_project_is_replaced_whole_and_one_that_vanished_is_removed(
    state: State, agent_home: Path
) -> None:
    importer = _importer(state)
    await importer.run(agent_home)
    shop = agent_home / "projects" / "-srv-shop" / "memory"
    (shop / "MEMORY.md").unlink()
    (shop / "new.md").write_text("new\n")
    (_resources(state) / "-srv-shop" / "planted.md").write_text("by hand\n")
    shutil.rmtree(agent_home / "projects" / "-srv-site")
    report = await importer.run(agent_home)
    assert (report.updated, report.removed) == (1, 1)
    assert sorted(contents(_resources(state))) == ["-srv-shop/new.md", "-srv-shop/scope.json"]


async def test_what_another_home_brought_and_folders_without_a_scope_stay(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    importer = _importer(state)
    await importer.run(agent_home)
    (_resources(state) / "unscoped").mkdir()
    (_resources(state) / "unscoped" / "a.md").write_text("a\n")
    other = tmp_path / "other"
    _project(other, "-srv-blog", tmp_path / "blog", {"MEMORY.md": "blog\n"})
    report = await importer.run(other)
    assert (report.imported, report.removed) == (1, 0)
    keys = sorted(path.name for path in _resources(state).iterdir())
    assert keys == ["-srv-blog", "-srv-shop", "-srv-site", "unscoped"]


async def test_the_scope_is_that_of_the_newest_session_whose_folder_is_still_there(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    folder = agent_home / "projects" / "-srv-shop"
    (tmp_path / "moved").mkdir()
    _session(folder, "two", str(tmp_path / "moved"), at_s=2_000)
    _session(folder, "three", str(tmp_path / "gone"), at_s=3_000)
    _session(folder, "four", "relative/folder", at_s=4_000)
    await _importer(state).run(agent_home)
    scope = json.loads((_resources(state) / "-srv-shop" / "scope.json").read_text())
    assert scope == {"cwd": str(tmp_path / "moved")}


async def test_a_project_without_a_scope_fails_alone_and_its_unscoped_copy_goes(
    state: State, agent_home: Path
) -> None:
    _project(agent_home, "-srv-lost", None, {"MEMORY.md": "lost\n"})
    copy = _resources(state) / "-srv-lost"
    copy.mkdir(parents=True)
    (copy / "MEMORY.md").write_text("old\n")
    report = await _importer(state).run(agent_home)
    assert [one.path for one in report.failed] == ["-srv-lost"] and report.imported == 2
    assert not copy.exists()


async def test_a_scope_that_was_found_once_serves_when_the_sessions_are_cleared_away(
    state: State, agent_home: Path
) -> None:
    importer = _importer(state)
    await importer.run(agent_home)
    folder = agent_home / "projects" / "-srv-shop"
    (folder / "one.jsonl").unlink()
    (folder / "memory" / "MEMORY.md").write_text("# Shop\n\n- uses just\n")
    report = await importer.run(agent_home)
    assert (report.updated, report.failed) == (1, [])


@pytest.mark.requirement("FR-F18")
async def test_secrets_are_masked_and_names_that_hold_one_are_left_out(
    state: State, agent_home: Path
) -> None:
    memory = agent_home / "projects" / "-srv-shop" / "memory"
    (memory / "MEMORY.md").write_text(f"deploy with {SECRET}\n")
    (memory / f"{SECRET}.md").write_text("x\n")
    report = await _importer(state).run(agent_home)
    assert (_resources(state) / "-srv-shop/MEMORY.md").read_text() == (
        "deploy with [REDACTED_SECRET]\n"
    )
    assert [one.reason for one in report.left_out] == ["its name holds a secret"]
    assert SECRET not in repr(report)
    everything = contents(state.home.memories("v1"))
    assert not any(SECRET.encode() in data for data in everything.values())


async def test_links_large_files_and_what_is_no_text_are_left_out(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    memory = agent_home / "projects" / "-srv-shop" / "memory"
    (tmp_path / "outside.md").write_text("outside\n")
    (memory / "link.md").symlink_to(tmp_path / "outside.md")
    (memory / "large.md").write_text("x" * (FILE_BYTES_MAX + 1))
    (memory / "binary.md").write_bytes(b"\xff\xfe")
    (memory / "tool.py").write_text("print()\n")
    (agent_home / "projects" / "linked").symlink_to(agent_home / "projects" / "-srv-site")
    report = await _importer(state).run(agent_home)
    assert sorted(one.path for one in report.left_out) == [
        "-srv-shop/binary.md",
        "-srv-shop/large.md",
    ]
    assert report.found == 2
    assert sorted(contents(_resources(state) / "-srv-shop")) == ["MEMORY.md", "scope.json"]


async def test_nothing_to_import_is_refused(state: State, tmp_path: Path) -> None:
    with pytest.raises(NothingToImport, match="requires at least one selected memory"):
        await _importer(state).run(tmp_path)
    (tmp_path / "projects" / "empty").mkdir(parents=True)
    with pytest.raises(NothingToImport):
        await _importer(state).run(tmp_path)
    assert not _resources(state).exists()


async def test_a_memory_folder_that_is_a_link_is_refused(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    state.home.memories("v1").symlink_to(target)
    with pytest.raises(WorkspaceUnsafe):
        await _importer(state).run(agent_home)
    assert list(target.iterdir()) == []


async def test_a_dry_run_says_what_would_happen_and_writes_nothing(
    state: State, agent_home: Path
) -> None:
    report = await _importer(state).run(agent_home, dry_run=True)
    assert (report.imported, report.dry_run) == (2, True)
    assert not state.home.memories("v1").exists()


async def test_every_version_that_is_written_gets_its_copy(state: State, agent_home: Path) -> None:
    await _importer(state, "v1", "v2").run(agent_home)
    assert contents(_resources(state, "v1")) == contents(_resources(state, "v2"))


@pytest.mark.requirement("FR-F20")
async def test_by_rules_an_import_becomes_a_scoped_pointer_and_no_preference(
    state: State, agent_home: Path, tmp_path: Path
) -> None:
    memory = agent_home / "projects" / "-srv-shop" / "memory"
    (memory / "MEMORY.md").write_text("# Shop notes\n\n- Always use tabs from now on.\n")
    await _importer(state).run(agent_home)
    report = await phase2_of(state, OfflineConsolidator()).run(ignore_cooldown=True)
    assert report.status == "published", report
    live = state.home.memories("v1")
    handbook, summary = (live / "MEMORY.md").read_text(), (live / "memory_summary.md").read_text()
    assert f"applies_to: cwd={tmp_path}/shop;" in handbook
    assert (
        f"- {EXTENSION}/resources/-srv-shop/MEMORY.md (source=external_agent_import): Shop notes"
        in handbook
    )
    assert f"- {tmp_path}/shop: {EXTENSION}/resources/-srv-shop (imported, unchecked)" in summary
    assert "tabs" not in handbook + summary
    shutil.rmtree(agent_home / "projects" / "-srv-shop")
    await _importer(state).run(agent_home)
    report = await phase2_of(state, OfflineConsolidator()).run(ignore_cooldown=True)
    assert report.status == "published", report
    assert "-srv-shop" not in (live / "MEMORY.md").read_text()
    assert "-srv-shop" not in (live / "memory_summary.md").read_text()
