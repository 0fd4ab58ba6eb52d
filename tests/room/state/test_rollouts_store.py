"""Rollout files on a real disk: appended whole, streamed, bad lines skipped and told."""

import errno
import json
import os
from pathlib import Path

import pytest
import zstandard

from state.errors import RolloutMissing, RolloutUnreadable
from state.home import Home
from state.ids import ThreadId
from state.rollouts import store
from state.rollouts.items import RolloutLine, SessionMeta, SkippedLine
from state.rollouts.store import (
    RolloutWriter,
    find_rollouts,
    locate,
    parse_time_ms,
    read_lines,
    read_meta,
    rfc3339,
    rollout_path,
    thread_id_of,
)
from tests.support.clock import ManualClock
from tests.support.rollout_files import OTHER, THREAD, event, jsonl, session_meta, write_rollout

NOW_MS = 1_795_976_176_773


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.prepare()
    return made


def new_writer(home: Home, mode: str = "paginated") -> RolloutWriter:
    meta = SessionMeta.model_validate({"id": THREAD, "cwd": "/w", "history_mode": mode})
    return RolloutWriter.create(home, meta, created_at_ms=NOW_MS, clock=ManualClock(NOW_MS))


def good(path: Path) -> list[RolloutLine]:
    return [line for line in read_lines(path) if isinstance(line, RolloutLine)]


def bad(path: Path) -> list[SkippedLine]:
    return [line for line in read_lines(path) if isinstance(line, SkippedLine)]


def test_lines_get_a_time_and_in_paginated_history_an_ordinal(home: Home) -> None:
    writer = new_writer(home)
    writer.append([event("a"), event("b")])
    writer.append([event("c")])
    writer.close()
    lines = good(writer.path)
    assert [line.ordinal for line in lines] == [0, 1, 2, 3]
    assert {line.timestamp for line in lines} == {"2026-11-29T18:16:16.773Z"}
    assert [line.line_number for line in lines] == [1, 2, 3, 4]
    assert read_meta(writer.path).id == THREAD


def test_a_legacy_file_goes_on_without_ordinals(home: Home) -> None:
    path = write_rollout(home.sessions, session_meta(), event("a"))
    writer = RolloutWriter.open(path, clock=ManualClock())
    writer.append([event("b")])
    writer.close()
    assert [line.ordinal for line in good(path)] == [None, None, None]


def test_a_reopened_file_goes_on_counting_after_a_long_last_line(home: Home) -> None:
    writer = new_writer(home)
    writer.append([event("a"), event("long", text="x" * 300_000)])
    writer.close()
    again = RolloutWriter.open(writer.path, clock=ManualClock())
    again.append([event("b")])
    again.close()
    assert [line.ordinal for line in good(writer.path)] == [0, 1, 2, 3]


@pytest.mark.requirement("FR-F22")
def test_files_and_folders_are_private_whatever_the_umask(home: Home) -> None:
    before = os.umask(0)
    try:
        writer = new_writer(home)
        writer.close()
    finally:
        os.umask(before)
    assert writer.path.stat().st_mode & 0o777 == 0o600
    folder = writer.path.parent
    while folder != home.root.parent:
        assert folder.stat().st_mode & 0o777 == 0o700
        folder = folder.parent


def test_a_line_torn_by_a_crash_does_not_swallow_the_next_one(home: Home) -> None:
    writer = new_writer(home)
    writer.append([event("a")])
    writer.close()
    with writer.path.open("ab") as file:
        file.write(b'{"timestamp":"2026-11-29T18:16:17.000Z","ordinal":2,"type":"event_m')
    again = RolloutWriter.open(writer.path, clock=ManualClock())
    again.append([event("b")])
    again.close()
    assert [line.payload["type"] for line in good(writer.path)[1:]] == ["a", "b"]
    assert [(line.line_number, line.reason) for line in bad(writer.path)] == [(3, "not valid JSON")]


