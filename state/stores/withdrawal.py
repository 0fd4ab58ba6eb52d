"""Taking a thread out of memory: its deletion, its pollution, its mode, in one transaction each.

Invariant: whoever calls this inside a transaction leaves no output of a deleted thread, of any
version, and no consolidated thread goes without a consolidation being asked for at once. From the
commit on what such a thread gave is withheld from every reader, until the files are without it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from state.database import Reading, Transaction
from state.ids import ThreadId
from state.named_queries import Queries
from state.policy.redaction import redact
from state.stores.jobs import JobStore
from state.stores.outputs import OutputStore
from state.stores.private_rows import set_mode
from state.stores.threads import MemoryMode, ThreadStore

Q = Queries("withdrawal")

OutsideKind = Literal["web_search", "mcp", "tool_search", "other"]
OUTSIDE_NAME_MAX = 200


@dataclass(frozen=True, slots=True)
class OutsideSource:
    """What brought outside context into a thread."""

    kind: OutsideKind
    name: str
    """Of the server or tool, such as it is configured; no text of what it said."""


async def outside_source(read: Reading, thread_id: ThreadId) -> OutsideSource | None:
    """What barred a polluted thread, where that is known."""
    row = await read.one(Q["source"], thread_id=thread_id)
    return OutsideSource(row["kind"], row["name"]) if row is not None else None


async def note_outside_source(
    tx: Transaction, thread_id: ThreadId, source: OutsideSource, *, now_ms: int
) -> None:
    """Record it in row and journal; the first one of a thread stays."""
    name = redact(source.name)[:OUTSIDE_NAME_MAX]
    changed = await tx.run(
        Q["put_source"], thread_id=thread_id, kind=source.kind, name=name, at_ms=now_ms
    )
    if changed:
        tx.tell("outside", thread_id=thread_id, kind=source.kind, name=name)


async def delete_thread_memory(
    tx: Transaction, *, jobs: JobStore, outputs: OutputStore, thread_id: ThreadId, now_ms: int
) -> bool:
    """Remove what was taken from a thread, and its jobs; whether there was an output."""
    versions = await outputs.versions_of(tx, thread_id)
    for version, selected in versions.items():
        await outputs.delete(tx, version, thread_id)
        if selected:
            await jobs.enqueue_consolidation(tx, version=version, watermark_ms=now_ms, urgent=True)
    tx.then(partial(outputs.withheld.add, thread_id, versions))
    await jobs.delete_for_thread(tx, thread_id)
    await tx.run(Q["drop_source"], thread_id=thread_id)
    return bool(versions)


async def change_memory_mode(
    tx: Transaction,
    *,
    threads: ThreadStore,
    jobs: JobStore,
    outputs: OutputStore,
    thread_id: ThreadId,
    mode: MemoryMode,
    now_ms: int,
) -> bool:
    """Say whether a thread may be learned from; whether there is such a thread.

    What was taken from it stays in its row: withheld while it is barred, back when it no longer is.
    """
    row = await threads.get(tx, thread_id)
    if row is None:
        return False
    if row.memory_mode != mode:
        await set_mode(tx, threads, thread_id, mode)
        if row.memory_mode == "polluted":
            await tx.run(Q["drop_source"], thread_id=thread_id)
        versions = await outputs.versions_of(tx, thread_id)
        if mode == "enabled":
            tx.then(partial(outputs.withheld.give_back, thread_id))
        else:
            tx.then(partial(outputs.withheld.add, thread_id, versions))
        for version in versions:
            await jobs.enqueue_consolidation(
                tx, version=version, watermark_ms=now_ms, urgent=mode != "enabled"
            )
    return True


async def pollute_thread(
    tx: Transaction,
    *,
    threads: ThreadStore,
    jobs: JobStore,
    outputs: OutputStore,
    thread_id: ThreadId,
    now_ms: int,
    source: OutsideSource | None = None,
) -> bool:
    """Bar a thread that took in outside context from being learned; whether it was not before.

    What was taken from it stays in its row and is not selected while it is barred.
    """
    row = await threads.get(tx, thread_id)
    if row is not None and row.memory_mode != "polluted":
        await set_mode(tx, threads, thread_id, "polluted")
    if row is not None and source is not None:
        await note_outside_source(tx, thread_id, source, now_ms=now_ms)
    versions = await outputs.versions_of(tx, thread_id)
    tx.then(partial(outputs.withheld.add, thread_id, versions))
    for version, selected in versions.items():
        if selected:
            await jobs.enqueue_consolidation(tx, version=version, watermark_ms=now_ms, urgent=True)
    return row is not None and row.memory_mode != "polluted"
