"""The switch by which a person pauses learning; it outlives the process and a reset of memory."""

from state.database import Reading, Transaction
from state.named_queries import Queries

Q = Queries("switch")


async def is_paused(read: Reading) -> bool:
    """Whether learning is paused."""
    return await read.one(Q["paused"]) is not None


async def set_paused(tx: Transaction, paused: bool) -> bool:
    """Pause learning or let it go on; false when it was so already."""
    return await tx.run(Q["pause" if paused else "go_on"]) > 0
