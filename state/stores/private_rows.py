"""The row of a private thread, that neither sees memory nor becomes it: it shows no words of it.

Invariant: whoever changes a mode or a use by these leaves no preview of one in its row.
"""

from dataclasses import replace

from state.database import Transaction
from state.ids import ThreadId
from state.policy.preview import PRIVATE_PREVIEW
from state.stores.threads import MemoryMode, ThreadRow, ThreadStore


def as_shown(row: ThreadRow) -> ThreadRow:
    """The row as it may be stored: of a private thread without its words."""
    private = not row.use_memories and row.memory_mode != "enabled"
    return replace(row, preview=PRIVATE_PREVIEW) if private and row.preview else row


async def set_mode(
    tx: Transaction, threads: ThreadStore, thread_id: ThreadId, mode: MemoryMode
) -> None:
    """Say whether a thread is learned from."""
    await threads.set_memory_mode(tx, thread_id, mode)
    if mode != "enabled":
        await _show_no_words(tx, threads, thread_id)


async def set_use(tx: Transaction, threads: ThreadStore, thread_id: ThreadId, use: bool) -> None:
    """Say whether a thread sees memory."""
    await threads.set_use_memories(tx, thread_id, use)
    if not use:
        await _show_no_words(tx, threads, thread_id)


async def _show_no_words(tx: Transaction, threads: ThreadStore, thread_id: ThreadId) -> None:
    row = await threads.get(tx, thread_id)
    if row is not None and as_shown(row) != row:
        await threads.put(tx, as_shown(row))
