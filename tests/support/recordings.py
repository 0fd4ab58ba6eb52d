"""Reads recorded frames, and tells what of a recording can be replayed.

Requests of methods that we do not have are left out, with the threads that they made or changed;
so are requests on a thread while its agent acts, since ours cannot run commands yet.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocol.methods import METHODS_BY_NAME

Frame = dict[str, Any]

DROPPED = frozenset({"warning", "account/rateLimits/updated", "deprecationNotice"})
DROPPED_PREFIXES = ("remoteControl/", "thread/readState/", "thread/goal/")
_ODD_ITEMS = frozenset({"commandExecution", "fileChange", "contextCompaction", "reasoning"})
_HARMLESS = ("/get", "/list", "/read", "/search", "/status")


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


def read_recording(path: Path) -> list[Entry]:
    """The lines of a recording in order."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Entry(line["conn"], line["dir"], line["frame"]) for line in lines]


def steps_in_scope(
    entries: list[Entry], acting_turns: set[str], skipped_requests: Counter[str]
) -> Iterator[Step]:
    """The steps that our server can take; what others changed is remembered as apart."""
    step: Step | None = None
    skipped: dict[tuple[str, Any], Frame] = {}
    apart: set[str] = set()
    acting: set[str] = set()
    for entry in entries:
        frame = entry.frame
        if entry.direction == "s2c":
            _note_acting(frame, acting_turns, acting)
            request = skipped.get((entry.connection, frame.get("id")))
            if request is not None and "method" not in frame:
                apart |= _touched(request, frame)
            elif step is not None:
                step.answers.setdefault(entry.connection, []).append(frame)
                step.apart = set(apart)
            continue
        if entry.direction == "c2s" and "method" not in frame:
            continue
        if entry.direction == "c2s" and "id" in frame and _out_of_scope(frame, apart | acting):
            skipped[(entry.connection, frame["id"])] = frame
            skipped_requests[frame["method"]] += 1
            continue
        if step is not None:
            yield step
        step = Step(entry, apart=set(apart))
    if step is not None:
        yield step


def completed_turns(entries: list[Entry]) -> Iterator[Frame]:
    for entry in entries:
        if entry.direction == "s2c" and entry.frame.get("method") == "turn/completed":
            yield entry.frame["params"]["turn"]


def acting_turns_of(entries: list[Entry]) -> Iterator[str]:
    """Turns that did more than talk."""
    for entry in entries:
        params = entry.frame.get("params") or {}
        if entry.frame.get("method") == "item/started" and params["item"]["type"] in _ODD_ITEMS:
            yield params["turnId"]


def steered_turns_of(entries: list[Entry]) -> Iterator[str]:
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


def renumbered(frame: Frame) -> Frame:
    """A recorded reply with the code that JSON-RPC names for its error."""
    error = frame.get("error")
    if not isinstance(error, dict):
        return frame
    message, code = error["message"], error["code"]
    if message.startswith("Invalid request: "):
        code = -32601 if "unknown variant `nope/nope`" in message else -32602
    return {**frame, "error": {**error, "code": code}}


def kind_of(frame: Frame | None) -> str:
    if frame is None:
        return "nothing"
    if "method" in frame:
        return str(frame["method"])
    return f"{'error' if 'error' in frame else 'result'} {frame['id']}"


def short_name(frame: Frame) -> str:
    return f"{frame.get('method')} {frame.get('id', '')}".strip()


def replies(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if "method" not in frame]


def is_dropped(method: str) -> bool:
    return method in DROPPED or method.startswith(DROPPED_PREFIXES)


def turn_of_reply(frames: list[Frame], request_id: Any) -> str | None:
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
    harmless = request["method"].endswith(_HARMLESS) or request["method"] in METHODS_BY_NAME
    if "result" not in reply or harmless:
        return set()
    thread = reply["result"].get("thread")
    made = {thread["id"]} if isinstance(thread, dict) else set()
    if request["method"] in ("turn/steer", "thread/fork"):
        return made
    return made | {(request.get("params") or {}).get("threadId", "")}


def _note_acting(frame: Frame, acting_turns: set[str], acting: set[str]) -> None:
    """Threads in which a turn runs that we cannot run as the original did."""
    params, method = frame.get("params") or {}, frame.get("method")
    if method == "turn/started" and params["turn"]["id"] in acting_turns:
        acting.add(params["threadId"])
    elif method == "turn/completed":
        acting.discard(params["threadId"])