def test_a_full_disk_leaves_nothing_half_written(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = new_writer(home)
    size = writer.path.stat().st_size
    real = os.write
    calls: list[int] = []

    def fills_up(descriptor: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) == 1:
            return real(descriptor, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", fills_up)
    with pytest.raises(OSError, match="No space"):
        writer.append([event("lost")])
    monkeypatch.undo()
    assert writer.path.stat().st_size == size
    writer.append([event("kept")])
    writer.close()
    assert [line.ordinal for line in good(writer.path)] == [0, 1]
    assert bad(writer.path) == []


@pytest.mark.requirement("FR-S9")
def test_single_bad_lines_are_skipped_and_told_by_number(tmp_path: Path) -> None:
    path = write_rollout(tmp_path, session_meta(), event("a"))
    with path.open("ab") as file:
        file.write(b'{"cut": \n\n[1,2]\n{"type":"event_msg","payload":3}\n')
        file.write(b'{"type":"from_the_future","payload":{}}\n\xff\xfe\n')
        file.write(jsonl(event("b")))
    assert [line.payload.get("type") for line in good(path)[1:]] == ["a", "b"]
    assert [line.line_number for line in bad(path)] == [3, 5, 6, 7, 8]


@pytest.mark.requirement("FR-T20", "MW-9-23")
def test_a_line_too_long_is_skipped_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LINE_BYTES_MAX", 1_000)
    path = write_rollout(tmp_path, session_meta(), event("big", text="x" * 5_000), event("b"))
    assert [line.payload.get("type") for line in good(path)[1:]] == ["b"]
    assert [line.line_number for line in bad(path)] == [2]


def test_a_compressed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    data = jsonl(session_meta(), event("a"))
    path = tmp_path / f"rollout-2026-11-29T18-16-16-{THREAD}.jsonl.zst"
    pack = zstandard.ZstdCompressor().compress
    path.write_bytes(pack(data[:50]) + pack(data[50:]))
    assert [line.type for line in good(path)] == ["session_meta", "event_msg"]
    assert thread_id_of(path) == THREAD
    with pytest.raises(RolloutUnreadable, match="cannot be continued"):
        RolloutWriter.open(path, clock=ManualClock())


def test_broken_compression_is_an_error_of_that_file(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl.zst"
    path.write_bytes(b"no frame at all")
    with pytest.raises(RolloutUnreadable, match="compression"):
        list(read_lines(path))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{}\n", b'{"type":"session_meta","payload":{}}'])
def test_a_file_without_an_identity_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_bytes(data)
    with pytest.raises(RolloutUnreadable):
        read_meta(path)


def test_the_first_identity_counts_also_behind_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_bytes(b"torn\n" + jsonl(session_meta(), session_meta(OTHER)))
    assert read_meta(path).id == THREAD


def test_rollouts_are_found_in_a_file_a_folder_and_a_codex_home(tmp_path: Path) -> None:
    one = write_rollout(tmp_path / "h" / "sessions" / "2026" / "11" / "29", session_meta())
    two = write_rollout(tmp_path / "h" / "archived_sessions", session_meta(OTHER), thread_id=OTHER)
    (tmp_path / "h" / "history.jsonl").write_text("{}\n")
    stray = write_rollout(tmp_path / "h" / "log", session_meta())
    packed = one.with_name(one.name + ".zst")
    packed.write_bytes(b"a plain sibling takes precedence")
    (one.parent / "rollout-link.jsonl").symlink_to(two)
    os.mkfifo(one.parent / "rollout-fifo.jsonl")
    assert find_rollouts(one) == [one]
    assert find_rollouts(tmp_path / "h") == [two, one]
    assert find_rollouts(tmp_path / "h" / "log") == [stray]
    with pytest.raises(FileNotFoundError):
        find_rollouts(tmp_path / "nowhere")


def test_a_thread_is_located_by_its_name_alone(home: Home) -> None:
    writer = new_writer(home)
    writer.close()
    assert locate(home, ThreadId(THREAD)) == writer.path
    with pytest.raises(RolloutMissing):
        locate(home, ThreadId(OTHER))


@pytest.mark.requirement("FR-E8")
def test_names_are_local_and_lines_are_utc(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rollout_path(home, ThreadId(THREAD), NOW_MS)
    assert path.name.endswith(f"-{THREAD}.jsonl") and path.is_relative_to(home.sessions)
    assert rfc3339(NOW_MS) == "2026-11-29T18:16:16.773Z"
    assert parse_time_ms(rfc3339(NOW_MS)) == NOW_MS
    assert parse_time_ms("2026-11-30T02:16:16.773+08:00") == NOW_MS
    assert parse_time_ms("2026-11-29T18:16:16") is None
    assert parse_time_ms("soon") is None


def test_a_second_file_for_the_same_thread_is_refused(home: Home) -> None:
    new_writer(home).close()
    with pytest.raises(FileExistsError):
        new_writer(home)
    assert len(find_rollouts(home.sessions)) == 1


def test_a_writers_lines_are_plain_json_objects(home: Home) -> None:
    writer = new_writer(home)
    writer.append([{"type": "event_msg", "payload": {"type": "a"}, "metadata": {"m": 1}}])
    writer.close()
    last = json.loads(writer.path.read_bytes().splitlines()[-1])
    assert list(last) == ["timestamp", "ordinal", "type", "payload", "metadata"]
