"""The row of a private thread, that neither sees memory nor becomes it: it shows no words of it.

Invariant: whoever changes a mode, a use or a name by these leaves neither preview nor name of one
in its row. Clients make names of what was said, so a name is as telling as a preview.
"""

from dataclasses import replace

from state.database import Transaction
from state.ids import ThreadId
from state.policy.preview import PRIVATE_PREVIEW
from state.stores.threads import MemoryMode, ThreadRow, ThreadStore


def is_private(row: ThreadRow) -> bool:
    """Whether the thread neither sees memory nor becomes it."""
    return not row.use_memories and row.memory_mode != "enabled"


def as_shown(row: ThreadRow) -> ThreadRow:
    """The row as it may be stored: of a private thread without its words."""
    if not is_private(row):
        return row
    return replace(row, preview=PRIVATE_PREVIEW if row.preview else "", name=None)


async def set_name(
    tx: Transaction, threads: ThreadStore, thread_id: ThreadId, name: str | None
) -> None:
    """Name a thread; a private one stays without."""
    row = await threads.get(tx, thread_id)
    if row is not None and not is_private(row):
        await threads.set_name(tx, thread_id, name)


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
    if row is None or as_shown(row) == row:
        return
    if row.name is not None:
        await threads.set_name(tx, thread_id, None)  # the journal is told as well
    await threads.put(tx, as_shown(row))
