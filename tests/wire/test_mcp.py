"""Tools of MCP servers in turns: real servers as children and over HTTP, seen by real clients."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from state.ids import ThreadId
from tests.support.homes import Serving, provider_config, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import WireClient

pytest.importorskip("mcp.client.client", reason="the extra `mcp` is not installed")
SUPPORT = Path(__file__).resolve().parents[1] / "support"
SERVER = SUPPORT / "plain_mcp_server.py"
PACKAGED = SUPPORT / "mcp_server.py"


def mcp_config(name: str = "work shop", *arguments: str, **more: Any) -> str:
    """A server of ours as a child process."""
    given: dict[str, Any] = {"command": sys.executable, "args": [str(SERVER), *arguments], **more}
    lines = "\n".join(f"{key} = {_toml(value)}" for key, value in given.items())
    return f'\n[mcp_servers."{name}"]\n{lines}\n'


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


@asynccontextmanager
async def attached(
    folder: Path, config: str, **params: Any
) -> AsyncIterator[tuple[Serving, ResponsesServer, WireClient, str]]:
    """A server with a scripted model, a client, and a thread."""
    async with ResponsesServer() as model:
        whole = provider_config(model.base_url) + config
        async with serving(folder, config=whole) as home, home.wire.client("pair") as client:
            started = await client.request("thread/start", {"cwd": str(folder), **params})
            yield home, model, client, started["thread"]["id"]


async def begin(client: WireClient, thread_id: str) -> None:
    said = {"threadId": thread_id, "input": [{"type": "text", "text": "do it"}]}
    await client.request("turn/start", said)


async def completed(client: WireClient, type_: str = "mcpToolCall") -> dict[str, Any]:
    """The next finished item of that type."""
    while True:
        item: dict[str, Any] = (await client.notification("item/completed"))["item"]
        if item["type"] == type_:
            return item


def called(tool: str, **arguments: Any) -> Any:
    return calls(Call(name=tool, namespace="mcp__work_shop", arguments=arguments))


def last_output(model: ResponsesServer) -> Any:
    outputs = [one for one in model.requests[-1].body["input"] if "output" in one]
    return outputs[-1]["output"]


async def test_a_tool_is_offered_called_and_shown(tmp_path: Path) -> None:
    """It starts with the first turn, in the thread's folder, without the variables of ours."""
    async with attached(tmp_path, mcp_config(env={"PLACE": "here"})) as (_, model, client, thread):
        model.script(called("echo", text="hello"), says("done"))
        os.environ["MEMORYD_TEST_SECRET"] = "not for children"
        try:
            await begin(client, thread)
            states = [
                (await client.notification("mcpServer/startupStatus/updated")) for _ in range(2)
            ]
            item = await completed(client)
            await client.notification("turn/completed")
        finally:
            del os.environ["MEMORYD_TEST_SECRET"]
        assert [one["status"] for one in states] == ["starting", "ready"]
        assert states[1]["name"] == "work shop" and states[1]["threadId"] == thread
        assert "mcp__work_shop.echo" in model.requests[0].tool_names
        text = last_output(model)
        assert f"hello in {tmp_path}" in text and "PLACE" in text
        assert "MEMORYD_TEST_SECRET" not in text
        assert (item["server"], item["tool"], item["status"]) == ("work shop", "echo", "completed")
        assert item["result"]["content"][0]["text"] == text and item["durationMs"] >= 0
        listed = await client.request("thread/items/list", {"threadId": thread})
        assert item["id"] in [one["item"]["id"] for one in listed["data"]]


@pytest.mark.parametrize(("action", "status"), [("accept", "completed"), ("decline", "failed")])
async def test_a_tool_that_destroys_waits_for_a_person(
    tmp_path: Path, action: str, status: str
) -> None:
    async with attached(tmp_path, mcp_config()) as (_, model, client, thread):
        model.script(called("wipe", path="/"), called("wipe", path="/"), says("done"))
        await begin(client, thread)
        asked = await client.server_request("mcpServer/elicitation/request")
        assert "wipe" in asked["params"]["message"]
        await client.answer(asked["id"], {"action": action, "content": {}})
        first = await completed(client)
        if action == "decline":  # asked again, since nothing was granted
            asked = await client.server_request("mcpServer/elicitation/request")
            await client.answer(asked["id"], {"action": action})
        second = await completed(client)
        assert [first["status"], second["status"]] == [status, status]
        await client.notification("turn/completed")


async def test_a_thread_that_never_asks_runs_what_the_user_configured(tmp_path: Path) -> None:
    async with attached(tmp_path, mcp_config(), approvalPolicy="never") as made:
        _, model, client, thread = made
        model.script(called("wipe", path="/"), called("ask"), says("done"))
        await begin(client, thread)
        assert (await completed(client))["status"] == "completed"
        # And nobody is bothered with the server's own questions either.
        assert "cancel" in (await completed(client))["result"]["content"][0]["text"]
        await client.notification("turn/completed")


