"""Replays frames recorded from the original against a server of ours and compares, frame by frame.

Ids are mapped as they are met, times count only as there or not, deltas are joined, and
`thread/started` may come anywhere. Turns that the original filled with commands or files are run
with a plain answer instead and not compared; what they changed is left out on both sides.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocol.methods import METHODS_BY_NAME
from server.assembly import Server
from server.wire.pair import PairClient

WAIT_S = 5.0
DROPPED = frozenset({"warning", "account/rateLimits/updated", "deprecationNotice"})
DROPPED_PREFIXES = ("remoteControl/", "thread/readState/", "thread/goal/")
DELTA = "item/agentMessage/delta"
_ODD_ITEMS = frozenset({"commandExecution", "fileChange", "contextCompaction", "reasoning"})
_HARMLESS = ("/get", "/list", "/read", "/search", "/status")

Frame = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a recording."""

    connection: str
    direction: str
    frame: Frame


@dataclass(slots=True)
class Step:
    """What a client sent, and all that came until it or another sent the next thing."""

    entry: Entry
    answers: dict[str, list[Frame]] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    """Threads that requests out of scope have made or changed until then."""


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


def read_recording(path: Path) -> list[Entry]:
    """The lines of a recording in order."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Entry(line["conn"], line["dir"], line["frame"]) for line in lines]


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
        self._busy = set(_acting_turns(entries))
        """Turns that did more than talk."""
        self._odd = self._busy | set(_steered_turns(entries))
        self._cut_short = {
            turn["id"]
            for turn in _completed_turns(entries)
            if turn["status"] in ("interrupted", "failed")
        }
        self._apart: set[str] = set()
        self._steps = list(self._in_scope(entries))

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

    def _in_scope(self, entries: list[Entry]) -> Iterator[Step]:
        """The steps that our server can take; what others changed is remembered as such."""
        step: Step | None = None
        skipped: dict[tuple[str, Any], Frame] = {}
        apart: set[str] = set()
        acting: set[str] = set()
        for entry in entries:
            frame = entry.frame
            if entry.direction == "s2c":
                self._note_acting(frame, acting)
                request = skipped.get((entry.connection, frame.get("id")))
                if request is not None and "method" not in frame:
                    if request["method"] not in METHODS_BY_NAME:
                        apart |= _touched(request, frame)
                elif step is not None:
                    step.answers.setdefault(entry.connection, []).append(frame)
                    step.apart = set(apart)
                continue
            if entry.direction == "c2s" and "method" not in frame:
                continue
            if entry.direction == "c2s" and "id" in frame and _out_of_scope(frame, apart | acting):
                skipped[(entry.connection, frame["id"])] = frame
                self._result.skipped_requests[frame["method"]] += 1
                continue
            if step is not None:
                yield step
            step = Step(entry, apart=set(apart))
        if step is not None:
            yield step

    def _note_acting(self, frame: Frame, acting: set[str]) -> None:
        """Threads in which a turn runs that we cannot run as the original did."""
        params, method = frame.get("params") or {}, frame.get("method")
        if method == "turn/started" and params["turn"]["id"] in self._busy:
            acting.add(params["threadId"])
        elif method == "turn/completed":
            acting.discard(params["threadId"])

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
                wanted, got = _replies(wanted), _replies(got)
            if entry.direction == "note":
                # Malformed input has a reply here and had none there.
                got = [one for one in got if "error" not in one or one in wanted]
            self._compare_lists(f"{self._name}:{name} after {_short(frame)}", wanted, got, frame)

    def _learn_turn(self, step: Step) -> None:
        """Map the turn of a `turn/start` before anything that tells of it is judged."""
        entry = step.entry
        if entry.frame.get("method") != "turn/start":
            return
        theirs = _turn_of_reply(step.answers.get(entry.connection, []), entry.frame["id"])
        ours = _turn_of_reply(self._clients[entry.connection].got, entry.frame["id"])
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
            for kind in {_kind(frame) for frame in (*theirs, *ours)}:
                wanted = [frame for frame in theirs if _kind(frame) == kind]
                got = [frame for frame in ours if _kind(frame) == kind]
                self._compare_lists(f"{self._name}:{name} {kind}", wanted, got, {})

    def _counts(self, frame: Frame) -> bool:
        method, params = frame.get("method"), frame.get("params") or {}
        if method is None:
            return True
        thread_id = params.get("threadId") or (params.get("thread") or {}).get("id")
        if thread_id in self._apart:
            return False
        turn_id = params.get("turnId") or (params.get("turn") or {}).get("id")
        return not _dropped(method) and turn_id not in self._odd and "id" not in frame

    def _odd_thread(self, step: Step) -> str | None:
        """The thread of the step while a turn runs in it that does not count."""
        frame = step.entry.frame
        thread_id = (frame.get("params") or {}).get("threadId")
        turn_id = _turn_of_reply(step.answers.get(step.entry.connection, []), frame.get("id"))
        if turn_id in self._odd and turn_id not in self._skipped:
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
            if method is not None and _dropped(method):
                continue
            if _is_left_behind(frame, self._cut_short | ours):
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
            if theirs is None or ours is None or _kind(theirs) != _kind(ours):
                self._result.differences.append(
                    f"{where}: frame {index} should be {_kind(theirs)}, is {_kind(ours)}; "
                    f"wanted {[_kind(one) for one in wanted]}, got {[_kind(one) for one in got]}"
                )
                return
            self._result.frames += 1
            matcher = _Matcher(self._ids, self._cursors, self._odd, self._apart)
            matcher.match(_renumbered(theirs), ours, _kind(theirs))
            self._result.differences += [f"{where}: {one}" for one in matcher.differences]


def _turn_of_reply(frames: list[Frame], request_id: Any) -> str | None:
    for frame in frames:
        if frame.get("id") == request_id and "turn" in (frame.get("result") or {}):
            return str(frame["result"]["turn"]["id"])
    return None


def _out_of_scope(frame: Frame, apart: set[str]) -> bool:
    thread_id = (frame.get("params") or {}).get("threadId")
    known = frame["method"] in METHODS_BY_NAME or frame["method"] == "nope/nope"
    return not known or thread_id in apart


def _touched(request: Frame, reply: Frame) -> set[str]:
    """The threads that a request out of scope has made or changed."""
    if "result" not in reply or request["method"].endswith(_HARMLESS):
        return set()
    thread = reply["result"].get("thread")
    made = {thread["id"]} if isinstance(thread, dict) else set()
    if request["method"] in ("turn/steer", "thread/fork"):
        return made
    return made | {(request.get("params") or {}).get("threadId", "")}


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


TIMES = frozenset(
    {
        "createdAt",
        "updatedAt",
        "recencyAt",
        "startedAt",
        "completedAt",
        "durationMs",
        "startedAtMs",
        "completedAtMs",
        "emittedAtMs",
    }
)
IDS = frozenset({"id", "sessionId", "threadId", "turnId", "itemId", "rootTurnId"})
CURSORS = frozenset(
    {"nextCursor", "backwardsCursor", "turnsBackwardsCursor", "itemsBackwardsCursor"}
)
ONLY_KIND = frozenset(
    {"tokenUsage", "userAgent", "codexHome", "path", "config", "origins", "layers"}
)
IGNORED = frozenset({"readState", "readStates"})
_RETRY_TEXTS = ("stream disconnected before completion", "exceeded retry limit")


class _Matcher:
    """Compares one frame with ours and learns which ids belong together."""

    def __init__(
        self, ids: dict[str, str], cursors: dict[str, str], odd: set[str], foreign: set[str]
    ) -> None:
        self._ids = ids
        self._cursors = cursors
        self._odd = odd
        self._foreign = foreign
        self.differences: list[str] = []

    def match(self, theirs: Any, ours: Any, where: str) -> None:
        """Note every place where the two differ."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            self._match_objects(theirs, ours, where)
        elif isinstance(theirs, list) and isinstance(ours, list):
            self._match_lists(theirs, ours, where)
        elif isinstance(theirs, str) and isinstance(ours, str):
            if not self._same_text(theirs, ours):
                self._differs(where, theirs, ours)
        elif theirs != ours or type(theirs) is not type(ours):
            self._differs(where, theirs, ours)

    def _match_objects(self, theirs: Frame, ours: Frame, where: str) -> None:
        theirs, ours = _without_partial(theirs), _without_partial(ours)
        for key in theirs.keys() | ours.keys():
            if key in IGNORED or (key == "data" and where.endswith(".error")):
                continue
            if key not in theirs or key not in ours:
                self._differs(f"{where}.{key}", theirs.get(key, "absent"), ours.get(key, "absent"))
                continue
            self._match_value(key, theirs[key], ours[key], f"{where}.{key}", theirs)

    def _match_value(self, key: str, theirs: Any, ours: Any, where: str, parent: Frame) -> None:
        if key in TIMES or key in ONLY_KIND or key in CURSORS:
            if (theirs is None) != (ours is None):
                # Where rows were left out, nothing may be left to page from.
                if not any(self._left_out(row) for row in parent.get("data") or ()):
                    self._differs(where, theirs, ours)
            elif key in CURSORS and isinstance(theirs, str):
                self._cursors[theirs] = ours
        elif key in IDS and isinstance(theirs, str) and isinstance(ours, str):
            if self._ids.setdefault(theirs, ours) != ours and where.count(".") > 1:
                self._differs(where, self._ids[theirs], ours)
        elif key == "data" and isinstance(theirs, list) and _is_models(theirs):
            if ours:
                self.match(sorted(theirs[0]), sorted(ours[0]), where)
        elif key == "text" and parent.get("phase") is None and parent.get("type") == "agentMessage":
            return  # of an answer that was cut short, as much as had come
        elif key == "message" and parent.get("codexErrorInfo") == "contextWindowExceeded":
            return  # a sentence with the product's name in it
        else:
            self.match(theirs, ours, where)

    def _match_lists(self, theirs: list[Any], ours: list[Any], where: str) -> None:
        theirs = [one for one in theirs if not self._left_out(one)]
        mapped = {self._ids[one] for one in self._odd | self._foreign if one in self._ids}
        ours = [one for one in ours if not _belongs(one, mapped)]
        if len(theirs) != len(ours):
            self._differs(where, f"{len(theirs)} elements", f"{len(ours)} elements")
            return
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            self.match(one, other, f"{where}[{index}]")

    def _left_out(self, element: Any) -> bool:
        return _belongs(element, self._odd | self._foreign)

    def _same_text(self, theirs: str, ours: str) -> bool:
        for known, own in self._ids.items():
            theirs = theirs.replace(known, own)
        if theirs == ours:
            return True
        head, cut, _ = theirs.partition("…[cut ")
        if cut:
            return ours.startswith(head[:150])
        if theirs.startswith("Invalid request: unknown variant `nope"):
            return ours.startswith(theirs.partition(", expected")[0])
        return theirs.startswith(_RETRY_TEXTS) and ours.startswith(_RETRY_TEXTS)

    def _differs(self, where: str, theirs: Any, ours: Any) -> None:
        self.differences.append(f"{where}: {str(theirs)[:200]!r} became {str(ours)[:200]!r}")


