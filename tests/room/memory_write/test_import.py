"""Bringing in sessions that another home recorded.

Longer than the habit: what one import may meet is read side by side.
"""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import zstandard

from memory_write.controls.transfer import ImportProgress, SessionImport
from state.home import Home
from state.ids import ThreadId
from state.policy.redaction import MARK
from state.recovery import State, open_state
from state.rollouts.history import read_history
from state.rollouts.store import RolloutWriter
from state.rollouts.telling import wire_source
from state.stores.threads import ThreadRow
from tests.support.clock import ManualClock
from tests.support.rollout_files import (
    OTHER,
    THREAD,
    event,
    jsonl,
    legacy_turn,
    message,
    session_meta,
    write_rollout,
)
from tests.support.shared_data import needs_shared, shared

NOW_MS = 1_795_986_000_000
IMPORTED_AT_MS = NOW_MS


@pytest_asyncio.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    opened = await open_state(Home(tmp_path / "home"), ManualClock(NOW_MS), "tests")
    yield opened
    await opened.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "codex" / "sessions" / "2026" / "11" / "29"
    write_rollout(folder, session_meta(), *legacy_turn("Use tabs.", "Fine."))
    return tmp_path / "codex"


async def row(state: State, thread_id: str = THREAD) -> ThreadRow | None:
    async with state.database.reading() as read:
        return await state.threads.get(read, ThreadId(thread_id))


async def known_row(state: State, thread_id: str = THREAD) -> ThreadRow:
    found = await row(state, thread_id)
    assert found is not None
    return found


def session_files(root: Path) -> list[Path]:
    """The session files below a folder."""
    return sorted(root.rglob("*.jsonl"))


def folders_below(root: Path) -> list[Path]:
    """The folders below a folder."""
    return [path for path in root.rglob("*") if path.is_dir()]