async def test_a_policy_that_lets_no_server_ask_refuses_what_needs_a_word(tmp_path: Path) -> None:
    """What only reads is called all the same."""
    parts = {"sandbox_approval": True, "rules": True, "mcp_elicitations": False}
    policy = {"granular": parts}
    async with attached(tmp_path, mcp_config(), approvalPolicy=policy) as (
        _,
        model,
        client,
        thread,
    ):
        model.script(called("wipe", path="/"), called("echo", text="x"), says("done"))
        await begin(client, thread)
        item = await completed(client)
        assert item["status"] == "failed" and "granular" in item["error"]["message"]
        assert (await completed(client))["status"] == "completed"
        await client.notification("turn/completed")


async def test_a_server_asks_the_user_in_the_middle_of_a_call(tmp_path: Path) -> None:
    async with attached(tmp_path, mcp_config()) as (_, model, client, thread):
        model.script(called("ask"), says("done"))
        await begin(client, thread)
        asked = await client.server_request("mcpServer/elicitation/request")
        assert asked["params"]["serverName"] == "work shop"
        assert "colour" in asked["params"]["requestedSchema"]["properties"]
        await client.answer(asked["id"], {"action": "accept", "content": {"colour": "blue"}})
        assert "'colour': 'blue'" in (await completed(client))["result"]["content"][0]["text"]
        await client.notification("turn/completed")


async def test_the_time_of_a_call_stands_while_a_person_is_asked(tmp_path: Path) -> None:
    """A person who thinks longer than the server may take fails nothing."""
    async with attached(tmp_path, mcp_config(tool_timeout_sec=1.5)) as (_, model, client, thread):
        model.script(called("ask"), says("done"))
        await begin(client, thread)
        asked = await client.server_request("mcpServer/elicitation/request")
        await asyncio.sleep(1.6)
        await client.answer(asked["id"], {"action": "accept", "content": {"colour": "blue"}})
        item = await completed(client)
        assert item["status"] == "completed", item
        await client.notification("turn/completed")


async def test_a_server_that_ends_fails_one_call_and_comes_back_with_the_next_turn(
    tmp_path: Path,
) -> None:
    async with attached(tmp_path, mcp_config()) as (_, model, client, thread):
        model.script(called("leave"), says("done"), called("echo", text="back"), says("done"))
        await begin(client, thread)
        item = await completed(client)
        assert item["status"] == "failed" and "work shop" in item["error"]["message"]
        await client.notification("turn/completed")
        await begin(client, thread)
        assert (await completed(client))["status"] == "completed"
        await client.notification("turn/completed")


async def test_pictures_and_errors_reach_the_model(tmp_path: Path) -> None:
    async with attached(tmp_path, mcp_config()) as (_, model, client, thread):
        model.script(called("picture"), called("fail"), called("nothing"), says("done"))
        await begin(client, thread)
        assert (await completed(client))["status"] == "completed"
        failed = await completed(client)
        assert failed["status"] == "failed"
        await client.notification("turn/completed")
        outputs = [one["output"] for one in model.requests[-1].body["input"] if "output" in one]
        assert outputs[0][0]["type"] == "input_image"
        assert "it went wrong" in outputs[1]
        assert outputs[2] == "unsupported call: mcp__work_shop.nothing"


async def test_progress_is_told_and_an_interrupt_ends_the_call(tmp_path: Path) -> None:
    async with attached(tmp_path, mcp_config()) as (_, model, client, thread):
        model.script(called("slow"), says("done"))
        said = {"threadId": thread, "input": [{"type": "text", "text": "do it"}]}
        turn = (await client.request("turn/start", said))["turn"]["id"]
        told = await client.notification("item/mcpToolCall/progress")
        assert told["message"] == "half of it"
        await client.request("turn/interrupt", {"threadId": thread, "turnId": turn})
        ended = await client.notification("turn/completed")
        assert ended["turn"]["status"] == "interrupted"


async def test_a_server_that_does_not_start_is_told_with_its_own_words(tmp_path: Path) -> None:
    """The turn runs without it, unless the settings require it."""
    config = mcp_config("lame", "broken")
    config += mcp_config("gone", required=True).replace(sys.executable, "/nonexistent/python")
    async with attached(tmp_path, config) as (_, model, client, thread):
        await begin(client, thread)
        told = [await client.notification("mcpServer/startupStatus/updated") for _ in range(4)]
        failed = {one["name"]: one["error"] for one in told if one["status"] == "failed"}
        assert "no licence found" in failed["lame"]
        ended = await client.notification("turn/completed")
        assert ended["turn"]["status"] == "failed"
        assert "required MCP server `gone`" in ended["turn"]["error"]["message"]
        assert not model.requests


async def test_the_list_of_servers_is_told_with_and_without_a_thread(tmp_path: Path) -> None:
    config = mcp_config() + '\n[mcp_servers.odd]\nargs = ["x"]\n'
    async with attached(tmp_path, config) as (home, model, client, thread):
        named, left_out = map(str, home.server.services.settings.warnings)
        assert "its tools are called `mcp__work_shop`" in named
        assert "`mcp_servers.odd` needs either `command` or `url`" in left_out
        listed = await client.request("mcpServerStatus/list", {})
        [row] = listed["data"]
        assert row["serverInfo"]["version"] == "1.2.3" and row["authStatus"] == "unsupported"
        assert row["tools"]["wipe"]["annotations"]["destructiveHint"] is True
        model.script(says("done"))
        await begin(client, thread)
        await client.notification("turn/completed")
        listed = await client.request("mcpServerStatus/list", {"threadId": thread})
        assert listed["data"][0]["runtimeStatus"] == "connected"