def _is_left_behind(frame: Frame, cut_short: set[str]) -> bool:
    """What tells of a turn that was cut short, beside its end.

    We record what was shown of the answer and the original does not; it repeats the usage before
    the turn, when that comes in time.
    """
    params, method = frame.get("params") or {}, frame.get("method")
    if params.get("turnId") not in cut_short:
        return False
    message = method == "item/completed" and params["item"]["type"] == "agentMessage"
    return message or method == "thread/tokenUsage/updated"


def _without_partial(turn: Frame) -> Frame:
    """The turn without an answer that was cut short."""
    if turn.get("status") == "completed" or not isinstance(turn.get("items"), list):
        return turn
    return {**turn, "items": [one for one in turn["items"] if one["type"] != "agentMessage"]}


def _belongs(element: Any, ids: set[str]) -> bool:
    """Whether a row of a list is a turn, item or thread that does not count."""
    if isinstance(element, str):
        return element in ids
    return isinstance(element, dict) and (element.get("id") in ids or element.get("turnId") in ids)


def _is_models(rows: list[Any]) -> bool:
    return bool(rows) and isinstance(rows[0], dict) and "supportedReasoningEfforts" in rows[0]


def _renumbered(frame: Frame) -> Frame:
    """A recorded reply with the code that JSON-RPC names for its error."""
    error = frame.get("error")
    if not isinstance(error, dict):
        return frame
    message, code = error["message"], error["code"]
    if message.startswith("Invalid request: "):
        code = -32601 if "unknown variant `nope/nope`" in message else -32602
    return {**frame, "error": {**error, "code": code}}


