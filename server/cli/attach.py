"""How a command reaches the server of a home: it joins the owner, or becomes it for its time."""

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from server.cli.client import Client, Link, StreamLink
from server.cli.notices import OVERRIDES_WITHOUT_EFFECT, aside
from server.environment import home_from_environment
from server.errors import CommandFailed
from server.observability import log_to_stderr
from server.release import __version__
from state.errors import HomeBusy
from state.home import Home

ATTEMPTS = 20
ATTEMPT_GAP_S = 0.25


def home_of(arguments: Namespace) -> Home:
    """The home that a command works on."""
    return home_from_environment(arguments.home)


@asynccontextmanager
async def attached(arguments: Namespace) -> AsyncIterator[Client]:
    """A client of the home's server; the server itself where there is none yet.

    As the owner, the command leaves only when what was ordered is done and nobody else is attached.
    Raises: CommandFailed, StateError.
    """
    log_to_stderr(debug=arguments.debug, quiet=True)
    home = home_of(arguments)
    for _ in range(ATTEMPTS):
        link = await StreamLink.unix(home.relay_socket)
        if link is not None:
            if arguments.overrides:
                aside(OVERRIDES_WITHOUT_EFFECT)
            async with _client(link) as client:
                client.joined = True
                yield client
            return
        try:
            async with _owner(home, arguments.overrides) as client:
                yield client
            return
        except HomeBusy:
            # Another process is just becoming the owner; its socket is about to appear.
            await asyncio.sleep(ATTEMPT_GAP_S)
    raise CommandFailed(
        f"home {home.root} is owned by a process that does not answer; see "
        f"{home.owner_lock} for its number, end it and try again"
    )


@asynccontextmanager
async def _client(link: Link) -> AsyncIterator[Client]:
    client = Client(link)
    try:
        await client.open(__version__)
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _owner(home: Home, overrides: Sequence[str]) -> AsyncIterator[Client]:
    # Imported here: a command that joins an owner needs nothing of the server.
    from server.assembly import Choices, start_server
    from server.settings import load_settings

    settings = load_settings(home, overrides)
    for warning in settings.warnings:
        aside(f"memoryd: warning: {warning}")
    server = await start_server(settings, Choices(learning=False))
    try:
        async with _client(server.attach()) as client:
            yield client
        await server.settled()
        await server.alone(besides=0)
    finally:
        await server.stop(drain_s=0)


def absolute(path: str) -> Path:
    """A path as the user meant it, seen from where the command runs.

    Raises: CommandFailed.
    """
    try:
        return Path(path).expanduser().absolute()
    except FileNotFoundError as error:
        raise CommandFailed("the current folder no longer exists; go to another one") from error
