"""`memoryd demo`: the main job, start to end, on sample sessions in a throw-away home.

Always on the offline provider and on a free port; nothing of the user's own home is touched.
"""

import asyncio
import contextlib
import importlib.resources
import shutil
import signal
import tempfile
import textwrap
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from server.assembly import Choices, Server, start_server
from server.cli.client import Client, WebSocketLink
from server.cli.render import count, told
from server.cli.talk import Spoken, place, say, start_thread
from server.observability import log_to_stderr
from server.release import __version__
from server.settings import load_settings
from server.wire.auth import Token
from server.wire.http import HttpListener, TcpAddress
from server.wire.limits import WireLimits
from state.home import Home
from state.workspace.layout import SUMMARY

QUESTION = "How do I run the tests here, and what should I keep in mind when I commit?"
PROJECT = "/home/sam/webshop"
WIDTH = 100
SUMMARY_LINES_MAX = 6


def run(arguments: Namespace) -> int:
    """Show it; the exit status."""
    log_to_stderr(debug=arguments.debug)
    folder = Path(tempfile.mkdtemp(prefix="memoryd-demo-"))
    try:
        asyncio.run(_run(Home(folder / "home"), serving_on=not arguments.once))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


async def _run(home: Home, *, serving_on: bool) -> None:
    server = await start_server(
        load_settings(home, ["model_provider=offline"]), Choices(learning=False)
    )
    try:
        secret = home.access_key.read_text("utf-8").strip()
        listener = HttpListener(
            TcpAddress(host="127.0.0.1", port=0, auth=Token.of(secret.encode(), in_url=True)),
            server.connect,
            limits=WireLimits(),
            clock=server.services.clock,
        )
        await listener.start()
        server.on_stop(listener.stop)
        link = await WebSocketLink.connect(listener.address, secret)
        client = Client(link)
        await client.open(__version__)
        try:
            await _show(client, home)
        finally:
            await client.close()
        if serving_on:
            await _serve_on(server, listener.address, secret, home)
    finally:
        await server.stop(drain_s=0)


async def _show(client: Client, home: Home) -> None:
    told([f"memoryd demo: a home of its own in {home.root.parent}, provider offline", ""])
    samples = importlib.resources.files("server").joinpath("samples")
    with importlib.resources.as_file(samples) as folder:
        result = await client.request("thread/import", {"path": str(folder)})
    told([f"1. Imported {count(result['imported'], 'finished session')} of a coding agent."])
    learned = await client.request("memory/consolidate/start", {"wait": True})
    phase1 = learned["extraction"]
    told(
        [
            f"2. Heard them: {phase1['succeeded']} said something worth remembering, "
            f"{phase1['empty']} did not.",
            f"3. Consolidated: {learned['consolidation']['status']}. The new summary says:",
            *_excerpt(home.memories("v1") / SUMMARY),
        ]
    )
    thread_id = await start_thread(client, PROJECT)
    told([f"4. A new thread asks: {QUESTION}"])
    spoken = await say(client, thread_id, QUESTION, on_text=lambda piece: None)
    told([*_wrapped(spoken.text), *_sources(spoken), ""])


def _excerpt(summary: Path) -> Sequence[str]:
    """The statements of the summary, a line each, cut to the width of a terminal."""
    lines = [line.strip() for line in summary.read_text("utf-8").splitlines()]
    shown = [line for line in lines if line.startswith("- ")][:SUMMARY_LINES_MAX]
    return [textwrap.shorten(f"   {line}", WIDTH, placeholder=" …").rjust(0) for line in shown]


def _wrapped(text: str) -> list[str]:
    return [
        line
        for paragraph in text.strip().splitlines()
        for line in textwrap.wrap(paragraph, WIDTH, initial_indent="   ", subsequent_indent="   ")
    ]


def _sources(spoken: Spoken) -> list[str]:
    where = ", ".join(place(one) for one in spoken.citations) or "nothing"
    return [f"   (cited: {where}; {count(len(spoken.thread_ids), 'source session')})"]


async def _serve_on(server: Server, address: str, secret: str, home: Home) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, ended.set)
    told(
        [
            f"The server goes on at {address}/?token={secret}",
            f'Ask it more: memoryd --home {home.root} chat "which English do I write?"',
            "Ctrl-C ends it and removes the throw-away home.",
        ]
    )
    await ended.wait()
