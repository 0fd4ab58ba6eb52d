"""Where threads come from, and where their files are on the way to: forks, descendants, moves.

Invariant: a file that is being moved has a line here from before the move until its row agrees, so
that a start after a crash can tell where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from state.database import Reading, Transaction
from state.home import Home
from state.ids import ThreadId
from state.named_queries import Queries
from state.rollouts.history import FORKS_MAX
from state.stores.threads import ThreadRow, thread_row

Q = Queries("lineage")

DESCENDANTS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A thread's file on its way; paths are relative to the root of the home."""

    thread_id: ThreadId
    from_path: str
    to_path: str
    archived: bool
    """Whether it goes into the archive."""


class LineageStore:
    """What is known of the origin of threads, and of moves under way."""

    async def bases(self, read: Reading, thread_id: ThreadId, home: Home) -> Mapping[str, Path]:
        """The files that hold the beginning of a thread's history, by thread; mostly none."""
        rows = await read.all(Q["bases"], thread_id=thread_id, depth_max=FORKS_MAX)
        return {row["thread_id"]: home.root / row["rollout_path"] for row in rows}

    async def forks_on(self, read: Reading, thread_id: ThreadId) -> list[ThreadRow]:
        """The threads whose history begins in this one's file."""
        return [thread_row(row) for row in await read.all(Q["forks_on"], thread_id=thread_id)]

    async def set_base(
        self, tx: Transaction, thread_id: ThreadId, base_id: ThreadId | None
    ) -> None:
        """Note whose file holds the beginning of a thread's history now."""
        await tx.run(Q["set_base"], thread_id=thread_id, base_id=base_id)

    async def descendants(self, read: Reading, thread_id: ThreadId) -> list[ThreadRow]:
        """The threads that it spawned, and those they spawned."""
        rows = await read.all(Q["descendants"], thread_id=thread_id, limit=DESCENDANTS_MAX)
        return [thread_row(row) for row in rows]

    async def begin_move(self, tx: Transaction, move: Move) -> None:
        """Note that a file is about to be moved."""
        await tx.run(
            Q["begin_move"],
            thread_id=move.thread_id,
            from_path=move.from_path,
            to_path=move.to_path,
            archived=int(move.archived),
        )

    async def end_move(self, tx: Transaction, thread_id: ThreadId) -> None:
        """Note that file and row agree again."""
        await tx.run(Q["end_move"], thread_id=thread_id)

    async def moves(self, read: Reading) -> list[Move]:
        """The moves that did not end."""
        return [
            Move(
                thread_id=ThreadId(row["thread_id"]),
                from_path=row["from_path"],
                to_path=row["to_path"],
                archived=bool(row["archived"]),
            )
            for row in await read.all(Q["moves"])
        ]
