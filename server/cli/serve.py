"""`memoryd serve`, and `app-server` where no owner runs: the server in this process.

The first SIGTERM, Ctrl-C or hang-up drains: running turns may end within `server.drain_s`,
everything is told goodbye. A second SIGTERM or Ctrl-C stops at once; a hang-up never does.

A client on stdin and stdout has its `initialize` answered by the front of the server, while the
rest of it is still being loaded.
"""

import asyncio
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from server.cli.attach import home_of
from server.cli.notices import aside
from server.environment import variable
from server.errors import ListenRefused
from server.front import Front, open_front
from server.loop_care import care_for_loop, wake_loop_soon
from server.observability import log_to_stderr
from server.settings import Settings, load_settings
from server.wire.auth_flags import AuthFlags, FlagsRefused, check_flags, check_reach, policy_from
from server.wire.sockets import AddressRefused
from server.wire.stdio import StdioServer
from state.errors import HomeBusy
from state.home import Home
from state.owner import OwnerLock

if TYPE_CHECKING:
    # Imported behind the front, and where it listens: a stdio server is up in half the time.
    from server.assembly import Server
    from server.wire.http import HttpListener, TcpAddress, UnixAddress

DEFAULT_LISTEN = "ws://127.0.0.1:4500"
STDIO_DRAIN_S = 1.5
Serve = Callable[[Front, "asyncio.Future[Server]"], Awaitable[None]]
"""Serves clients until there are no more, with a server that becomes whole meanwhile."""
FORMS = "`ws://IP:PORT`, `unix://`, `unix://PATH`, `stdio://` or `off`"


def run(arguments: Namespace) -> int:
    """Serve WebSocket and Unix socket clients until a signal comes."""
    from server.wire.http import HttpListener

    log_to_stderr(debug=arguments.debug)
    flags = checked_flags(arguments)
    home = home_of(arguments)
    addresses = [_address(url, flags, home) for url in arguments.listen or [DEFAULT_LISTEN]]
    settings = _settings(home, arguments)

    async def serve(front: Front, whole: "asyncio.Future[Server]") -> None:
        server = await whole
        for where in addresses:
            listener = HttpListener(where, front.connect, limits=front.wire, clock=front.clock)
            await _started(listener)
            server.on_stop(listener.stop)
            OwnerLock(home).announce(listener.address)
            _tell_address(listener.address, where, home, flags)
        await asyncio.get_running_loop().create_future()

    try:
        return _run(settings, serve, drain_s=settings.drain_s)
    except HomeBusy as busy:
        joined = "clients join it with `memoryd app-server`"
        if busy.addresses:
            where = ", ".join(busy.addresses)
            joined = f"it listens on {where}; clients join it there or with `memoryd app-server`"
        raise ListenRefused(f"{busy}; {joined}") from busy


def run_stdio(arguments: Namespace, stdout: int) -> int:
    """Own the home for the client on stdin and that output, and for all who join meanwhile.

    Raises: HomeBusy, and what starting a server raises.
    """
    log_to_stderr(debug=arguments.debug)
    settings = _settings(home_of(arguments), arguments)

    async def serve(front: Front, whole: "asyncio.Future[Server]") -> None:
        await StdioServer(front.connect, limits=front.wire, stdout_fd=stdout).run()
        # Not for what its client ordered: whoever spawned it may be dead, and the next start
        # carries on with an order that was cut off.
        await (await whole).alone(besides=0)

    return _run(settings, serve, drain_s=STDIO_DRAIN_S)


def _run(settings: Settings, serve: Serve, *, drain_s: float) -> int:
    with _runner() as runner:
        return runner.run(_until_told(settings, serve, drain_s))