def picture(root: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below with its digest, time and mode."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
            path.stat().st_mode,
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def test_a_session_is_copied_and_noted(state: State, source: Path) -> None:
    report = await SessionImport(state).run(source)
    assert (report.found, report.imported, report.failed, report.conflicts) == (1, 1, [], [])
    found = await known_row(state)
    copy = state.home.root / found.rollout_path
    assert found.rollout_path.startswith("sessions/2026/11/29/rollout-")
    assert copy.read_bytes() == session_files(source)[0].read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (found.preview, found.cwd, found.source) == ("Use tabs.", "/home/ann/calc", '"vscode"')
    assert (found.created_at_ms, found.updated_at_ms) == (1_795_976_160_000, 1_795_976_164_000)
    assert found.imported_at_ms == IMPORTED_AT_MS
    assert found.imported_from == str(session_files(source)[0])
    assert len(read_history(copy).turns) == 1


async def test_a_second_run_changes_nothing(state: State, source: Path) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    before, copies = await row(state), picture(state.home.sessions)
    report = await importer.run(source)
    assert (report.imported, report.updated, report.unchanged) == (0, 0, 1)
    assert await row(state) == before
    assert picture(state.home.sessions) == copies


async def test_the_source_is_never_written(state: State, source: Path) -> None:
    folders = folders_below(source)
    for path in session_files(source):
        path.chmod(0o400)
    for folder in folders:
        folder.chmod(0o500)
    before = picture(source)
    importer = SessionImport(state)
    try:
        assert (await importer.run(source)).imported == 1
        await importer.run(source)
    finally:
        after = picture(source)
        for folder in folders:
            folder.chmod(0o700)
    assert after == before
    assert (state.home.root / (await known_row(state)).rollout_path).stat().st_mode & 0o200


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(state: State, source: Path) -> None:
    before = picture(state.home.root)
    report = await SessionImport(state).run(source, dry_run=True)
    assert (report.imported, report.dry_run) == (1, True)
    assert await row(state) is None
    assert picture(state.home.root).keys() == before.keys()


async def test_a_grown_source_replaces_an_untouched_copy(state: State, source: Path) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    async with state.database.writing() as tx:
        await state.threads.set_memory_mode(tx, ThreadId(THREAD), "disabled")
        await state.threads.set_name(tx, ThreadId(THREAD), "mine")
    file = session_files(source)[0]
    file.write_bytes(file.read_bytes() + jsonl(*legacy_turn("And spaces?", "No.")))
    report = await importer.run(source)
    assert (report.updated, report.imported, report.conflicts) == (1, 0, [])
    found = await known_row(state)
    assert len(read_history(state.home.root / found.rollout_path).turns) == 2
    assert (found.memory_mode, found.name) == ("disabled", "mine")


async def test_a_session_that_its_program_barred_since_is_barred_here_too(
    state: State, source: Path
) -> None:
    """Whatever our settings say: it is that program's word on its own session."""
    importer = SessionImport(state)
    assert (await importer.run(source)).barred == 0
    file = session_files(source)[0]
    file.write_bytes(file.read_bytes() + jsonl(session_meta(memory_mode="polluted")))
    report = await importer.run(source)
    assert (report.updated, report.barred) == (1, 1)
    assert (await known_row(state)).memory_mode == "polluted"


async def test_a_thread_that_went_on_here_is_told_and_not_replaced(
    state: State, source: Path
) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    copy = state.home.root / (await known_row(state)).rollout_path
    writer = RolloutWriter.open(copy, clock=state.clock)
    writer.append(legacy_turn("said here", "yes"))
    writer.close()
    assert (await importer.run(source)).unchanged == 1
    file = session_files(source)[0]
    file.write_bytes(file.read_bytes() + jsonl(*legacy_turn("said there", "yes")))
    report = await importer.run(source)
    ((path, reason),) = report.conflicts
    assert path == str(file) and "went on here" in reason
    assert b"said here" in copy.read_bytes()


async def test_a_rewritten_source_is_told_and_not_taken(state: State, source: Path) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    file = session_files(source)[0]
    file.write_bytes(jsonl(session_meta(), *legacy_turn("Something else.", "Fine.")))
    report = await importer.run(source)
    assert [reason for _, reason in report.conflicts] == [
        "the source was rewritten since it was imported"
    ]


async def test_a_thread_of_our_own_is_never_replaced(state: State, source: Path) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    own = ThreadRow(
        **{
            name: getattr(await known_row(state), name)
            for name in ThreadRow.__dataclass_fields__
            if not name.startswith("imported")
        },
        imported_from=None,
        imported_digest=None,
        imported_at_ms=None,
    )
    async with state.database.writing() as tx:
        await state.threads.put(tx, own)
    report = await importer.run(source)
    assert [reason for _, reason in report.conflicts] == ["a thread of this home has the same id"]
    assert (await importer.run(state.home.sessions)).unchanged == 1


async def test_an_import_that_was_killed_before_its_row_is_taken_up(
    state: State, source: Path
) -> None:
    importer = SessionImport(state)
    await importer.run(source)
    async with state.database.writing() as tx:
        await state.threads.delete(tx, ThreadId(THREAD))
    report = await importer.run(source)
    assert (report.imported, report.conflicts) == (1, [])


async def test_an_archived_session_stays_archived(state: State, source: Path) -> None:
    write_rollout(
        source / "archived_sessions",
        session_meta(OTHER),
        *legacy_turn("old", "yes"),
        thread_id=OTHER,
    )
    assert (await SessionImport(state).run(source)).imported == 2
    found = await known_row(state, OTHER)
    assert found.archived and found.rollout_path.startswith("archived_sessions/rollout-")
    assert not (await known_row(state)).archived


async def test_names_git_state_and_modes_come_along(state: State, source: Path) -> None:
    git = {"branch": "main", "commit_hash": "be7a144f", "repository_url": "https://u:pw1234@h/r"}
    write_rollout(
        source / "sessions",
        session_meta(OTHER, git=git, memory_mode="disabled", thread_source="user"),
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}},
        session_meta(OTHER, memory_mode="polluted"),
        *legacy_turn("x", "y"),
        thread_id=OTHER,
    )
    names = [{"id": OTHER, "thread_name": "old"}, {"id": OTHER, "thread_name": "my name"}]
    index = "\n".join(json.dumps(one) for one in names) + "\nnot json\n"
    (source / "session_index.jsonl").write_text(index)
    await SessionImport(state).run(source)
    found = await known_row(state, OTHER)
    assert (found.name, found.model, found.memory_mode) == ("my name", "gpt-5.5", "polluted")
    assert (found.git_branch, found.git_sha) == ("main", "be7a144f")
    assert found.git_origin_url == f"https://u:{MARK}@h/r"
    assert found.thread_source == "user"


@pytest.mark.requirement("FR-E3", "FR-E6")
async def test_sessions_a_person_began_are_candidates_and_those_of_workers_are_not(
    state: State, tmp_path: Path
) -> None:
    sources = ["exec", "cli", "mcp", "unheard", {"custom": "atlas"}]
    workers = [{"subagent": "review"}, {"internal": "memory_consolidation"}, {"subagent": {"x": 1}}]
    ids = []
    for number, value in enumerate([*sources, *workers]):
        thread_id = f"01a22885-a458-7772-84ef-b9c21f9b3d{number:02d}"
        write_rollout(
            tmp_path / "from",
            session_meta(thread_id, source=value, memory_mode=None),
            *legacy_turn("typed", "yes"),
            thread_id=thread_id,
        )
        ids.append(thread_id)
    assert (await SessionImport(state).run(tmp_path / "from")).imported == len(ids)
    async with state.database.reading() as read:
        rows = await state.threads.all_enabled(read)
    assert sorted(one.thread_id for one in rows) == ids[: len(sources)]


@pytest.mark.parametrize(
    ("recorded", "wire"),
    [
        ("cli", "cli"),
        ("mcp", "appServer"),
        ("zed", {"custom": "zed"}),
        ({"custom": "atlas"}, {"custom": "atlas"}),
        ({"subagent": "review"}, {"subAgent": "review"}),
        (
            {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}},
            {"subAgent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}},
        ),
        ({"subagent": {"odd": {}}}, {"subAgent": {"other": "odd"}}),
        ({"internal": "memory_consolidation"}, {"subAgent": "memory_consolidation"}),
        ({"new": 1}, "unknown"),
    ],
)
def test_sources_are_told_as_clients_know_them(recorded: object, wire: object) -> None:
    assert json.loads(wire_source(recorded)) == wire  # type: ignore[arg-type]  # as recorded


