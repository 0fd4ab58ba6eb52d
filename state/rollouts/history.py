"""A thread's history out of its file: its turns for clients, its response items for the model.

Both history modes and mixtures of them are read by the same steps. Invariant: reading needs one
line at a time and keeps a bounded amount; what is left out of a very long history is the oldest,
and the result says so.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from state.ids import derived_uuid
from state.rollouts.items import (
    RecordedItem,
    RecordedTurn,
    RolloutLine,
    SessionMeta,
    SkippedLine,
    TurnStatus,
)
from state.rollouts.kept_input import in_place, own_notes
from state.rollouts.legacy import LegacyReader
from state.rollouts.model_input import ModelInput, NoInput
from state.rollouts.packed import NO_ITEMS, PackedItems, packed, unpacked
from state.rollouts.recalled import Recalled
from state.rollouts.recorded import from_recorded
from state.rollouts.store import parse_time_ms, read_lines, read_meta

ITEM_BYTES_MAX = 64 * 1_048_576
FORKS_MAX = 32
SKIPPED_MAX = 1_000

FindRollout = Callable[[str], Path | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a file tells of its thread."""

    meta: SessionMeta
    """With the memory mode of the last metadata line."""
    turns: list[RecordedTurn]
    response_items: list[dict[str, Any]]
    """What the model sees again: compaction and roll-backs applied, each call with its output, and
    no recalled memory."""
    recalled: Recalled
    """What the thread was told out of memory."""
    skipped: list[SkippedLine]
    token_usage: Mapping[str, Any] | None
    """`info` of the last `token_count`, as it was recorded."""
    context: Mapping[str, Any] | None
    """The last `turn_context`: model, cwd, approval policy, …"""
    updated_at_ms: int | None
    """The time of the last line."""
    truncated: bool
    """Whether old items were left out to keep this bounded."""
    turn_lines: list[int]
    """Of each turn the line of its file at which it begins."""


def read_history(
    path: Path,
    *,
    find_base: FindRollout | None = None,
    until: Callable[[RolloutLine], bool] = lambda _: False,
) -> History:
    """Read a thread's file, and the prefix of the file it was forked from where that is found.

    Reading ends before the first line for which `until` says so.

    Raises: OSError, RolloutUnreadable.
    """
    builder = _Builder(read_meta(path), ModelInput())
    for line in effective_lines(path, find_base=find_base):
        if isinstance(line, RolloutLine) and until(line):
            break
        builder.feed(line)
    return builder.finish()


def read_turns(path: Path, *, find_base: FindRollout | None = None) -> list[RecordedTurn]:
    """The turns of a thread's file alone, for who only looks at it.

    Raises: OSError, RolloutUnreadable.
    """
    builder = _Builder(read_meta(path), NoInput())
    for line in effective_lines(path, find_base=find_base):
        builder.feed(line)
    return builder.finish().turns


def effective_lines(
    path: Path, *, find_base: FindRollout | None = None
) -> Iterator[RolloutLine | SkippedLine]:
    """The lines of a file behind those of the history it was forked from.

    Raises: OSError, RolloutUnreadable.
    """
    copied = 1 + (read_meta(path).copied_lines or 0)
    placed = placed_lines(path, find_base=find_base)
    yield from in_place(
        own_notes(
            (source != path or line.line_number <= copied, line)
            for source, line in placed
            if source == path or (isinstance(line, RolloutLine) and line.type != "session_meta")
        )
    )


def placed_lines(
    path: Path, *, find_base: FindRollout | None = None, depth: int = 0
) -> Iterator[tuple[Path, RolloutLine | SkippedLine]]:
    """The same lines, each with the file it stands in, first lines of all files included.

    Raises: OSError, RolloutUnreadable.
    """
    base = read_meta(path).history_base
    source = find_base(base.thread_id) if base and find_base and depth < FORKS_MAX else None
    if base is not None and source is not None and source.exists():
        for place, line in placed_lines(source, find_base=find_base, depth=depth + 1):
            if isinstance(line, RolloutLine) and line.ordinal is not None:
                if line.ordinal >= base.end_ordinal_exclusive:
                    break
            yield place, line
    for line in read_lines(path):
        yield path, line