def _kind(frame: Frame | None) -> str:
    if frame is None:
        return "nothing"
    if "method" in frame:
        return str(frame["method"])
    return f"{'error' if 'error' in frame else 'result'} {frame['id']}"


def _short(frame: Frame) -> str:
    return f"{frame.get('method')} {frame.get('id', '')}".strip()


def _replies(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if "method" not in frame]


def _dropped(method: str) -> bool:
    return method in DROPPED or method.startswith(DROPPED_PREFIXES)


def _completed_turns(entries: list[Entry]) -> Iterator[Frame]:
    for entry in entries:
        if entry.direction == "s2c" and entry.frame.get("method") == "turn/completed":
            yield entry.frame["params"]["turn"]


def _acting_turns(entries: list[Entry]) -> Iterator[str]:
    """Turns that did more than talk."""
    for entry in entries:
        params = entry.frame.get("params") or {}
        if entry.frame.get("method") == "item/started" and params["item"]["type"] in _ODD_ITEMS:
            yield params["turnId"]


def _steered_turns(entries: list[Entry]) -> Iterator[str]:
    """Turns that more input joined, and those that no request of a client began."""
    running: dict[str, str] = {}
    begun: set[str] = set()
    for entry in entries:
        params, method = entry.frame.get("params") or {}, entry.frame.get("method")
        if entry.direction == "c2s" and method in ("turn/steer", "turn/start"):
            if params["threadId"] in running:
                yield running[params["threadId"]]
        elif method == "turn/started":
            running[params["threadId"]] = params["turn"]["id"]
        elif method == "turn/completed":
            running.pop(params["threadId"], None)
            if params["turn"]["id"] not in begun:
                yield params["turn"]["id"]
        elif isinstance(entry.frame.get("result"), dict) and "turn" in entry.frame["result"]:
            begun.add(entry.frame["result"]["turn"]["id"])
