"""kill -9 while a tool runs: the thread is resumed, shown as it was, and goes on."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests.support.homes import provider_config, serving
from tests.support.installed import environment
from tests.support.responses_server import Call, ResponsesServer, calls, says

CHILD = Path(__file__).resolve().parents[1] / "support" / "killed_tool.py"
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch"


@pytest.mark.requirement("FR-T8")
async def test_a_turn_that_was_killed_in_a_tool_is_shown_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    """What was done is there, what was not is said to be aborted, and the model can go on."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url) + '\nsandbox_mode = "workspace-write"\n'
        # Keys of the top stand before the tables.
        lines = sorted(config.splitlines(), key=lambda line: "[" in line or "base_url" in line)
        (home / "config.toml").write_text("\n".join(lines), "utf-8")
        made = Call(name="apply_patch", arguments=PATCH, custom=True, call_id="done")
        model.script(calls(made, Call(name="kills", arguments={}, call_id="open")))
        child = await asyncio.create_subprocess_exec(
            sys.executable, CHILD, home, env=environment(home), stdout=asyncio.subprocess.PIPE
        )
        try:
            out, _ = await asyncio.wait_for(child.communicate(), 100)
        finally:
            if child.returncode is None:
                child.kill()
        assert child.returncode == -signal.SIGKILL
        thread_id = out.decode().split()[0]
        assert (tmp_path / "project" / "made.txt").read_text() == "made\n"
        async with serving(tmp_path) as serving_home, serving_home.wire.client("pair") as client:
            await serving_home.server.services.providers.get("mock").warm()
            resumed = await client.request("thread/resume", {"threadId": thread_id})
            [turn] = resumed["thread"]["turns"]
            assert turn["status"] == "interrupted"
            assert [one["type"] for one in turn["items"]] == ["userMessage", "fileChange"]
            model.script(says("on we go"))
            words = [{"type": "text", "text": "go on"}]
            await client.request("turn/start", {"threadId": thread_id, "input": words})
            ended = (await client.notification("turn/completed"))["turn"]
            assert ended["status"] == "completed"
        sent = model.requests[-1].body["input"]
        outputs = {one["call_id"]: one["output"] for one in sent if one["type"].endswith("_output")}
        assert outputs["done"].startswith("Success") and outputs["open"].startswith("aborted")