def _runner() -> "asyncio.Runner":
    try:
        import uvloop
    except ImportError:  # no wheel for this system: the standard loop serves as well
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _until_told(settings: Settings, serve: Serve, drain_s: float) -> int:
    front = await open_front(settings)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _signalled, told)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` asks for
        loop.add_signal_handler(signal.SIGHUP, told.set)
    wake_loop_soon()
    whole = asyncio.ensure_future(_made_whole(front))
    serving = asyncio.ensure_future(serve(front, whole))
    waiting = asyncio.ensure_future(told.wait())
    try:
        server = await whole
    except BaseException:
        await front.closing.aclose()  # so that whoever waits for an answer is told
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        raise
    care_for_loop()
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        waiting.cancel()
        # What listens is stopped by the server, so that running turns can still be followed.
        await server.stop(drain_s)
        serving.cancel()
        await asyncio.wait({serving})
    return 0


async def _made_whole(front: Front) -> "Server":
    """The server behind its front, which answers while the modules are loaded beside its loop."""
    make_whole = await asyncio.to_thread(_assembly)
    return await make_whole(front)


def _assembly() -> "Callable[[Front], Awaitable[Server]]":
    from server.assembly import make_whole

    return make_whole


def _signalled(told: asyncio.Event) -> None:
    if told.is_set():
        os._exit(0)  # asked twice: at once, as clients of the original expect with status 0
    told.set()


async def _started(listener: "HttpListener") -> None:
    try:
        await listener.start()
    except AddressRefused as error:
        raise ListenRefused(f"{error}; `--listen` names another address") from error


def _settings(home: Home, arguments: Namespace) -> Settings:
    settings = load_settings(home, arguments.overrides)
    for warning in settings.warnings:
        aside(f"memoryd: warning: {warning}")
    return settings


def checked_flags(arguments: Namespace) -> AuthFlags:
    """The flags about access, whichever listener they are for.

    Raises: ListenRefused.
    """
    flags = AuthFlags(
        mode=arguments.ws_auth,
        token_file=arguments.ws_token_file,
        token_sha256=arguments.ws_token_sha256,
        shared_secret_file=arguments.ws_shared_secret_file,
        issuer=arguments.ws_issuer,
        audience=arguments.ws_audience,
        clock_skew_s=arguments.ws_max_clock_skew_seconds,
    )
    try:
        check_flags(flags)
    except FlagsRefused as error:
        raise ListenRefused(str(error)) from error
    return flags


def _address(url: str, flags: AuthFlags, home: Home) -> "TcpAddress | UnixAddress":
    from server.wire.http import TcpAddress, UnixAddress

    if url == "unix://":
        return UnixAddress(home.run / "clients.sock")
    if url.startswith("unix://"):
        return UnixAddress(Path(url.removeprefix("unix://")).expanduser().absolute())
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "ws" or not host or port is None or parts.path not in ("", "/"):
        raise ListenRefused(
            f"--listen `{url}` is not understood; expected {FORMS}",
        )
    home.prepare()
    try:
        check_reach(host, port, flags)
        return TcpAddress(host=host, port=port, auth=policy_from(flags, access_key=home.access_key))
    except (AddressRefused, FlagsRefused) as error:
        raise ListenRefused(str(error)) from error


def _tell_address(
    address: str, where: "TcpAddress | UnixAddress", home: Home, flags: AuthFlags
) -> None:
    """Where it listens; the lines for attaching, with the secret, only on a terminal."""
    from server.wire.http import UnixAddress

    aside(f"memoryd listens on {address}")
    if isinstance(where, UnixAddress):
        return
    http = address.replace("ws://", "http://")
    aside(f"  health        {http}/healthz  {http}/readyz")
    if flags.mode == "none":
        aside("  warning: --ws-auth none: every program on this machine can attach")
    elif flags.mode is None and sys.stderr.isatty():
        secret = home.access_key.read_text("utf-8").strip()
        aside(f"  any client    {address}/?token={secret}")
        aside(
            f"  Codex         CODEX_TOKEN={secret} codex --remote {address} "
            "--remote-auth-token-env CODEX_TOKEN"
        )
        aside(f'  Python SDK    connect_websocket(url="{address}", token="{secret}")')
    elif flags.mode is not None:
        aside(f"  token         as `Authorization: Bearer`, by --ws-auth {flags.mode}")
    else:
        aside(f"  secret        as `Authorization: Bearer` or `?token=`, from {home.access_key}")
    if variable("MEMORYD_HOME") or home.root != Path.home() / ".memoryd":
        aside(f"  home          {home.root}")
