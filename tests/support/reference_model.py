"""A small model of learning, and how a home compares with it.

The model knows what a person did (threads, modes, deletions, notes, resets) and what was
acknowledged (announced as learned or as empty). What a model answered and nobody acknowledged may
stand or not.
"""

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from state.ids import ThreadId
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot, take_snapshot

Rows = list[dict[str, Any]]
FACT = re.compile(r"fact-\d{6}")
DAY_MS = 86_400_000
UNUSED_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A home as it lies on the disk."""

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

    def job(self, kind: str, key: str) -> dict[str, Any] | None:
        """One job."""
        return next((one for one in self.jobs if (one["kind"], one["key"]) == (kind, key)), None)

    def output(self, thread_id: str) -> dict[str, Any] | None:
        """The output of a thread."""
        return next((one for one in self.outputs if one["thread_id"] == thread_id), None)

    @property
    def facts(self) -> frozenset[str]:
        """What published memory says."""
        texts = (file.data.decode(errors="replace") for file in self.folder.files.values())
        return frozenset(fact for text in texts for fact in FACT.findall(text))


def look(database: Path, live: Path) -> Seen:
    """Everything that lasts, read with a connection of its own."""
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row

    def rows(sql: str) -> Rows:
        return [dict(row) for row in connection.execute(sql)]

    try:
        jobs = rows("select * from jobs")
        outputs = rows("select * from outputs order by thread_id")
        threads = rows("select thread_id, memory_mode, updated_at_ms from threads")
        editions = rows("select * from editions order by edition_id")
        (fence,) = connection.execute("select value from meta where key = 'fence'").fetchone()
    finally:
        connection.close()
    folder, head, differing = _folder(live)
    return Seen(
        jobs=jobs,
        outputs=outputs,
        threads=threads,
        editions=editions,
        fence=fence,
        folder=folder,
        head=head,
        differing=differing,
    )


def _folder(live: Path) -> tuple[Snapshot, str | None, tuple[str, ...]]:
    if not live.is_dir():
        return Snapshot(files={}), None, ()
    folder = take_snapshot(live, files_max=1_000, bytes_max=10_000_000)
    baseline = Baseline(live)
    head = baseline.head_commit()
    differing = () if head is None else tuple(one.path for one in baseline.changes(folder))
    return folder, head, differing


@dataclass(slots=True)
class Known:
    """One thread of the model."""

    mode: str = "enabled"
    updated_at_ms: int = 0
    facts: set[str] = field(default_factory=set)
    """All that was ever taken from it."""


@dataclass(slots=True)
class Reference:
    """What must be so."""

    threads: dict[ThreadId, Known] = field(default_factory=dict)
    deleted: dict[ThreadId, Known] = field(default_factory=dict)
    acknowledged: dict[ThreadId, str] = field(default_factory=dict)
    asked: dict[ThreadId, str | None] = field(default_factory=dict)
    """What a model answered and nobody has acknowledged; None: that there is nothing."""
    notes: set[str] = field(default_factory=set)

    def heard(self, thread_id: ThreadId, text: str | None) -> None:
        """A model answered."""
        self.asked[thread_id] = text
        known = self.threads.get(thread_id) or self.deleted.get(thread_id)
        if known is not None and text is not None:
            known.facts.add(text)

    def ended(self, thread_id: ThreadId, outcome: str) -> None:
        """An extraction was announced to have ended."""
        match outcome:
            case "learned":
                text = self.asked.pop(thread_id)
                assert text is not None, "learned from an empty answer"
                self.acknowledged[thread_id] = text
            case "empty":
                self.asked.pop(thread_id, None)
                self.acknowledged.pop(thread_id, None)
            case "given_back":
                pass  # stored just before or not at all; the next look tells
            case _:
                self.asked.pop(thread_id, None)

    def changed(self, thread_id: ThreadId, mode: str) -> None:
        """A person or the runtime changed the mode."""
        self.threads[thread_id].mode = mode

    def gone(self, thread_id: ThreadId) -> None:
        """A thread was deleted."""
        self.deleted[thread_id] = self.threads.pop(thread_id)
        self.acknowledged.pop(thread_id, None)
        self.asked.pop(thread_id, None)

    def forgotten(self) -> None:
        """Memory was reset."""
        self.acknowledged.clear()
        self.asked.clear()
        self.notes.clear()

    @property
    def barred_facts(self) -> frozenset[str]:
        """What may not stand in memory."""
        barred = [*self.deleted.values()]
        barred += [one for one in self.threads.values() if one.mode != "enabled"]
        return frozenset(fact for one in barred for fact in one.facts)

    # What a home must agree with. Each returns what is wrong, in words; empty when nothing is.

    def lost_rows(self, seen: Seen, before: Seen, now_ms: int, *, adopt: bool) -> list[str]:
        """Acknowledged outputs that do not stand, and outputs that nobody made."""
        found: list[str] = []
        for thread_id in {*self.acknowledged, *self.asked, *_ids(seen.outputs)}:
            row = seen.output(thread_id)
            text = row["raw_memory"] if row is not None else None
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
        if any(self._without_notes(seen) == self._without_notes(one) for one in before):
            return []
        if not seen.folder.files:
            return [] if not self.acknowledged else ["memory is empty"]
        edition = next((one for one in seen.editions if one["commit_id"] == seen.head), None)
        if edition is None:
            # Code writes the file of raw memories even where nothing is remembered yet.
            new = dict(self._without_notes(seen))
            new.pop("raw_memories.md", None)
            same = any(new.items() <= self._without_notes(one).items() for one in before)
            return [] if same else [f"no edition has the commit {seen.head}"]
        if edition["state"] == "abandoned":
            return [f"edition {edition['edition_id']} was abandoned and stands"]
        if json.loads(edition["inputs"]).get("made_by") == "code":
            return []  # what was not worked in yet stays beside its commit
        odd = [path for path in seen.differing if path not in self.notes]
        return [f"{path} is not as published" for path in odd]

    def _without_notes(self, seen: Seen) -> Mapping[str, bytes]:
        return {
            path: file.data for path, file in seen.folder.files.items() if "/ad_hoc/" not in path
        }

    def lost_notes(self, seen: Seen) -> list[str]:
        """Notes that stand no more."""
        return sorted(self.notes - seen.folder.files.keys())

    def rows_of_deleted(self, seen: Seen) -> list[str]:
        """Rows of threads that were deleted."""
        return [
            f"{name} of {thread_id}"
            for thread_id in self.deleted
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
        wanted = {key: (one.mode, one.updated_at_ms) for key, one in self.threads.items()}
        return [] if stored == wanted else [f"{stored} for {wanted}"]

    def kept_too_long(self, seen: Seen, now_ms: int, *, cooldown_ms: int) -> list[str]:
        """What is forgotten and stands, with nobody asked to take it out at once."""
        standing = sorted(seen.facts & self.barred_facts)
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

    @property
    def _enabled(self) -> set[ThreadId]:
        return {key for key, one in self.threads.items() if one.mode == "enabled"}

    def unfinished(self, seen: Seen) -> list[str]:
        """What is left to do, and what memory lacks or says too much."""
        found = [
            f"{one['kind']}/{one['key']} {one['status']} {one['reason']}"
            for one in seen.jobs
            if one["status"] != "done" and (one["key"] == "global" or one["key"] in self._enabled)
        ]
        found += [f"edition {one['edition_id']}" for one in seen.editions if one["state"] == "open"]
        wanted = {text for key, text in self.acknowledged.items() if key in self._enabled}
        return found + [f"{one} stands or lacks" for one in sorted(wanted ^ seen.facts)]


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


def _ids(rows: Rows) -> set[ThreadId]:
    return {row["thread_id"] for row in rows}


def _may_be_pruned(row: Mapping[str, Any] | None, now_ms: int) -> bool:
    if row is None or row["selected"]:
        return False
    used_ms: int = row["last_usage_ms"] or row["source_updated_at_ms"]
    return used_ms < now_ms - UNUSED_DAYS * DAY_MS
