"""Writes one thread to its rollout file and its row, in order and to the end.

Invariant: when a method returns, its lines are in the file; a cancelled caller still waits for what
was begun. An ephemeral thread has no recorder file: every method does nothing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from server.agent.models.base import TokenUse
from server.agent.saying import Said
from state.errors import RolloutMissing
from state.recovery import State
from state.rollouts.items import RecordedItem, SessionMeta
from state.rollouts.lines import Line, agent_message_lines, item_completed, user_message_lines
from state.rollouts.store import RolloutWriter
from state.stores.threads import ThreadRow

P = ParamSpec("P")
T = TypeVar("T")


class Recorder:
    """The file and the row of one thread; used by its task, and by what it left running."""

    def __init__(self, state: State, draft: ThreadRow, *, stored: bool, ephemeral: bool) -> None:
        self._state = state
        self._ephemeral = ephemeral
        self._writer: RolloutWriter | None = None
        self._held: list[Line] = []
        self._file_free = asyncio.Lock()
        """Held for each use of the file, so that it can be replaced between two of them."""
        self.draft = draft
        self.stored = stored
        """Whether the row is in the database and the file exists."""

    @property
    def opened(self) -> bool:
        """Whether there is nothing to open: it is open, or nothing is kept."""
        return self._ephemeral or self._writer is not None

    async def open(self, meta: SessionMeta) -> None:
        """Make the file of a new thread, or continue the one it has.

        Raises: OSError, HomeUnusable, RolloutUnreadable.
        """
        async with self._file_free:
            if not self.opened:
                self._writer = await to_the_end(self._opened, meta)

    async def reopen(self) -> None:
        """Continue the file of a stored thread.

        Raises: OSError, RolloutUnreadable.
        """
        async with self._file_free:
            if not self.opened:
                path = self._state.home.root / self.draft.rollout_path
                self._writer = await to_the_end(RolloutWriter.open, path, clock=self._state.clock)

    async def record(self, lines: Sequence[Line]) -> None:
        """Append lines, those held back before them.

        Raises: OSError, RolloutMissing.
        """
        async with self._file_free:
            lines, self._held = [*self._held, *lines], []
            writer = self._ready()
            if writer is not None and lines:
                await to_the_end(writer.append, lines)

    def hold(self, line: Line) -> None:
        """Append this line together with the next ones."""
        self._held.append(line)

    async def settle(self, lines: Sequence[Line]) -> None:
        """Append the last lines of a turn and wait until all is on disk.

        Raises: OSError, RolloutMissing.
        """
        async with self._file_free:
            lines, self._held = [*self._held, *lines], []
            writer = self._ready()
            if writer is not None:
                await to_the_end(self._append_and_sync, writer, lines)

    async def rewrite(self, work: Callable[[], object]) -> None:
        """Let this replace the file between two writes; what is recorded later goes to the new one.

        Raises: OSError, RolloutUnreadable.
        """
        async with self._file_free:
            writer, self._writer = self._writer, None
            if writer is not None:
                await to_the_end(writer.close)
            try:
                await to_the_end(work)
            finally:
                if writer is not None:
                    opened = RolloutWriter.open
                    self._writer = await to_the_end(opened, writer.path, clock=self._state.clock)

    async def put_row(self, **changes: Any) -> None:
        """Write the thread's row with these fields changed.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        self.draft = replace(self.draft, **changes)
        if self._ephemeral or self._writer is None:
            # A row without its file would make a thread that cannot be opened.
            return
        if not self.stored:
            await self._put_first()
            return
        row = self.draft
        async with self._state.database.writing() as tx:
            await self._state.threads.touch(
                tx,
                row.thread_id,
                updated_at_ms=row.updated_at_ms,
                preview=row.preview or None,
                model=row.model,
            )

    async def _put_first(self) -> None:
        """Make the row; what is set meanwhile was acknowledged, so it is in the row as well."""
        row = None
        while row != self.draft:
            row = self.draft
            async with self._state.database.writing() as tx:
                await self._state.threads.put(tx, row)
        self.stored = True

    def user_lines(self, said: Said, text: str) -> Sequence[Line]:
        """What the user said, in the file's own history mode."""
        lines = user_message_lines(
            self.draft.thread_id, said.item, response=said.response, kinds=said.kinds
        )
        if self.draft.history_mode == "legacy":
            told = {"type": "user_message", "message": text, "images": []}
            return [lines[0], {"type": "event_msg", "payload": told}]
        return lines

    def agent_lines(
        self, item: RecordedItem, response: Mapping[str, Any], citation: Any
    ) -> Sequence[Line]:
        """An answer, in the file's own history mode."""
        lines = agent_message_lines(self.draft.thread_id, item, response=response)
        if self.draft.history_mode == "legacy":
            told = {
                "type": "agent_message",
                "message": item.body["text"],
                "phase": item.body.get("phase"),
                "memory_citation": citation,
            }
            return [{"type": "event_msg", "payload": told}, lines[1]]
        return lines

    def item_line(self, item: RecordedItem) -> Line:
        """An item of another kind."""
        return item_completed(self.draft.thread_id, item)

    async def close(self) -> None:
        """Let go of the file."""
        async with self._file_free:
            writer, self._writer = self._writer, None
            if writer is not None:
                await to_the_end(writer.close)

    def _ready(self) -> RolloutWriter | None:
        """The open file; None for an ephemeral thread."""
        if self._writer is None and not self._ephemeral:
            raise RolloutMissing(self.draft.thread_id)
        return self._writer

    def _opened(self, meta: SessionMeta) -> RolloutWriter:
        clock, home = self._state.clock, self._state.home
        if self.stored:
            return RolloutWriter.open(home.root / self.draft.rollout_path, clock=clock)
        created_at_ms = self.draft.created_at_ms
        return RolloutWriter.create(home, meta, created_at_ms=created_at_ms, clock=clock)

    @staticmethod
    def _append_and_sync(writer: RolloutWriter, lines: Sequence[Line]) -> None:
        if lines:
            writer.append(lines)
        writer.sync()


async def to_the_end(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking call in a thread; if cancelled meanwhile, raise that only after its end."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    cancelled = False
    while not running.done():
        try:
            # `wait` leaves the work alone when this task is cancelled.
            await asyncio.wait((running,))
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        running.exception()
        raise asyncio.CancelledError
    return running.result()


def snake_use(use: TokenUse) -> dict[str, int]:
    """Token counts as a rollout holds them."""
    return {
        "input_tokens": use.input_tokens,
        "cached_input_tokens": use.cached_input_tokens,
        "cache_write_input_tokens": use.cache_write_input_tokens,
        "output_tokens": use.output_tokens,
        "reasoning_output_tokens": use.reasoning_output_tokens,
        "total_tokens": use.total_tokens,
    }
