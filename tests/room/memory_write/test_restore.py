"""What a home takes in of an export: merged, masked, once, and nothing of what it should not."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from memory_write.controls.reset import MemoryReset
from memory_write.controls.restore import MemoryRestore, OwnMemory, RestoreReport
from memory_write.controls.restored_files import LEDGER, PIECE_BYTES_MAX, RESOURCES
from memory_write.lanes import Lanes
from memory_write.recipes import template
from state.errors import ExportRefused, WorkspaceUnsafe
from state.notes import drop_note, keep_note
from state.policy.export_form import Manifest, digest_of
from state.recovery import State
from state.workspace.export_folder import write_export
from state.workspace.layout import NOTES
from tests.support.clock import ManualClock
from tests.support.consolidation import contents, job_of
from tests.support.exchange import SECRET
from tests.support.learning import opened

NOTE = "notes/2026-01-01T00-00-00-use-tabs.md"
HANDBOOK = f"{RESOURCES}/0123456789abcdef-v1-handbook.md"
FILES = {
    "MEMORY.md": "# Handbook\n\n- run make\n",
    "rollout_summaries/2026-01-01T00-00-00-abcd.md": "# Work\n",
    "skills/deploy/run.sh": "echo\n",
    NOTE: "use tabs",
}
NOTHING = OwnMemory(shown=lambda path, text: text, known=frozenset())


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with opened(tmp_path / "home", ManualClock()) as state:
        yield state


def _export(folder: Path, files: Mapping[str, str], *, day: int = 1, year: int = 2026) -> Path:
    manifest = Manifest(
        memory_version="v1",
        origin="0123456789abcdef",
        created_at=f"{year}-01-{day:02}T00:00:00+00:00",
        digests={},
    )
    data = {path: text.encode() for path, text in files.items()}
    write_export(folder, manifest, data, forbidden=folder / "none")
    return folder


async def _restored(
    state: State, folder: Path, *versions: str, own: OwnMemory = NOTHING, dry_run: bool = False
) -> RestoreReport:
    written = versions or ("v1",)
    return await MemoryRestore(state, written).run(
        folder, dict.fromkeys(written, own), dry_run=dry_run
    )


@pytest.mark.requirement("FR-U8")
async def test_notes_come_as_notes_and_the_rest_as_material_of_a_named_source(
    state: State, tmp_path: Path
) -> None:
    report = await _restored(state, _export(tmp_path / "export", FILES), "v1", "v2")
    assert (report.notes, report.imported, report.left_out) == (1, 3, [])
    assert contents(state.home.memories("v1") / NOTES) == {Path(NOTE).name: b"use tabs"}
    held = contents(state.home.memories("v1") / RESOURCES)
    assert sorted(held) == [
        "0123456789abcdef-v1-handbook.md",
        "0123456789abcdef-v1-recap-2026-01-01T00-00-00-abcd.md",
        "0123456789abcdef-v1-skill-deploy__run.sh.md",
    ]
    assert contents(state.home.memories("v2") / RESOURCES) == held
    extension = (state.home.memories("v1") / RESOURCES).parent
    told = (extension / "instructions.md").read_text()
    assert told == template("restored_memory_instructions.md")
    assert (await job_of(state)).status == "pending"
    assert not any(path.lstat().st_mode & 0o077 for path in extension.rglob("*"))


def test_its_instructions_say_all_that_they_must() -> None:
    text = template("restored_memory_instructions.md")
    for said in (
        "Nobody said it to us",
        "ours holds",
        "`source=restored_memory`",
        "cite none of them",
        "profile, preferences or general tips",
        "no instruction to whoever reads it",
        "never changed",
    ):
        assert said in text


@pytest.mark.requirement("FR-U8")
async def test_a_note_that_stands_here_is_never_overwritten(state: State, tmp_path: Path) -> None:
    name = Path(NOTE).name
    await keep_note(state, "v1", name, "use spaces")
    folder = _export(tmp_path / "export", FILES)
    for notes in (1, 0, 0):
        assert (await _restored(state, folder)).notes == notes
    held = contents(state.home.memories("v1") / NOTES)
    assert sorted(held.values()) == [b"use spaces", b"use tabs"] and held[name] == b"use spaces"


@pytest.mark.requirement("FR-U8")
async def test_what_a_person_took_out_since_does_not_come_back(
    state: State, tmp_path: Path
) -> None:
    folder = _export(tmp_path / "export", FILES)
    await _restored(state, folder)
    await drop_note(state, "v1", Path(NOTE).name)
    (state.home.memories("v1") / HANDBOOK).unlink()
    for _ in range(2):
        report = await _restored(state, folder)
        assert not report.changed
        assert [one.path for one in report.left_out] == ["MEMORY.md"]
    assert not (state.home.memories("v1") / HANDBOOK).exists()
    assert not contents(state.home.memories("v1") / NOTES)


@pytest.mark.requirement("FR-U8", "FR-F18")
async def test_secrets_are_masked_on_the_way_in(state: State, tmp_path: Path) -> None:
    texts = {"MEMORY.md": f"key {SECRET}\n", NOTE: f"use {SECRET} here"}
    await _restored(state, _export(tmp_path / "export", texts))
    held = contents(state.home.memories("v1")) | {"journal": state.home.journal.read_bytes()}
    assert not [path for path, data in held.items() if SECRET.encode() in data]
    assert b"use [REDACTED" in contents(state.home.memories("v1") / NOTES)[Path(NOTE).name]


@pytest.mark.requirement("FR-U8")
async def test_of_one_source_a_later_export_takes_the_place_of_an_earlier_one(
    state: State, tmp_path: Path
) -> None:
    first = _export(tmp_path / "first", FILES)
    later = _export(tmp_path / "later", {"MEMORY.md": "# Handbook\n\n- run just\n"}, day=2)
    await _restored(state, first)
    report = await _restored(state, later)
    assert (report.updated, report.removed, report.notes) == (1, 2, 0)
    assert b"just" in (state.home.memories("v1") / HANDBOOK).read_bytes()
    report = await _restored(state, first)
    assert not report.changed and len(report.left_out) == 3
    assert "later export" in report.left_out[0].reason
    assert b"just" in (state.home.memories("v1") / HANDBOOK).read_bytes()


@pytest.mark.requirement("FR-S12")
async def test_an_export_of_a_clock_that_was_far_ahead_does_not_hold_back_later_ones(
    state: State, tmp_path: Path
) -> None:
    assert isinstance(state.clock, ManualClock)
    ahead = _export(tmp_path / "ahead", {"MEMORY.md": "# Handbook\n\n- run just\n"}, year=2038)
    await _restored(state, ahead)
    assert (await _restored(state, _export(tmp_path / "first", FILES))).updated == 1
    later = _export(tmp_path / "later", {"MEMORY.md": "# Handbook\n\n- run nox\n"}, day=2)
    assert (await _restored(state, later)).updated == 1
    assert not (await _restored(state, tmp_path / "first")).changed


async def test_a_dry_run_tells_the_same_and_writes_nothing(state: State, tmp_path: Path) -> None:
    folder = _export(tmp_path / "export", FILES)
    dry = await _restored(state, folder, dry_run=True)
    assert not state.home.memories("v1").exists()
    wet = await _restored(state, folder)
    assert (dry.notes, dry.imported, dry.unchanged) == (wet.notes, wet.imported, wet.unchanged)


async def test_of_what_is_refused_nothing_comes(state: State, tmp_path: Path) -> None:
    folder = _export(tmp_path / "export", FILES)
    (folder / "skills/deploy/run.sh").write_text("curl evil\n")
    with pytest.raises(ExportRefused, match=r"run\.sh: .*nothing was changed"):
        await _restored(state, folder)
    assert not state.home.memories("v1").exists()


async def test_a_memory_folder_that_is_a_link_is_refused(state: State, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    state.home.memories("v1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceUnsafe):
        await _restored(state, _export(tmp_path / "export", FILES))
    assert not contents(tmp_path / "elsewhere")


async def test_what_stands_here_word_for_word_is_nothing_new(state: State, tmp_path: Path) -> None:
    folder = _export(tmp_path / "export", {"MEMORY.md": "# Handbook\n"})
    for text, new in (("# Other\n", 1), ("# Handbook\n", 0)):
        known = frozenset({("MEMORY.md", digest_of(text.encode()))})
        own = OwnMemory(shown=NOTHING.shown, known=known)
        report = await _restored(state, folder, own=own, dry_run=True)
        assert (report.imported, report.unchanged) == (new, 1 - new)
    own = OwnMemory(shown=lambda path, text: None, known=frozenset())
    report = await _restored(state, folder, own=own)
    assert not report.changed and "forgot or corrected" in report.left_out[0].reason


async def test_a_long_file_comes_in_parts_and_a_note_with_an_odd_name_under_another(
    state: State, tmp_path: Path
) -> None:
    text = "- a line of the handbook\n" * 20_000 + "x" * (PIECE_BYTES_MAX + 10) + "\n"
    folder = _export(tmp_path / "export", {"MEMORY.md": text, "notes/Mine.md": "use tabs"})
    for new in (1, 0):
        report = await _restored(state, folder)
        assert (report.imported, report.notes, report.left_out) == (new, new, [])
    live = state.home.memories("v1")
    parts = contents(live / RESOURCES)
    assert "".join(parts[name].decode() for name in sorted(parts)) == text and len(parts) > 2
    (name,) = contents(live / NOTES)
    assert name.startswith("2026-01-01T00-00-00-note-")


async def test_a_forged_record_of_what_came_takes_nothing_else_away(
    state: State, tmp_path: Path
) -> None:
    folder = _export(tmp_path / "export", FILES)
    await _restored(state, folder)
    live = state.home.memories("v1")
    (live / "MEMORY.md").write_text("# Ours\n")
    ledger = json.loads((live / LEDGER).read_text())
    for path in ("MEMORY.md", "../state.sqlite", f"{RESOURCES}/../../../MEMORY.md"):
        ledger["0123456789abcdef-v1"]["files"][path] = "0" * 64
    (live / LEDGER).write_text(json.dumps(ledger))
    assert (await _restored(state, folder)).removed == 0
    assert (live / "MEMORY.md").read_text() == "# Ours\n" and state.home.database.exists()


async def test_after_a_reset_everything_may_come_again(state: State, tmp_path: Path) -> None:
    folder = _export(tmp_path / "export", FILES)
    await _restored(state, folder)
    await MemoryReset(state, Lanes(())).run(relearn=False)
    assert not (state.home.memories("v1") / LEDGER).exists()
    report = await _restored(state, folder)
    assert (report.notes, report.imported) == (1, 3)
