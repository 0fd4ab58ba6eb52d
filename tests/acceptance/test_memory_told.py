"""The installed command and memory: the same for each client, told by the doctor, private."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.cli.last_told import told_line
from tests.support.homes import provider_config, serving
from tests.support.installed import MEMORYD, environment, memoryd
from tests.support.methods import said, started
from tests.support.responses_server import ResponsesServer
from tests.support.threads_memory import files_below, publish, report, section_of
from tests.support.wire import KINDS, WireClient
from tests.support.wire_links import LineLink

LINE = "- likes blue"
FIRST_TURN_S = 60


async def _ran(home: Path, *arguments: str) -> str:
    """A command to its end, beside a model server in this process."""
    ran = await asyncio.to_thread(memoryd, *arguments, home=home)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.requirement("FR-R11")
async def test_the_one_shot_command_gets_the_bytes_of_every_other_client(tmp_path: Path) -> None:
    """With a server of its own, joined to a running one, and beside five transports."""
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home:
            # Its client library loads once in a process, which no test is to wait for.
            await home.server.services.providers.get("mock").warm()
            publish(home, f"# Summary\n{LINE}\n", "Remember: likes green.\n")
            for kind in KINDS:
                async with home.wire.client(kind) as client:
                    await said(client, await started(client, cwd=str(tmp_path)), "hello")
            await _ran(home.home.root, "chat", "--cwd", str(tmp_path), "hello")
        await _ran(home.home.root, "chat", "--cwd", str(tmp_path), "hello")
    assert len(model.requests) == len(KINDS) + 2
    sections = {json.dumps(section_of(one)) for one in model.requests}
    assert len(sections) == 1 and "likes green" in sections.pop()


@pytest.mark.requirement("FR-R5")
async def test_the_doctor_says_when_memory_reaches_no_thread_and_why(tmp_path: Path) -> None:
    """Kept memory that the last threads were not told of, by reason; nothing to say where told."""
    home_path = tmp_path / "home"

    async def line() -> tuple[str, str | None]:
        # A machine may have no sandbox, which is a fault of its own.
        ran = await asyncio.to_thread(memoryd, "doctor", "--json", home=home_path)
        checks = {one["part"]: one for one in json.loads(ran.stdout)["checks"]}
        return checks["memory told"]["found"], checks["memory told"]["hint"]

    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        folder = home.home.memories("v1")
        folder.mkdir()
        for summary, config in (
            (b"# Summary\n", {"memories.use_memories": False}),
            (b" \n", {}),
            (b"\xff", {}),
        ):
            (folder / "memory_summary.md").write_bytes(summary)
            await said(client, await started(client, config=config), "hello")
    found, hint = await line()
    assert found.startswith("0 of the last 3 threads told of it; ")
    for why in ("their use of memory is off", "the summary is blank", "the summary cannot be read"):
        assert f"1 not ({why})" in found
    assert hint is not None and "use_memories" in hint
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, f"# Summary\n{LINE}\n")
        await said(client, await started(client), "hello")
    found, hint = await line()
    assert found.startswith("1 of the last 4 threads told of it") and hint is None
    assert told_line([]) == "0 of the last 0 threads told of it"


@asynccontextmanager
async def _spawned(home: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, WireClient]]:
    """An `app-server` of its own and its client."""
    process = await asyncio.create_subprocess_exec(
        MEMORYD,
        "app-server",
        env=environment(home),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    client = WireClient(LineLink(process.stdout, process.stdin))
    try:
        shaken = client.expect("hello")
        hello = {
            "clientInfo": {"name": "x", "version": "1"},
            "capabilities": {"experimentalApi": True},
        }
        message = {"id": "hello", "method": "initialize", "params": hello}
        await client.link.send(json.dumps(message).encode())
        await asyncio.wait_for(shaken, FIRST_TURN_S)  # a process starts slowly on a busy machine
        yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process.stdin.close()
        await client.closed.wait()


@pytest.mark.requirement("FR-F15")
async def test_a_private_thread_stays_private_when_its_server_is_killed(tmp_path: Path) -> None:
    """kill -9 after a turn and in the next; resumed, forked and archived elsewhere: as before."""
    canary = "CANARY-51ce"
    home_path = tmp_path / "home"
    home_path.mkdir()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        (home_path / "config.toml").write_text(config)
        (home_path / "memories").mkdir(mode=0o700)
        (home_path / "memories" / "memory_summary.md").write_text("# Summary\n- MEMORY-LINE\n")
        async with _spawned(home_path) as (process, client):
            thread = await started(client, memoryMode="disabled", memoryUse=False)
            words = [{"type": "text", "text": f"My word is {canary}"}]
            await client.request("turn/start", {"threadId": thread, "input": words})
            async with asyncio.timeout(FIRST_TURN_S):
                while not client.notifications("turn/completed"):
                    await client.one_more_than(len(client.frames))
            slow = [{"type": "text", "text": f"speak slowly of {canary}"}]
            await client.request("turn/start", {"threadId": thread, "input": slow})
            await client.notification("turn/started")
            process.kill()
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await home.server.services.providers.get("mock").warm()
            await client.request("thread/resume", {"threadId": thread})
            await said(client, thread, "after the kill")
            fork = (await client.request("thread/fork", {"threadId": thread}))["thread"]["id"]
            await said(client, fork, "again")
            await client.request("thread/archive", {"threadId": fork})
            await client.request("thread/unarchive", {"threadId": fork})
            await client.request("memory/consolidate/start", {"wait": True})
            told = [await report(client, one) for one in (thread, fork)]
            overview = await client.request("memory/overview", {})
        own = [one for one in model.requests if canary in one.text]
        assert len(own) >= 3
        assert all(not one.structured and "MEMORY-LINE" not in one.text for one in own)
        assert all("memories." not in "".join(one.tool_names) for one in own)
    for one in told:
        assert (one["memoryMode"], one["memoryUse"], one["reason"]) == (
            "disabled",
            False,
            "private",
        )
    assert overview["outputs"] == 0 and overview["threads"]["disabled"] == 2
    places = [path for path, data in files_below(tmp_path).items() if canary.encode() in data]
    assert places and all(path.startswith("home/sessions/") for path in places)
