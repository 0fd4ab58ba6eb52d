"""Makes a thread out of the beginning of another one, and keeps forks whole when it goes.

Invariant: what a fork inherits stays its source's: it is marked or stays in the source's file, and
memory mode and use go on. A fork's own settings stand in its file, so a resume never takes those of
an imported source for permissions.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from server.agent.checkout import Checkout, read_checkout
from server.agent.inputs import ForkOptions, ThreadSettings
from server.agent.opening import recorded_settings
from server.agent.recorder import to_the_end
from server.agent.thread_settings import wants_memory
from state.errors import RolloutMissing
from state.ids import ThreadId, uuid7
from state.recovery import State
from state.rollouts.history import History, read_history
from state.rollouts.items import RolloutLine, SessionMeta
from state.rollouts.lines import Line, turn_aborted
from state.rollouts.packed import types_of
from state.rollouts.prefix import base_of, boundary_of, legacy_end, write_copy
from state.rollouts.store import RolloutWriter, read_meta, rfc3339, rollout_path
from state.stores.private_rows import as_shown
from state.stores.threads import ThreadRow

Bases = Mapping[str, Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """A fork as it begins."""

    row: ThreadRow
    history: History


async def make_fork(
    state: State,
    source: ThreadRow,
    settings: ThreadSettings,
    options: ForkOptions,
    *,
    cli_version: str,
) -> Forked:
    """Make the file and the row of a fork; of an ephemeral one neither.

    Raises: RolloutMissing, TurnMissing, RolloutUnreadable, OSError, DatabaseUnusable.
    """
    bases = await bases_of(state, source.thread_id)
    now_ms = state.clock.now_ms()
    thread_id = ThreadId(uuid7(now_ms))
    row = replace(
        source,
        thread_id=thread_id,
        rollout_path=str(rollout_path(state.home, thread_id, now_ms).relative_to(state.home.root)),
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
        cwd=settings.cwd,
        thread_source=options.thread_source,
        model_provider=settings.provider,
        model=settings.model,
        cli_version=cli_version,
        originator=options.originator,
        source=json.dumps("vscode"),
        memory_mode=(
            "disabled" if options.barred and source.memory_mode == "enabled" else source.memory_mode
        ),
        archived=False,
        forked_from_id=source.thread_id,
        imported_from=None,
        imported_digest=None,
        imported_at_ms=None,
        use_memories=source.use_memories and wants_memory(options.change),
        parent_thread_id=None,
        history_base_id=None,
    )
    work = _Making(state, source, as_shown(row), settings, options, bases)
    forked = await to_the_end(work.run)
    if not options.ephemeral:
        async with state.database.writing() as tx:
            await state.threads.put(tx, forked.row)
    return forked


async def bases_of(state: State, thread_id: ThreadId) -> Bases:
    """The files that hold the beginning of a thread's history, by thread."""
    async with state.database.reading() as read:
        return await state.lineage.bases(read, thread_id, state.home)


@dataclass(frozen=True, slots=True)
class _Making:
    """The blocking part."""

    state: State
    source: ThreadRow
    row: ThreadRow
    settings: ThreadSettings
    options: ForkOptions
    bases: Bases

    def run(self) -> Forked:
        """Write the file unless the fork is ephemeral, and read its history."""
        path = self.state.home.root / self.source.rollout_path
        try:
            if self.source.history_mode == "legacy":
                row, history = self._legacy(path)
            else:
                row, history = self._paginated(path)
        except FileNotFoundError as error:
            raise RolloutMissing(self.source.thread_id) from error
        spoken = any("userMessage" in types_of(turn.items) for turn in history.turns)
        return Forked(row=row if spoken else replace(row, preview=""), history=history)

    def _paginated(self, path: Path) -> tuple[ThreadRow, History]:
        boundary = boundary_of(path, self.options.cut, find_base=self.bases.get)
        if self.options.ephemeral:
            history = read_history(
                path,
                find_base=self.bases.get,
                until=lambda line: boundary is None or not boundary.holds(line),
            )
            return self.row, history
        checkout = read_checkout(self.settings.cwd)
        meta = self._meta(path, checkout)
        if boundary is not None:
            meta["history_base"] = base_of(boundary)
        writer = RolloutWriter.create(
            self.state.home,
            SessionMeta.model_validate(meta),
            created_at_ms=self.row.created_at_ms,
            clock=self.state.clock,
        )
        self._begin(writer, boundary.open_turn_id if boundary else None)
        bases = {**self.bases, self.source.thread_id: path}
        row = replace(
            self._with_checkout(checkout),
            history_base_id=boundary.thread_id if boundary else None,
        )
        return row, read_history(writer.path, find_base=bases.get)

    def _legacy(self, path: Path) -> tuple[ThreadRow, History]:
        before_line, open_turn = legacy_end(path, self.options.cut)

        def beyond(line: RolloutLine) -> bool:
            return before_line is not None and line.line_number >= before_line

        if self.options.ephemeral:
            return self.row, read_history(path, until=beyond)
        checkout = read_checkout(self.settings.cwd)
        target = self.state.home.root / self.row.rollout_path
        write_copy(
            target,
            SessionMeta.model_validate(self._meta(path, checkout)),
            path,
            timestamp=rfc3339(self.row.created_at_ms),
            before_line=before_line,
        )
        self._begin(RolloutWriter.open(target, clock=self.state.clock), open_turn)
        return self._with_checkout(checkout), read_history(target)

    def _begin(self, writer: RolloutWriter, open_turn_id: str | None) -> None:
        """The fork's own first lines: the end of a turn that was cut, and its own settings."""
        lines: list[Line] = []
        if open_turn_id is not None:
            at_s = self.row.created_at_ms // 1000
            lines.append(turn_aborted(open_turn_id, completed_at_s=at_s, duration_ms=0))
        lines.append({"type": "turn_context", "payload": recorded_settings(self.settings)})
        try:
            writer.append(lines)
        finally:
            writer.close()

    def _meta(self, path: Path, checkout: Checkout) -> dict[str, object]:
        row, source = self.row, read_meta(path)
        meta: dict[str, object] = {
            "id": row.thread_id,
            "session_id": row.thread_id,
            "timestamp": rfc3339(row.created_at_ms),
            "cwd": row.cwd,
            "originator": row.originator or "memoryd",
            "cli_version": row.cli_version,
            "source": json.loads(row.source),
            "thread_source": row.thread_source,
            "model_provider": row.model_provider,
            "memory_mode": row.memory_mode,
            "memory_use": None if row.use_memories else False,
            "history_mode": row.history_mode,
            "forked_from_id": source.id,
        }
        if self.settings.instructions is not None:
            meta["base_instructions"] = {"text": self.settings.instructions}
        if checkout.known:
            meta["git"] = {
                "commit_hash": checkout.commit_id,
                "branch": checkout.branch,
                "repository_url": checkout.origin_url,
            }
        return meta

    def _with_checkout(self, checkout: Checkout) -> ThreadRow:
        return replace(
            self.row,
            git_branch=checkout.branch,
            git_sha=checkout.commit_id,
            git_origin_url=checkout.origin_url,
        )


async def stored_history(state: State, row: ThreadRow) -> History:
    """The whole history of a stored thread, what it inherited included.

    Raises: FileNotFoundError, RolloutUnreadable, OSError, DatabaseUnusable.
    """
    bases: Bases = {}
    if row.history_base_id is not None:
        bases = await bases_of(state, row.thread_id)
    path = state.home.root / row.rollout_path
    return await asyncio.to_thread(read_history, path, find_base=bases.get)
