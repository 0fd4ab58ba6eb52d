"""A small model of learning, and how a home compares with it, memory version by memory version.

The model knows what a person did (threads, modes, deletions, notes, edits by hand, resets) and what
was acknowledged (announced as learned or as empty). What a model answered and nobody acknowledged
may stand or not. Longer than the habit: what is seen and what must hold of it are one thing.
"""

import json
import os
import re
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_write.recipes import recipe_of
from state.ids import ThreadId
from state.workspace.layout import NOTES
from state.workspace.repo import Baseline
from state.workspace.snapshot import FileContent, Snapshot, take_snapshot

Rows = list[dict[str, Any]]
Marks = frozenset[tuple[str, int, int, int, int]]
FACT = re.compile(r"fact-\d{6}")
DAY_MS = 86_400_000
UNUSED_DAYS = 30
TICK_NS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One memory version of a home as it lies on the disk."""

    version: str
    jobs: Rows
    outputs: Rows
    threads: Rows
    editions: Rows
    fence: int
    folder: Snapshot
    head: str | None
    """The commit that the published folder carries."""
    differing: tuple[str, ...]
    """Paths that differ from that commit."""
    marks: Marks
    """What says that no file of the folder was touched since."""
    pending: frozenset[str]
    """Notes that are no part of that commit: a new thread is told them."""

    def job(self, kind: str, key: str) -> dict[str, Any] | None:
        """One job."""
        return next((one for one in self.jobs if (one["kind"], one["key"]) == (kind, key)), None)

    def output(self, thread_id: str) -> dict[str, Any] | None:
        """The output of a thread."""
        return next((one for one in self.outputs if one["thread_id"] == thread_id), None)

    @property
    def facts(self) -> frozenset[str]:
        """What published memory says in any file, and so on any surface that reads it."""
        texts = (file.data.decode(errors="replace") for file in self.folder.files.values())
        return frozenset(fact for text in texts for fact in FACT.findall(text))

    @property
    def words(self) -> str:
        """The texts that a consolidator writes."""
        artefacts = recipe_of(self.version).artefacts
        return "\n".join(self.folder.text(path) or "" for path in artefacts)


SeenAll = Mapping[str, Seen]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AllRows:
    jobs: Rows
    outputs: Rows
    threads: Rows
    editions: Rows
    fence: int


class Eyes:
    """Looks at homes with a connection of its own, kept from one look to the next.

    Rows are read anew only where somebody changed the database since. Close it before the last
    process of a home closes, which tidies up behind itself only then.
    """

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._database = Path()
        self._version = -1
        self._rows: _AllRows | None = None

    def look(self, database: Path, lives: Mapping[str, Path], last: SeenAll | None) -> SeenAll:
        """Everything that lasts."""
        if self._connection is None or self._database != database:
            self.close()
            uri = f"{database.as_uri()}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            self._database = database
        (version,) = self._connection.execute("pragma data_version").fetchone()
        if self._rows is None or version != self._version:
            self._rows, self._version = _read_rows(self._connection), version
        return _seen(self._rows, lives, last)

    def close(self) -> None:
        """Until the next look."""
        connection, self._connection, self._rows = self._connection, None, None
        if connection is not None:
            connection.close()


def look(database: Path, lives: Mapping[str, Path], last: SeenAll | None = None) -> SeenAll:
    """Everything that lasts, by one look."""
    eyes = Eyes()
    try:
        return eyes.look(database, lives, last)
    finally:
        eyes.close()


def _read_rows(connection: sqlite3.Connection) -> _AllRows:
    def rows(sql: str) -> Rows:
        return [dict(row) for row in connection.execute(sql)]

    connection.execute("begin")
    try:
        (fence,) = connection.execute("select value from meta where key = 'fence'").fetchone()
        return _AllRows(
            jobs=rows("select * from jobs"),
            outputs=rows("select * from outputs order by thread_id"),
            threads=rows("select thread_id, memory_mode, updated_at_ms from threads"),
            editions=rows("select * from editions order by edition_id"),
            fence=fence,
        )
    finally:
        connection.execute("commit")


def _seen(rows: _AllRows, lives: Mapping[str, Path], last: SeenAll | None) -> SeenAll:
    found: dict[str, Seen] = {}
    for version, live in lives.items():
        former = last[version] if last else None
        marks, settled = _marks(live)
        same = former if former is not None and settled and former.marks == marks else None
        folder, head, differing, pending = _folder(live, former, same)
        found[version] = Seen(
            version=version,
            jobs=[one for one in rows.jobs if one["version"] == version],
            outputs=[one for one in rows.outputs if one["version"] == version],
            threads=rows.threads,
            editions=[one for one in rows.editions if one["version"] == version],
            fence=rows.fence,
            folder=folder,
            head=head,
            marks=marks,
            differing=differing,
            pending=pending,
        )
    return found


def _marks(live: Path) -> tuple[Marks, bool]:
    """The state of each file by its inode, and whether that says all: not of one just written.

    A file that is written twice within a tick of the clock of its disk keeps its times.
    """
    found, newest_ns, now_ns = [], 0, time.time_ns()
    for place, folders, files in os.walk(live):
        folders[:] = [one for one in folders if one != ".git"]
        for name in (*files, *folders):
            status = os.lstat(f"{place}/{name}")
            newest_ns = max(newest_ns, status.st_ctime_ns)
            times = (status.st_mtime_ns, status.st_ctime_ns)
            found.append((f"{place}/{name}", status.st_ino, status.st_size, *times))
    return frozenset(found), newest_ns < now_ns - TICK_NS


def _folder(
    live: Path, last: Seen | None, same: Seen | None
) -> tuple[Snapshot, str | None, tuple[str, ...], frozenset[str]]:
    if not live.is_dir():
        return Snapshot(files={}), None, (), frozenset()
    if same is not None:
        folder = same.folder
    else:
        folder = take_snapshot(live, files_max=1_000, bytes_max=10_000_000)
    branch = live / ".git/refs/heads/main"
    pointed = branch.read_text().strip() if branch.is_file() else None
    if last is not None and (last.folder, last.head) == (folder, pointed):
        return folder, pointed, last.differing, last.pending
    known = {} if pointed is None else _committed(live, pointed)
    if known is None:
        return folder, None, (), frozenset(folder.below(NOTES))
    there = {path: file.blob_id for path, file in folder.files.items()}
    differing = tuple(
        path for path in sorted({*there, *known}) if there.get(path) != known.get(path)
    )
    pending = frozenset(
        path for path, file in folder.below(NOTES).items() if file.blob_id != known.get(path)
    )
    return folder, pointed, differing if pointed else (), pending


@lru_cache(maxsize=64)
def _committed(live: Path, commit: str) -> Mapping[str, str] | None:
    """The files of a commit, by their ids; None: it is no readable one."""
    baseline = Baseline(live)
    return baseline.blob_ids("") if baseline.head_commit() == commit else None


@dataclass(slots=True)
class Known:
    """One thread of the model."""

    mode: str = "enabled"
    updated_at_ms: int = 0
    facts: set[str] = field(default_factory=set)
    """All that was ever taken from it."""


@dataclass(slots=True)
class World:
    """What holds for every memory version: the threads, as a person left them."""

    threads: dict[ThreadId, Known] = field(default_factory=dict)
    deleted: dict[ThreadId, Known] = field(default_factory=dict)

    def known(self, thread_id: ThreadId) -> Known | None:
        """A thread that is there or was."""
        return self.threads.get(thread_id) or self.deleted.get(thread_id)

    @property
    def barred_facts(self) -> frozenset[str]:
        """What may not stand in memory."""
        barred = [*self.deleted.values()]
        barred += [one for one in self.threads.values() if one.mode != "enabled"]
        return frozenset(fact for one in barred for fact in one.facts)

    @property
    def enabled(self) -> set[ThreadId]:
        """The threads that are learned from."""
        return {key for key, one in self.threads.items() if one.mode == "enabled"}


@dataclass(slots=True)
class Reference:
    """What must be so in one memory version."""

    world: World
    acknowledged: dict[ThreadId, str] = field(default_factory=dict)
    asked: dict[ThreadId, str | None] = field(default_factory=dict)
    """What a model answered and nobody has acknowledged; None: that there is nothing."""
    notes: dict[str, str] = field(default_factory=dict)
    """By path, what a note says."""
    by_hand: set[str] = field(default_factory=set)
    """Lines that a person wrote into the artefacts."""
    stray: dict[str, bytes] = field(default_factory=dict)
    """Files that a person put into the folder."""

    def heard(self, thread_id: ThreadId, text: str | None) -> None:
        """A model answered."""
        self.asked[thread_id] = text
        known = self.world.known(thread_id)
        if known is not None and text is not None:
            known.facts.add(text)

    def ended(self, thread_id: ThreadId, outcome: str) -> None:
        """An extraction was announced to have ended."""
        match outcome:
            case "learned" if thread_id not in self.world.threads:
                pass  # deleted while its pass was held behind the store
            case "learned":
                # One that was overtaken tells late what has been seen to stand.
                text = self.asked.pop(thread_id, self.acknowledged.get(thread_id))
                assert text is not None, "learned from an empty answer"
                self.acknowledged[thread_id] = text
            case "empty":
                self.asked.pop(thread_id, None)
                self.acknowledged.pop(thread_id, None)
            case "given_back":
                pass  # stored just before or not at all; the next look tells
            case _:
                self.asked.pop(thread_id, None)

    def gone(self, thread_id: ThreadId) -> None:
        """A thread was deleted."""
        self.acknowledged.pop(thread_id, None)
        self.asked.pop(thread_id, None)

    def wiped(self) -> None:
        """Somebody emptied the folder."""
        self.notes.clear()
        self.by_hand.clear()
        self.stray.clear()

    def forgotten(self) -> None:
        """Memory was reset."""
        self.acknowledged.clear()
        self.asked.clear()
        self.wiped()

    # What a home must agree with. Each returns what is wrong, in words; empty when nothing is.

    def lost_rows(self, seen: Seen, before: Seen, now_ms: int, *, adopt: bool) -> list[str]:
        """Acknowledged outputs that do not stand, and outputs that nobody made."""
        found: list[str] = []
        for thread_id in {*self.acknowledged, *self.asked, *_ids(seen.outputs)}:
            row = seen.output(thread_id)
            text = row["rollout_summary"] if row is not None else None
            may = {self.acknowledged.get(thread_id)}
            if thread_id in self.asked:
                may.add(self.asked[thread_id])
            if text is None and _may_be_pruned(before.output(thread_id), now_ms):
                may.add(None)
            if text not in may:
                found.append(f"{thread_id} has {text}, of {sorted(map(str, may))}")
            elif adopt or text is None:
                self._adopt(thread_id, text, adopt=adopt)
        return found

    def _adopt(self, thread_id: ThreadId, text: str | None, *, adopt: bool) -> None:
        if text is None:
            self.acknowledged.pop(thread_id, None)
        else:
            self.acknowledged[thread_id] = text
        if adopt:
            self.asked.pop(thread_id, None)

    def mixed_memory(self, seen: Seen, *before: Seen) -> list[str]:
        """Published files that are neither an old edition nor a new one, byte for byte."""
        if any(self._published(seen) == self._published(one) for one in before):
            return []
        if not seen.folder.files:
            return [] if not self.acknowledged else ["memory is empty"]
        edition = next((one for one in seen.editions if one["commit_id"] == seen.head), None)
        if edition is None:
            # Code writes inputs even where nothing is remembered yet, or where they were wiped.
            new = {path: data for path, data in self._published(seen).items() if not _input(path)}
            unmade = any(new.items() <= self._published(one).items() for one in before)
            return [] if unmade else [f"no edition has the commit {seen.head}"]
        if edition["state"] == "abandoned":
            return [f"edition {edition['edition_id']} was abandoned and stands"]
        if json.loads(edition["inputs"]).get("made_by") == "code":
            return []  # what was not worked in yet stays beside its commit
        same = next((one for one in before if one.head == seen.head), None)
        if same is not None:
            # No new edition: code alone put inputs back that a person had deleted.
            former, now = self._published(same), self._published(seen)
            moved = [path for path in {*former, *now} if former.get(path) != now.get(path)]
            return [f"{path} changed with no edition" for path in moved if not _input(path)]
        odd = [path for path in seen.differing if path not in self.notes]
        return [f"{path} is not as published" for path in odd]

    def _published(self, seen: Seen) -> Mapping[str, bytes]:
        return {
            path: file.data for path, file in seen.folder.files.items() if "/ad_hoc/" not in path
        }

    def lost_notes(self, seen: Seen) -> list[str]:
        """Notes that stand no more, or that neither a new thread nor memory is told."""
        found = [f"{path} is gone" for path in self.notes.keys() - seen.folder.files.keys()]
        return found + [
            f"{path} is neither in force nor consolidated"
            for path, text in self.notes.items()
            if path in seen.folder.files and path not in seen.pending and text not in seen.words
        ]

    def lost_by_hand(self, seen: Seen) -> list[str]:
        """What a person wrote or put into the folder and stands there no more."""
        files: Mapping[str, FileContent] = seen.folder.files
        found = [f"the line `{line}`" for line in self.by_hand if line not in seen.words]
        return found + [
            f"the file {path}"
            for path, data in self.stray.items()
            if path not in files or files[path].data != data
        ]

    def rows_of_deleted(self, seen: Seen) -> list[str]:
        """Rows of threads that were deleted."""
        return [
            f"{name} of {thread_id}"
            for thread_id in self.world.deleted
            for name, rows, key in (
                ("thread", seen.threads, "thread_id"),
                ("output", seen.outputs, "thread_id"),
                ("job", seen.jobs, "key"),
            )
            if any(row[key] == thread_id for row in rows)
        ]

    def wrong_modes(self, seen: Seen) -> list[str]:
        """Threads whose row is not as it was left."""
        stored = {
            row["thread_id"]: (row["memory_mode"], row["updated_at_ms"]) for row in seen.threads
        }
        wanted = {key: (one.mode, one.updated_at_ms) for key, one in self.world.threads.items()}
        return [] if stored == wanted else [f"{stored} for {wanted}"]

    def kept_too_long(self, seen: Seen, now_ms: int, *, cooldown_ms: int) -> list[str]:
        """What is forgotten and stands, with nobody asked to take it out at once."""
        standing = sorted(seen.facts & self.world.barred_facts)
        job = seen.job("consolidation", "global")
        if not standing:
            return []
        if job is None or job["status"] == "done":
            return [f"{standing} stand and nobody was asked"]
        start_ms = job["cooldown_from_ms"]
        if job["status"] == "pending" and start_ms is not None:
            if start_ms <= now_ms < start_ms + cooldown_ms:
                return [f"{standing} stand and wait for the cooldown"]
        return []

    def still_shown(self, seen: Seen) -> list[str]:
        """What is forgotten and is read all the same."""
        return sorted(seen.facts & self.world.barred_facts)

    def unfinished(self, seen: Seen) -> list[str]:
        """What is left to do, and what memory lacks or says too much."""
        enabled = self.world.enabled
        found = [
            f"{one['kind']}/{one['key']} {one['status']} {one['reason']}"
            for one in seen.jobs
            if one["status"] != "done" and (one["key"] == "global" or one["key"] in enabled)
        ]
        found += [f"edition {one['edition_id']}" for one in seen.editions if one["state"] == "open"]
        wanted = {text for key, text in self.acknowledged.items() if key in enabled}
        return found + [f"{one} stands or lacks" for one in sorted(wanted ^ seen.facts)]


def used_up(seen: Seen, before: Seen) -> list[str]:
    """Jobs that have fewer attempts left."""
    found = []
    for job in seen.jobs:
        former = before.job(job["kind"], job["key"])
        if former is not None and job["attempts_left"] < former["attempts_left"]:
            found.append(f"{job['kind']}/{job['key']}: {job['reason']}")
    return found


def broken_jobs(seen: Seen) -> list[str]:
    """Jobs that are not in exactly one state, or do not say why."""
    found: list[str] = []
    for job in seen.jobs:
        name = f"{job['kind']}/{job['key']}"
        match job["status"]:
            case "running":
                sound = job["lease_until_ms"] is not None and job["worker"] and job["fence"]
            case "failed":
                sound = bool(job["reason"]) and job["retry_at_ms"] is not None
                sound = sound or (bool(job["reason"]) and job["attempts_left"] == 0)
                sound = sound and job["lease_until_ms"] is None
            case "done":
                sound = bool(job["outcome"]) and job["reason"] is None
                sound = sound and job["lease_until_ms"] is None
            case _:
                sound = job["lease_until_ms"] is None
        if not sound:
            found.append(f"{name}: {json.dumps(job)}")
    return found


def _input(path: str) -> bool:
    return path == "raw_memories.md" or path.startswith("rollout_summaries/")


def _ids(rows: Rows) -> set[ThreadId]:
    return {row["thread_id"] for row in rows}


def _may_be_pruned(row: Mapping[str, Any] | None, now_ms: int) -> bool:
    if row is None or row["selected"]:
        return False
    used_ms: int = row["last_usage_ms"] or row["source_updated_at_ms"]
    return used_ms < now_ms - UNUSED_DAYS * DAY_MS