async def test_tools_can_be_left_out(tmp_path: Path) -> None:
    config = mcp_config(enabled_tools=["echo", "wipe"], disabled_tools=["wipe"])
    async with attached(tmp_path, config) as (_, model, client, thread):
        model.script(says("done"))
        await begin(client, thread)
        await client.notification("turn/completed")
        offered = [one for one in model.requests[0].tool_names if one.startswith("mcp__")]
        assert offered == ["mcp__work_shop.echo"]


async def test_a_call_marks_the_thread_where_the_settings_ask_for_it(tmp_path: Path) -> None:
    """Before the call: a declined one marks nothing."""
    config = "\n[memories]\ndisable_on_external_context = true\n" + mcp_config()
    async with attached(tmp_path, config) as (home, model, client, thread):

        async def mode() -> Any:
            async with home.server.services.state.database.reading() as read:
                row = await home.server.services.state.threads.get(read, ThreadId(thread))
            assert row is not None
            return row.memory_mode

        model.script(called("wipe", path="/"), says("no"), called("echo", text="x"), says("yes"))
        await begin(client, thread)
        asked = await client.server_request("mcpServer/elicitation/request")
        await client.answer(asked["id"], {"action": "decline"})
        await client.notification("turn/completed")
        assert await mode() == "enabled"
        await begin(client, thread)
        await client.notification("turn/completed")
        assert await mode() == "polluted"


async def test_unloading_a_thread_ends_its_servers(tmp_path: Path) -> None:
    """Children, and what was open to them, are gone."""
    async with attached(tmp_path, mcp_config()) as (home, model, client, _):
        before = open_files()
        for _ in range(3):
            started = await client.request("thread/start", {"cwd": str(tmp_path)})
            other = started["thread"]["id"]
            model.script(called("echo", text="x"), says("done"))
            await begin(client, other)
            await completed(client)
            await client.notification("turn/completed")
            await home.server.services.live.unload(other)
        assert children() == set()
        assert open_files() <= before + 8  # of the database and the model's connection


async def test_a_server_made_with_the_package_is_understood(tmp_path: Path) -> None:
    """Over the newer protocol, on stdio."""
    config = mcp_config().replace(str(SERVER), str(PACKAGED))
    async with attached(tmp_path, config) as (home, model, client, thread):
        model.script(called("echo", text="packaged"), says("done"))
        await begin(client, thread)
        # Its imports take seconds on a busy machine; nobody waits for anything else meanwhile.
        async with asyncio.timeout(60):
            await home.server.services.mcp.prepare(ThreadId(thread), cwd=str(tmp_path))
        item = await completed(client)
        assert "packaged in" in item["result"]["content"][0]["text"]
        await client.notification("turn/completed")


async def test_a_server_over_http_is_called_with_its_token(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(PACKAGED), "http", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _listening(port)
        url = f'\n[mcp_servers."work shop"]\nurl = "http://127.0.0.1:{port}/mcp"\n'
        config = url + 'http_headers = { Authorization = "Bearer abc" }\n'
        async with attached(tmp_path, config) as (_, model, client, thread):
            model.script(called("echo", text="over http"), says("done"))
            await begin(client, thread)
            item = await completed(client)
            assert "over http" in item["result"]["content"][0]["text"]
            await client.notification("turn/completed")
            [row] = (await client.request("mcpServerStatus/list", {"threadId": thread}))["data"]
            assert row["httpOrigin"] == f"http://127.0.0.1:{port}"
            config_told = await client.request("config/read", {"cwd": str(tmp_path)})
            assert "Bearer abc" not in json.dumps(config_told)
    finally:
        child.terminate()
        await child.wait()


async def _listening(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return


def open_files() -> int:
    """How many descriptors this process has; 0 where nobody tells."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


def children() -> set[str]:
    """The processes of ours that run the server; by their command lines."""
    found: set[str] = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
            parent = Path(entry.parent, "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if str(SERVER).encode() in command and parent == str(os.getpid()):
            found.add(entry.parent.name)
    return found


async def test_a_required_server_that_cannot_be_started_stops_the_turn_with_its_reason(
    tmp_path: Path,
) -> None:
    """As one that does not start; the others are not asked."""
    config = '[mcp_servers.ftp]\nurl = "ftp://host"\nrequired = true\n'
    async with attached(tmp_path, config) as (_, model, client, thread):
        await begin(client, thread)
        told = await client.notification("mcpServer/startupStatus/updated")
        assert (told["name"], told["status"]) == ("ftp", "failed")
        ended = await client.notification("turn/completed")
        assert "required MCP server `ftp`" in ended["turn"]["error"]["message"]
        assert not model.requests
