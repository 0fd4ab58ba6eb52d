"""`memoryd chat`: one question, or a conversation, with the answer streamed as it comes."""

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from server.cli.attach import absolute, attached, home_of
from server.cli.client import Client, WebSocketLink
from server.cli.given import USAGE, piped, thread_given, worded
from server.cli.notices import aside
from server.cli.render import written
from server.cli.talk import Interrupted, Spoken, place, say, start_thread
from server.errors import CommandFailed
from server.release import __version__

PROMPT_BYTES_MAX = 4 * 1_048_576
"""As many as a server takes in one turn, in any alphabet."""
_ENDS = ("exit", "quit", "/exit", "/quit")
_TOO_LONG = f"a prompt has at most {PROMPT_BYTES_MAX} bytes; name a file instead of sending it"


def run(arguments: Namespace) -> int:
    """Ask and answer; the exit status."""
    asyncio.run(_run(arguments))
    return 0


async def _run(arguments: Namespace) -> None:
    prompt = worded(arguments.prompt).strip()
    if not prompt and not sys.stdin.isatty():
        prompt = piped(bytes_max=PROMPT_BYTES_MAX, too_long=_TOO_LONG).strip()
        if not prompt:
            raise CommandFailed("nothing to ask: give a PROMPT, or text on standard input")
    async with _connected(arguments) as client:
        thread_id = await _thread(client, arguments)
        if prompt:
            await _ask(client, thread_id, prompt)
            if sys.stderr.isatty():  # a script reads nothing but the answer
                _name(thread_id)
            return
        aside("An empty line, `exit` or Ctrl-D ends the conversation.")
        try:
            await _converse(client, thread_id)
        finally:
            _name(thread_id)


def _name(thread_id: str) -> None:
    aside(f"Go on later with: memoryd chat --thread {thread_id}")


async def _converse(client: Client, thread_id: str) -> None:
    while (line := await _line()) and line.lower() not in _ENDS:
        try:
            await _ask(client, thread_id, line)
        except Interrupted:
            aside("interrupted")
        except CommandFailed as failed:
            aside(f"memoryd: {failed}")


@asynccontextmanager
async def _connected(arguments: Namespace) -> AsyncIterator[Client]:
    if arguments.connect is None:
        async with attached(arguments) as client:
            yield client
        return
    key = home_of(arguments).access_key
    secret = await asyncio.to_thread(_secret, key)
    client = Client(await WebSocketLink.connect(arguments.connect, secret))
    try:
        await client.open(__version__)
        yield client
    finally:
        await client.close()


def _secret(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        return None


async def _thread(client: Client, arguments: Namespace) -> str:
    if arguments.thread is None:
        folder = absolute(arguments.cwd or ".").resolve()
        if not folder.is_dir():
            raise CommandFailed(f"{folder} is no folder; --cwd names the project's", status=USAGE)
        return await start_thread(client, str(folder))
    thread_id = thread_given(arguments.thread)
    await client.request("thread/resume", {"threadId": thread_id, "excludeTurns": True})
    return thread_id


async def _ask(client: Client, thread_id: str, text: str) -> None:
    held = ""

    def show(piece: str) -> None:
        # An answer may end in blank lines where its citation was cut off.
        nonlocal held
        held += piece
        shown = held.rstrip("\n")
        held = held[len(shown) :]
        if shown:
            written(shown)

    with _interrupting() as interrupted:
        spoken = await say(
            client,
            thread_id,
            text,
            on_text=show,
            on_notice=lambda notice: aside(f"memoryd: warning: {notice}"),
            interrupted=interrupted,
        )
    written("\n")
    for line in sources(spoken):
        aside(line)


@contextmanager
def _interrupting() -> Iterator[asyncio.Event]:
    """Meanwhile Ctrl-C sets the event instead of ending the command; a second one ends it."""
    pressed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def press() -> None:
        if pressed.is_set():
            loop.remove_signal_handler(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        pressed.set()

    loop.add_signal_handler(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def sources(spoken: Spoken) -> list[str]:
    """Where the answer comes from, a line each."""
    return [
        f"  from {place(one)}" + (f" ({one['note']})" if one.get("note") else "")
        for one in spoken.citations
    ]


async def _line() -> str:
    """What is typed next, a whole line as a terminal gives it; empty at the end.

    No thread waits for it: one that reads holds the command after Ctrl-C until the next key.
    """
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    written("> ")
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
    except asyncio.CancelledError:
        written("\n")
        raise
    finally:
        loop.remove_reader(sys.stdin)
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        written("\n")
    return line.strip()