@dataclass(slots=True)
class _Turn:
    turn_id: str
    derived: bool
    input_start: int
    line: int
    started_at_s: int | None = None
    completed_at_s: int | None = None
    duration_ms: int | None = None
    status: TurnStatus | None = None
    error: Mapping[str, Any] | None = None
    types: dict[str, str] = field(default_factory=dict)
    """What each item is, by id. Tables of plain values: no look for garbage walks over them."""
    items: dict[str, bytes] = field(default_factory=dict)
    """Each item packed, by id."""
    size: int = 0

    @property
    def by_user(self) -> bool:
        return "userMessage" in self.types.values()

    def let_go(self) -> None:
        self.types, self.items, self.size = {}, {}, 0

    def finished(self) -> RecordedTurn:
        status = self.status
        if status is None:
            answered = self.derived and next(reversed(self.types.values()), "") == "agentMessage"
            status = "completed" if answered else "interrupted"
        return RecordedTurn(
            turn_id=self.turn_id,
            status=status,
            items=PackedItems(self.types.values(), self.items.values()) if self.items else NO_ITEMS,
            error=self.error,
            started_at_s=self.started_at_s,
            completed_at_s=self.completed_at_s,
            duration_ms=self.duration_ms,
        )


class _Builder:
    """Takes lines in order; holds the turn that is open."""

    def __init__(self, meta: SessionMeta, input_: ModelInput) -> None:
        self._meta = meta
        self._turns: list[_Turn] = []
        self._open: _Turn | None = None
        self._input = input_
        self._legacy = LegacyReader(meta.id, meta.cwd)
        self._skipped: list[SkippedLine] = []
        self._token_usage: Mapping[str, Any] | None = None
        self._context: Mapping[str, Any] | None = None
        self._updated_at_ms: int | None = None
        self._size = 0
        self._truncated = False
        self._oldest = 0
        """The first turn whose items are kept."""
        self._message_line: int | None = None
        """Where the line before this one stands, if it is a message of the user's role."""

    def feed(self, line: RolloutLine | SkippedLine) -> None:
        if isinstance(line, SkippedLine):
            if len(self._skipped) < SKIPPED_MAX:
                self._skipped.append(line)
            return
        at_ms = parse_time_ms(line.timestamp)
        self._updated_at_ms = at_ms or self._updated_at_ms
        match line.type:
            case "session_meta":
                self._take_meta(line.payload)
            case "event_msg":
                self._take_event(line, at_ms)
            case "response_item":
                self._input.add(line.payload, line.size)
                if self._meta.history_mode == "legacy":
                    self._take_items(self._legacy.from_response(line, at_ms), line, at_ms)
            case "compacted":
                self._input.compact(line.payload, line.size)
                for turn in self._turns:
                    turn.input_start = self._input.end
            case "turn_context":
                self._context = line.payload
            case _:
                pass
        said = line.type == "response_item" and line.payload.get("role") == "user"
        self._message_line = line.line_number if said else None

    def finish(self) -> History:
        # What was built with goes one by one: at once, it would hold up every thread.
        turn_lines = [turn.line for turn in self._turns]
        self._turns.reverse()
        turns = []
        while self._turns:
            turns.append(self._turns.pop().finished())
        return History(
            meta=self._meta,
            turns=turns,
            response_items=self._input.balanced(),
            recalled=self._input.recalled,
            skipped=self._skipped,
            token_usage=self._token_usage,
            context=self._context,
            updated_at_ms=self._updated_at_ms,
            truncated=self._truncated or self._input.truncated,
            turn_lines=turn_lines,
        )

    def _take_meta(self, payload: Mapping[str, Any]) -> None:
        # Later ones are copies made by a fork (another id) or changes of our own metadata.
        later = SessionMeta.parse(payload)
        if later and later.id == self._meta.id and later.memory_mode is not None:
            self._meta = self._meta.model_copy(update={"memory_mode": later.memory_mode})

    def _take_event(self, line: RolloutLine, at_ms: int | None) -> None:
        event = line.payload
        match event.get("type"):
            case "task_started" | "turn_started":
                self._begin(_text(event.get("turn_id")), line, _whole(event.get("started_at")))
            case "task_complete" | "turn_complete":
                failed = isinstance(event.get("error"), Mapping)
                self._end(event, at_ms, "failed" if failed else "completed")
            case "turn_aborted":
                self._end(event, at_ms, "interrupted")
            case "thread_rolled_back":
                self._roll_back(_whole(event.get("num_turns")) or 0)
            case "token_count":
                info = event.get("info")
                self._token_usage = info if isinstance(info, Mapping) else self._token_usage
            case "item_completed":
                self._take_recorded(line)
            case _:
                self._take_items(self._legacy.from_event(line, at_ms), line, at_ms)

    def _take_recorded(self, line: RolloutLine) -> None:
        event = line.payload
        item = event.get("item")
        read = from_recorded(item) if isinstance(item, Mapping) else None
        if read is None or not isinstance(item, Mapping):
            return
        turn_id = _text(event.get("turn_id"))
        if self._open is None or (turn_id and self._open.turn_id != turn_id):
            known = next((one for one in self._turns if one.turn_id == turn_id), None)
            self._open = known or self._open
            if known is None:
                self._begin(turn_id, line, None)
        turn = self._open
        assert turn is not None
        item_id = _text(item.get("id")) or derived_uuid(self._meta.id, line.line_number, "item")
        self._keep(
            turn,
            RecordedItem(
                item_id=item_id,
                turn_id=turn.turn_id,
                type=read[0],
                body=read[1],
                started_at_ms=_whole(event.get("started_at_ms")),
                completed_at_ms=_whole(event.get("completed_at_ms")),
            ),
            line.size,
        )

    def _take_items(self, items: list[RecordedItem], line: RolloutLine, at_ms: int | None) -> None:
        for item in items:
            typed = item.type == "userMessage"
            turn = self._open
            if turn is None or (typed and turn.derived and turn.by_user):
                turn = self._begin(None, line, None if at_ms is None else at_ms // 1000)
            if turn.derived and at_ms is not None:
                turn.completed_at_s = at_ms // 1000
            known = turn.items.get(item.item_id)
            started = item.started_at_ms if known is None else unpacked(known).started_at_ms
            self._keep(
                turn,
                RecordedItem(
                    item_id=item.item_id,
                    turn_id=turn.turn_id,
                    type=item.type,
                    body=item.body,
                    started_at_ms=started,
                    completed_at_ms=item.completed_at_ms,
                ),
                line.size,
            )

    def _begin(self, turn_id: str | None, line: RolloutLine, started_at_s: int | None) -> _Turn:
        derived = turn_id is None
        turn = _Turn(
            turn_id=turn_id or derived_uuid(self._meta.id, line.line_number, "turn"),
            derived=derived,
            # Old files hold the user's message for the model just before the one for clients.
            input_start=self._input.end - (1 if derived and self._input.ends_with_user else 0),
            line=(self._message_line if derived else None) or line.line_number,
            started_at_s=started_at_s,
        )
        self._turns.append(turn)
        self._open = turn
        return turn

    def _end(self, event: Mapping[str, Any], at_ms: int | None, status: TurnStatus) -> None:
        turn_id = _text(event.get("turn_id"))
        turn = next((one for one in reversed(self._turns) if one.turn_id == turn_id), self._open)
        if turn is None:
            return
        turn.status = status
        turn.completed_at_s = _whole(event.get("completed_at")) or (
            None if at_ms is None else at_ms // 1000
        )
        turn.started_at_s = turn.started_at_s or _whole(event.get("started_at"))
        turn.duration_ms = _whole(event.get("duration_ms"))
        error = event.get("error")
        turn.error = error if isinstance(error, Mapping) else None
        self._open = None

    def _roll_back(self, count: int) -> None:
        while self._turns and count > 0:
            turn = self._turns.pop()
            self._size -= turn.size
            self._input.cut(turn.input_start)
            count -= turn.by_user
        self._oldest = min(self._oldest, len(self._turns))
        self._open = None

    def _keep(self, turn: _Turn, item: RecordedItem, size: int) -> None:
        turn.types[item.item_id], turn.items[item.item_id] = item.type, packed(item)
        turn.size += size
        self._size += size
        while self._size > ITEM_BYTES_MAX and self._oldest < len(self._turns):
            oldest = self._turns[self._oldest]
            if oldest is turn:
                break
            self._oldest += 1
            self._truncated |= bool(oldest.items)
            self._size -= oldest.size
            oldest.let_go()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
