"""Replays frames recorded from the original against a server of ours and compares, frame by frame.

Ids are mapped as they are met, times count only as there or not, deltas are joined, and
`thread/started` may come anywhere. Turns that the original filled with commands or files are run
with a plain answer instead and not compared; what they changed is left out on both sides.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from server.assembly import Server
from server.wire.pair import PairClient
from tests.support.frame_matching import Matcher, is_left_behind
from tests.support.recordings import (
    Entry,
    Frame,
    Step,
    acting_turns_of,
    completed_turns,
    is_dropped,
    kind_of,
    renumbered,
    replies,
    short_name,
    steered_turns_of,
    steps_in_scope,
    turn_of_reply,
)

WAIT_S = 20.0
DELTA = "item/agentMessage/delta"


@dataclass(slots=True)
class Comparison:
    """What a replay found."""

    frames: int = 0
    skipped_requests: Counter[str] = field(default_factory=Counter)
    skipped_turns: int = 0
    deviations: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def add(self, other: "Comparison") -> None:
        """Count another replay in."""
        self.frames += other.frames
        self.skipped_requests += other.skipped_requests
        self.skipped_turns += other.skipped_turns
        self.deviations += other.deviations
        self.differences += other.differences


class Servers:
    """The server of a replay, and a new one on the same home when the recording says so."""

    def __init__(self, start: Callable[[], Awaitable[Server]]) -> None:
        self._start = start
        self.server: Server

    async def restart(self) -> None:
        """Stop the one there is and start another."""
        await self.stop()
        self.server = await self._start()

    async def stop(self) -> None:
        """Stop it."""
        if hasattr(self, "server"):
            await self.server.stop(0)


class Replay:
    """One recording against one server."""

    def __init__(
        self, name: str, entries: list[Entry], servers: Servers, *, deviations: dict[str, str]
    ) -> None:
        self._name = name
        self._servers = servers
        self._deviations = deviations
        self._ids: dict[str, str] = {}
        self._cursors: dict[str, str] = {}
        self._clients: dict[str, _Client] = {}
        self._free: dict[tuple[str, str], list[Frame]] = {}
        """By side and connection: what may come anywhere."""
        self._ended: dict[tuple[str, str], set[str]] = {}
        self._skipped: set[str] = set()
        self._odd_running: dict[str, str] = {}
        self._result = Comparison()
        self._busy = set(acting_turns_of(entries))
        """Turns that did more than talk."""
        self._odd = self._busy | set(steered_turns_of(entries))
        self._cut_short = {
            turn["id"]
            for turn in completed_turns(entries)
            if turn["status"] in ("interrupted", "failed")
        }
        self._apart: set[str] = set()
        self._steps = list(steps_in_scope(entries, self._busy, self._result.skipped_requests))

    async def run(self) -> Comparison:
        """Send, wait, compare, step by step."""
        try:
            for step in self._steps:
                await self._take(step)
            self._compare_free()
        finally:
            for client in self._clients.values():
                await client.close()
        return self._result

    async def _take(self, step: Step) -> None:
        entry, frame, self._apart = step.entry, step.entry.frame, step.apart
        if entry.direction == "note":
            await self._note(frame)
        else:
            await (await self._client(entry.connection)).send(self._mapped(frame))
        expected = {name: self._expected(name, step) for name in {*step.answers, *self._clients}}
        odd_thread = self._odd_thread(step)
        await self._settled(step, expected, odd_thread)
        self._learn_turn(step)
        for name, wanted in expected.items():
            if name not in self._clients:
                continue
            came = [frame for frame in self._clients[name].take() if not self._is_apart(frame)]
            got = self._joined(self._sift("ours", name, came))
            if odd_thread is not None:
                wanted, got = replies(wanted), replies(got)
            if entry.direction == "note":
                # Malformed input has a reply here and had none there.
                got = [one for one in got if "error" not in one or one in wanted]
            self._compare_lists(
                f"{self._name}:{name} after {short_name(frame)}", wanted, got, frame
            )

    def _learn_turn(self, step: Step) -> None:
        """Map the turn of a `turn/start` before anything that tells of it is judged."""
        entry = step.entry
        if entry.frame.get("method") != "turn/start":
            return
        theirs = turn_of_reply(step.answers.get(entry.connection, []), entry.frame["id"])
        ours = turn_of_reply(self._clients[entry.connection].got, entry.frame["id"])
        if theirs is not None and ours is not None:
            self._ids.setdefault(theirs, ours)

    async def _note(self, frame: Frame) -> None:
        path = frame.get("path", "")
        if frame["note"] == "wrote file" and path.endswith("memory_summary.md"):
            relative = path.removeprefix("/home/user/.codex/")
            target = self._servers.server.services.state.home.root / relative
            target.parent.mkdir(exist_ok=True)
            target.write_text(f"# Summary\nThe user likes blue. ({relative})\n", "utf-8")
        elif frame["note"] == "raw text sent":
            await (await self._client("a")).send_text(frame["text"])
        elif frame["note"].endswith("new process"):
            for client in self._clients.values():
                await client.close()
            self._clients.clear()
            await self._servers.restart()
        elif frame["note"].endswith(" disconnects"):
            await self._clients.pop(frame["note"].split()[0]).close()

    async def _client(self, name: str) -> "_Client":
        if name not in self._clients:
            self._clients[name] = _Client(self._servers.server.attach())
        return self._clients[name]

    def _expected(self, name: str, step: Step) -> list[Frame]:
        """What should come to a connection in this step."""
        frames = [frame for frame in step.answers.get(name, ()) if self._counts(frame)]
        return self._joined(self._sift("theirs", name, frames))

    def _is_apart(self, frame: Frame) -> bool:
        params = frame.get("params") or {}
        thread_id = params.get("threadId") or (params.get("thread") or {}).get("id")
        turn_id = params.get("turnId") or (params.get("turn") or {}).get("id")
        mapped = {self._ids[one] for one in self._apart | self._odd if one in self._ids}
        return thread_id in mapped or (turn_id in mapped and "method" in frame)

    def _sift(
        self, side: str, name: str, frames: list[Frame], *, keep_free: bool = True
    ) -> list[Frame]:
        """Set aside what may come anywhere: new threads, and usage told again after a resume."""
        ended = self._ended.setdefault((side, name), set())
        ended = ended if keep_free else set(ended)
        kept = []
        for frame in frames:
            method, params = frame.get("method"), frame.get("params") or {}
            told_again = method == "thread/tokenUsage/updated" and params["turnId"] in ended
            if not told_again and method != "thread/started":
                kept.append(frame)
            elif keep_free:
                self._free.setdefault((side, name), []).append(frame)
            if method == "turn/completed":
                ended.add(params["turn"]["id"])
        return kept

    def _compare_free(self) -> None:
        for name in {name for _, name in self._free}:
            theirs = self._free.get(("theirs", name), [])
            ours = self._free.get(("ours", name), [])
            for kind in {kind_of(frame) for frame in (*theirs, *ours)}:
                wanted = [frame for frame in theirs if kind_of(frame) == kind]
                got = [frame for frame in ours if kind_of(frame) == kind]
                self._compare_lists(f"{self._name}:{name} {kind}", wanted, got, {})

    def _counts(self, frame: Frame) -> bool:
        method, params = frame.get("method"), frame.get("params") or {}
        if method is None:
            return True
        thread_id = params.get("threadId") or (params.get("thread") or {}).get("id")
        if thread_id in self._apart:
            return False
        turn_id = params.get("turnId") or (params.get("turn") or {}).get("id")
        return not is_dropped(method) and turn_id not in self._odd and "id" not in frame

    def _odd_thread(self, step: Step) -> str | None:
        """The thread of the step while a turn runs in it that does not count."""
        frame = step.entry.frame
        thread_id = str((frame.get("params") or {}).get("threadId"))
        turn_id = turn_of_reply(step.answers.get(step.entry.connection, []), frame.get("id"))
        if turn_id is not None and turn_id in self._odd - self._skipped:
            self._skipped.add(turn_id)
            self._result.skipped_turns += 1
            self._odd_running[thread_id] = turn_id
        running = self._odd_running.get(thread_id)
        for frames in step.answers.values():
            for one in frames:
                if one.get("method") == "turn/completed" and running is not None:
                    if one["params"]["turn"]["id"] == running:
                        self._odd_running.pop(thread_id, None)
        return thread_id if running is not None else None

    async def _settled(
        self, step: Step, expected: dict[str, list[Frame]], odd_thread: str | None
    ) -> None:
        """Wait until as much came as should, then until nothing more is on its way."""
        completed = any(
            frame.get("method") == "turn/completed"
            for frames in step.answers.values()
            for frame in frames
        )
        asked = step.entry.frame.get("id")

        def answered(frames: list[Frame]) -> bool:
            return any("method" not in one and one.get("id") == asked for one in frames)

        if answered(expected.get(step.entry.connection, [])):
            # An answer may wait for a disk, so one that was asked for later may come before it.
            await self._clients[step.entry.connection].until(answered)
        for name, client in self._clients.items():
            if odd_thread is None:
                count = len(expected.get(name, ()))
                await client.until(
                    lambda got, name=name, count=count: self._count("ours", name, got) >= count
                )
        if odd_thread is not None and completed:
            client = self._clients[step.entry.connection]
            await client.until(
                lambda got: any(frame.get("method") == "turn/completed" for frame in got)
            )
        for client in self._clients.values():
            await client.barrier()

    def _count(self, side: str, name: str, frames: list[Frame]) -> int:
        return len(self._joined(self._sift(side, name, frames, keep_free=False)))

    def _joined(self, frames: list[Frame]) -> list[Frame]:
        """Without what does not count, and with the deltas of an item as one."""
        joined: list[Frame] = []
        texts: dict[str, Frame] = {}
        ours = {self._ids[turn] for turn in self._cut_short if turn in self._ids}
        for frame in frames:
            method = frame.get("method")
            if method is not None and is_dropped(method):
                continue
            if is_left_behind(frame, self._cut_short | ours):
                continue
            if method == DELTA:
                params = frame["params"]
                if params["turnId"] in self._cut_short | ours:
                    continue
                known = texts.get(params["itemId"])
                if known is not None:
                    known["params"]["delta"] += params["delta"]
                    continue
                frame = {**frame, "params": dict(params)}
                texts[params["itemId"]] = frame
            joined.append(frame)
        return joined

    def _mapped(self, frame: Frame) -> Frame:
        """A recorded request with our ids and cursors in it."""
        text = json.dumps(frame)
        for theirs, ours in self._ids.items():
            text = text.replace(theirs, ours)
        mapped: Frame = json.loads(text)
        cursor = (frame.get("params") or {}).get("cursor")
        if cursor in self._cursors:
            mapped["params"]["cursor"] = self._cursors[cursor]
        if frame.get("method") == "command/exec":
            # Its folder is not on this machine, and a sandbox may not be either.
            given = {"cwd": "/", "sandboxPolicy": {"type": "dangerFullAccess"}}
            mapped["params"] |= {**given, "timeoutMs": 60_000}
        return mapped

    def _compare_lists(
        self, where: str, wanted: list[Frame], got: list[Frame], request: Frame
    ) -> None:
        reason = self._deviations.get(
            f"{self._name}:{where.partition(':')[2][:1]}:{request.get('id')}"
        )
        if reason is not None:
            self._result.deviations.append(f"{where}: {reason}")
            return
        for index in range(max(len(wanted), len(got))):
            theirs = wanted[index] if index < len(wanted) else None
            ours = got[index] if index < len(got) else None
            if theirs is None or ours is None or kind_of(theirs) != kind_of(ours):
                self._result.differences.append(
                    f"{where}: frame {index} should be {kind_of(theirs)}, is {kind_of(ours)}; "
                    f"wanted {[kind_of(one) for one in wanted]}, "
                    f"got {[kind_of(one) for one in got]}"
                )
                return
            self._result.frames += 1
            matcher = Matcher(self._ids, self._cursors, self._odd, self._apart)
            matcher.match(renumbered(theirs), ours, kind_of(theirs))
            self._result.differences += [f"{where}: {one}" for one in matcher.differences]


class _Client:
    """A connection that keeps what came."""

    def __init__(self, link: PairClient) -> None:
        self._link = link
        self.got: list[Frame] = []
        self._barriers = 0
        self._initialized = False
        self._changed = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def send(self, frame: Frame) -> None:
        if frame["method"] == "initialize":
            self._initialized = True
        await self.send_text(json.dumps(frame))

    async def send_text(self, text: str) -> None:
        await self._link.send(text.encode())

    async def until(self, enough: Any) -> None:
        """Wait a bounded time; what is missing then shows in the comparison."""
        try:
            async with asyncio.timeout(WAIT_S), self._changed:
                await self._changed.wait_for(lambda: enough(self.got))
        except TimeoutError:
            return

    async def barrier(self) -> None:
        """Wait until all that was sent before now has come."""
        if not self._initialized:
            return
        self._barriers += 1
        number = f"barrier-{self._barriers}"
        await self.send_text(
            json.dumps({"id": number, "method": "thread/loaded/list", "params": {}})
        )
        await self.until(lambda got: any(frame.get("id") == number for frame in got))

    def take(self) -> list[Frame]:
        """What came since the last time."""
        taken, self.got = self.got, []
        return [frame for frame in taken if not str(frame.get("id", "")).startswith("barrier-")]

    async def close(self) -> None:
        await self._link.close()
        await asyncio.wait({self._reader}, timeout=WAIT_S)

    async def _read(self) -> None:
        while (raw := await self._link.receive()) is not None:
            async with self._changed:
                self.got.append(json.loads(raw))
                self._changed.notify_all()
