"""Taking a thread out of memory: its deletion, its pollution, its mode, in one transaction each.

Invariant: whoever calls this inside a transaction leaves no output of a deleted thread, of any
version, and no consolidated thread goes without a consolidation being asked for at once.
"""

from state.database import Transaction
from state.ids import ThreadId
from state.stores.jobs import JobStore
from state.stores.outputs import OutputStore
from state.stores.threads import MemoryMode, ThreadStore


async def delete_thread_memory(
    tx: Transaction, *, jobs: JobStore, outputs: OutputStore, thread_id: ThreadId, now_ms: int
) -> bool:
    """Remove what was taken from a thread, and its jobs; whether there was an output."""
    versions = await outputs.versions_of(tx, thread_id)
    for version, selected in versions.items():
        await outputs.delete(tx, version, thread_id)
        if selected:
            await jobs.enqueue_consolidation(tx, version=version, watermark_ms=now_ms, urgent=True)
    await jobs.delete_for_thread(tx, thread_id)
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
        await threads.set_memory_mode(tx, thread_id, mode)
        for version in await outputs.versions_of(tx, thread_id):
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
) -> bool:
    """Bar a thread that took in outside context from being learned; whether it was not before.

    What was taken from it stays in its row and is never selected again.
    """
    row = await threads.get(tx, thread_id)
    if row is not None and row.memory_mode != "polluted":
        await threads.set_memory_mode(tx, thread_id, "polluted")
    for version, selected in (await outputs.versions_of(tx, thread_id)).items():
        if selected:
            await jobs.enqueue_consolidation(tx, version=version, watermark_ms=now_ms, urgent=True)
    return row is not None and row.memory_mode != "polluted"
