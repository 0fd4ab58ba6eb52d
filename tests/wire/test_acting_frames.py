"""The recorded turns of the original that ask and change files, replayed with their answers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.acting_tools import PretendedCommand
from tests.support.frame_matching import Matcher
from tests.support.homes import serving
from tests.support.recordings import Entry, Frame, is_dropped, kind_of, read_recording
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, calls, says
from tests.support.shared_data import needs_shared, shared
from tests.support.wire import WireClient

PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello from the mock\n*** End Patch"
COMMAND = {
    "cmd": "touch approved.txt && echo was-approved",
    "sandbox_permissions": "require_escalated",
    "justification": "the test wants to be asked",
}
ANYWHERE = frozenset({"thread/started", "item/agentMessage/delta", "thread/settings/updated",
                      "item/commandExecution/outputDelta"})  # fmt: skip
"""What may come at another place, or not at all, in another run of the original too."""


def _scripted(request: Recorded) -> Reply | None:
    last = request.body["input"][-1]
    text = request.user_texts[-1]
    if last["type"].endswith("_output"):
        return says(
            "Edited. mock-final" if "edit" in text else "Back from the approval. mock-final"
        )
    if text == "edit a file":
        return calls(Call(name="apply_patch", arguments=PATCH, custom=True))
    if text.startswith("ask before running"):
        return calls(Call(name="exec_command", arguments=COMMAND))
    return None


@asynccontextmanager
async def _replayed(folder: Path) -> AsyncIterator[tuple[WireClient, Path]]:
    project = folder / "project"
    project.mkdir()
    async with ResponsesServer() as model:
        model.choose = _scripted
        config = f"""
            model = "mock-model"
            model_provider = "mock"
            approval_policy = "never"
            sandbox_mode = "danger-full-access"
            [model_providers.mock]
            base_url = {json.dumps(model.base_url)}
            """
        async with (
            serving(folder, config=config, tools=[PretendedCommand()]) as home,
            home.wire.client("pair", initialize=False) as client,
        ):
            # Its client library loads once in a process, which no test is to wait for.
            await home.server.services.providers.get("mock").warm()
            yield client, project


class _Replay:
    """Sends what the client sent, waits for what came, and compares."""

    def __init__(self, client: WireClient, project: Path, anywhere: frozenset[str]) -> None:
        self._anywhere = anywhere
        self._client = client
        self._project = project
        self._ids: dict[str, str] = {}
        self._taken = 0
        self.compared = 0
        self.differences: list[str] = []

    async def run(self, entries: list[Entry]) -> None:
        expected: list[Frame] = []
        for entry in entries:
            if entry.direction == "s2c":
                if self._counts(entry.frame):
                    expected.append(self._placed(entry.frame))
                continue
            await self._compare(expected)
            expected = []
            if entry.direction == "c2s":
                await self._send(self._placed(entry.frame))
        await self._compare(expected)

    async def _send(self, frame: Frame) -> None:
        if frame.get("method") == "thread/start":
            # Each thread of the recording began in an empty folder.
            for file in self._project.iterdir():
                file.unlink()
        text = json.dumps(frame)
        for theirs, ours in self._ids.items():
            text = text.replace(theirs, ours)
        await self._client.link.send(text.encode())

    async def _compare(self, expected: list[Frame]) -> None:
        while True:
            seen, got = len(self._client.frames), self._got()
            if len(got) >= len(expected) or not await self._client.one_more_than(seen):
                break
        got = got[: len(expected)]
        self._taken += len(got)
        kinds = [kind_of(one) for one in expected], [kind_of(one) for one in got]
        if kinds[0] != kinds[1]:
            self.differences.append(f"wanted {kinds[0]}, got {kinds[1]}")
            return
        for theirs, ours in zip(expected, got, strict=True):
            matcher = Matcher(self._ids, {}, set(), set())
            matcher.match(theirs, ours, kind_of(theirs))
            self.differences += matcher.differences
            self.compared += 1

    def _got(self) -> list[Frame]:
        return [one for one in self._client.frames if self._counts(one)][self._taken :]

    def _counts(self, frame: Frame) -> bool:
        method = frame.get("method", "")
        return not (is_dropped(method) or method in self._anywhere)

    def _placed(self, frame: Frame) -> Frame:
        text = json.dumps(frame).replace("/home/user/project", str(self._project))
        placed: dict[str, Any] = json.loads(text)
        item = (placed.get("params") or {}).get("item") or {}
        if item.get("processId") is not None:
            item["processId"] = "53854"
        return placed


@needs_shared
@pytest.mark.parametrize(
    ("name", "compared_min"), [("approvals", 50), ("approval_interrupted", 15), ("file_edit", 30)]
)
@pytest.mark.requirement("FR-T7")
async def test_turns_that_ask_and_act_send_the_frames_of_the_original(
    name: str, compared_min: int, tmp_path: Path
) -> None:
    """Same frames in the same order: flags, items, questions, what is resolved, diffs, ends."""
    async with _replayed(tmp_path) as (client, project):
        # The usage of a response whose turn is stopped comes before or behind the reply.
        loose = {"thread/tokenUsage/updated"} if name == "approval_interrupted" else set()
        replay = _Replay(client, project, ANYWHERE | loose)
        await replay.run(read_recording(shared("frames", f"{name}.jsonl")))
    assert replay.differences == []
    assert replay.compared >= compared_min
