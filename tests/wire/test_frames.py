"""The recorded frames of the original, replayed against the assembled server."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.agent.limits import ModelLimits, RetryLimits
from server.assembly import Choices, Server, start_server
from server.settings import load_settings
from state.home import Home
from tests.support.frame_matching import Matcher
from tests.support.frames import Comparison, Replay, Servers
from tests.support.recordings import read_recording
from tests.support.responses_server import Recorded, Reply, ResponsesServer, status
from tests.support.shared_data import needs_shared, shared

RECORDINGS = (
    "approval_interrupted",
    "approvals",
    "file_edit",
    "handshake",
    "memory_off",
    "memory_on",
    "memory_pipeline",
    "model_errors",
    "no_experimental",
    "opt_out",
    "reads",
    "stdio_basic",
    "steer_interrupt",
    "thread_admin",
    "two_clients",
    "ws_basic",
)
DEVIATIONS = {
    "memory_on:a:25": "the original reads version 2 while version 1 has no folder",
    "memory_pipeline:b:4": "made by a scripted model in version 2",
    "memory_pipeline:b:6": "made by a scripted model in version 2",
    "memory_pipeline:b:8": "made by a scripted model in version 2",
    "memory_pipeline:b:21": "made by a scripted model in version 2",
    "memory_pipeline:b:23": "our reset keeps a folder of version 1, so version 2 is asked for more",
    "model_errors:a:7": "a history that is too long is replaced by a summary first, if that works",
    "thread_admin:a:42": "its list forgets from which thread a fork came",
    "reads:a:8": "a person answers approvals, and no client offers another reviewer",
    "reads:a:9": "we have no skills of our own",
    "reads:a:13": "there is one way of working together",
    "reads:a:15": "there is one switch",
    "reads:a:5": "the page ends earlier: we know fewer models",
}
"""Replies that differ for a reason, by recording and request id."""


def _scripted(request: Recorded) -> Reply | None:
    """The phrases of the recording's model that the fake server does not know by itself."""
    text = request.user_texts[-1] if request.user_texts else ""
    match text:
        case "cut":
            return Reply(text="This will be cut off in the middle", phase=None, cut=True)
        case "rate limited":
            return status(429, "slow down")
        case _ if "too long" in request.user_texts[-2:]:
            # Also for the summary that we try first.
            return Reply(fails=("context_length_exceeded", "too long"))
        case _ if text.startswith("speak slowly"):
            return Reply(text="one two three four five six seven " * 3, phase=None, tokens_per_s=20)
        case _:
            return None


async def _replay(name: str, folder: Path) -> Comparison:
    """One recording against a fresh server."""
    home = Home(folder / "home")
    home.root.mkdir()
    async with ResponsesServer() as model:
        model.choose = _scripted
        memories = "false" if name == "memory_off" else "true"
        home.config.write_text(
            f"""
            model = "mock-model"
            model_provider = "mock"
            approval_policy = "never"
            sandbox_mode = "danger-full-access"
            [features]
            memories = {memories}
            [model_providers.mock]
            base_url = {json.dumps(model.base_url)}
            """,
            "utf-8",
        )
        servers = Servers(lambda: _start(home))
        await servers.restart()
        try:
            entries = read_recording(shared("frames", f"{name}.jsonl"))
            return await Replay(name, entries, servers, deviations=DEVIATIONS).run()
        finally:
            await servers.stop()


async def _start(home: Home) -> Server:
    """Without learning, which the recordings show only in files."""
    return await start_server(
        load_settings(home),
        Choices(learning=False, model=ModelLimits(retry=RetryLimits(attempts_max=1))),
    )


@needs_shared
@pytest.mark.parametrize("name", RECORDINGS)
async def test_our_server_sends_the_frames_of_the_original(name: str, tmp_path: Path) -> None:
    """Same shapes, same order, as far as the recording is in scope."""
    found = await _replay(name, tmp_path)
    print(
        f"{name}: {found.frames} frames compared, {found.skipped_turns} turns and "
        f"{sum(found.skipped_requests.values())} requests skipped, "
        f"{len(found.deviations)} known deviations"
    )
    assert found.differences == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": 1}, {"a": "1"}),
        ({"a": True}, {"a": 1}),
        ({"a": None}, {"a": 0}),
        ({"createdAt": None}, {"createdAt": 5}),
        ({"list": [1]}, {"list": [1, 2]}),
        ({"text": "one"}, {"text": "two"}),
        ({"nextCursor": "x"}, {"nextCursor": None}),
        ({"x": {"turn": {"id": "known"}}}, {"x": {"turn": {"id": "other"}}}),
    ],
)
def test_the_comparison_sees_what_differs(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """A replay that can find nothing would prove nothing."""
    matcher = Matcher({"known": "ours"}, {}, set(), set())
    matcher.match(theirs, ours, "frame")
    assert matcher.differences != []


def test_the_comparison_maps_ids_and_drops_times() -> None:
    """The same frame of another day is the same."""
    matcher = Matcher({}, {}, set(), set())
    theirs = {"turn": {"id": "a", "startedAt": 1}, "message": "turn a is gone"}
    ours = {"turn": {"id": "b", "startedAt": 9}, "message": "turn b is gone"}
    matcher.match(theirs["turn"], ours["turn"], "frame.turn")
    matcher.match(theirs, ours, "frame")
    assert matcher.differences == []