@pytest.mark.requirement("FR-F18")
async def test_a_preview_is_what_the_user_typed_first_without_secrets(
    state: State, source: Path
) -> None:
    write_rollout(
        source / "sessions",
        session_meta(OTHER),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "my key is\nsk-proj-FAKE-KEY-FOR-TESTS"),
        thread_id=OTHER,
    )
    await SessionImport(state).run(source)
    assert (await known_row(state, OTHER)).preview == f"my key is {MARK}"


async def test_a_compressed_session_is_unpacked(state: State, tmp_path: Path) -> None:
    data = jsonl(session_meta(), *legacy_turn("Use tabs.", "Fine."))
    folder = tmp_path / "from"
    folder.mkdir()
    packed = folder / f"rollout-2026-11-29T18-16-16-{THREAD}.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(data))
    importer = SessionImport(state)
    assert (await importer.run(folder)).imported == 1
    copy = state.home.root / (await known_row(state)).rollout_path
    assert copy.suffix == ".jsonl" and copy.read_bytes() == data
    assert (await importer.run(packed)).unchanged == 1


@pytest.mark.requirement("FR-S9")
async def test_a_bad_file_is_told_and_the_others_come_in(state: State, source: Path) -> None:
    folder = source / "sessions"
    (folder / f"rollout-2026-11-29T18-16-16-{OTHER}.jsonl").write_bytes(b"nothing of use\n")
    locked = write_rollout(folder / "x", session_meta(OTHER), thread_id=OTHER)
    good = next(path for path in session_files(source) if THREAD in path.name)
    good.write_bytes(good.read_bytes() + b'{"torn": \n')
    seen: list[ImportProgress] = []
    report = await SessionImport(state).run(source, progress=seen.append)
    assert (report.found, report.imported, report.skipped_lines) == (3, 2, 1)
    assert [(Path(path).name, reason) for path, reason in report.failed] == [
        (locked.name, "it has no session_meta line")
    ]
    assert [(one.done, one.total) for one in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {one.path for one in seen} == {str(path) for path in session_files(source)}


async def test_only_sessions_that_went_on_since_then_are_taken(state: State, source: Path) -> None:
    importer = SessionImport(state)
    late = await importer.run(source, since_ms=1_795_976_164_001)
    assert (late.older, late.imported) == (1, 0)
    assert (await importer.run(source, since_ms=1_795_976_164_000)).imported == 1


async def test_one_thread_in_two_files_comes_in_once(state: State, source: Path) -> None:
    again = write_rollout(
        source / "sessions" / "copy", session_meta(), *legacy_turn("Use tabs.", "Fine.")
    )
    grown = again.parent / "grown" / again.name
    grown.parent.mkdir()
    grown.write_bytes(again.read_bytes() + jsonl(*legacy_turn("More.", "Yes.")))
    report = await SessionImport(state).run(source)
    assert (report.imported, report.unchanged, report.updated) == (1, 1, 1)


async def test_many_files_come_in_by_batches(state: State, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for number in range(150):
        thread_id = f"01a22885-a458-7772-84ef-b9c21f9b{number:04d}"
        write_rollout(folder, session_meta(thread_id), *legacy_turn("x", "y"), thread_id=thread_id)
    report = await SessionImport(state).run(folder)
    assert (report.found, report.imported) == (150, 150)
    assert len(picture(state.home.sessions)) == 150


async def test_a_name_that_points_elsewhere_stays_inside_the_home(
    state: State, tmp_path: Path
) -> None:
    path = write_rollout(
        tmp_path / "from", session_meta(), event("a"), name="rollout-strange name;.jsonl"
    )
    assert (await SessionImport(state).run(path)).imported == 1
    copy = state.home.root / (await known_row(state)).rollout_path
    assert copy.is_relative_to(state.home.sessions) and copy.name.endswith(f"-{THREAD}.jsonl")


async def test_a_path_that_is_not_there_is_an_error(state: State, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await SessionImport(state).run(tmp_path / "nowhere")


@needs_shared
async def test_real_files_of_three_releases_come_in(state: State) -> None:
    before = picture(shared("rollouts"))
    importer = SessionImport(state)
    report = await importer.run(shared("rollouts"))
    assert (report.found, report.imported, report.skipped_lines) == (7, 7, 0)
    assert (await importer.run(shared("rollouts"))).unchanged == 7
    assert picture(shared("rollouts")) == before
    async with state.database.reading() as read:
        rows = await state.threads.all_enabled(read)
    assert len(rows) == 7
    assert sorted({one.history_mode for one in rows}) == ["legacy", "paginated"]
    previews = " ".join(one.preview for one in rows)
    assert "FAKE-KEY" not in previews and "hunter2" not in previews
