"""The door of an installed server: origins, hosts, the secret, and where that may be seen."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from server.wire.sockets import connect_unix
from tests.support.handshakes import refusal
from tests.support.installed import MEMORYD, environment, memoryd

START_S = 60.0
ORIGINS = ("https://evil.example", "http://127.0.0.1:4500", "http://localhost", "null", "7", "")
PATHS = ("/", "/healthz", "/readyz", "/no/such", "/memory", "/index.html")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SECRET_CHARACTERS_MIN = 32


@dataclass(slots=True)
class Served:
    """A running server, and all that it has printed."""

    home: Path
    process: asyncio.subprocess.Process
    address: str
    socket: Path
    printed: bytes = b""

    @property
    def secret(self) -> str:
        """That of its installation."""
        return (self.home / "keys" / "access").read_text("utf-8").strip()


@asynccontextmanager
async def _served(home: Path, folder: Path) -> AsyncIterator[Served]:
    """With all its logs on and the default way in; stopped and read to its end."""
    socket = folder / f"{home.name}.sock"
    process = await asyncio.create_subprocess_exec(
        *(MEMORYD, "--debug", "serve", "--listen", "ws://127.0.0.1:0"),
        *("--listen", f"unix://{socket}"),
        env=environment(home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 22,
    )
    assert process.stderr is not None
    served = Served(home, process, "", socket)
    try:
        async with asyncio.timeout(START_S):
            while str(socket).encode() not in served.printed:
                line = await process.stderr.readline()
                assert line, served.printed
                served.printed += line
        served.address = served.printed.decode().partition("listens on ")[2].split()[0]
        yield served
    finally:
        if process.returncode is None:
            process.terminate()
        out, rest = await process.communicate()
        served.printed += out + rest


async def _attached(address: str, **headers: str) -> int | None:
    """None if a client with those headers shakes hands, else the status that it gets."""
    refused = await refusal(address, headers)
    return None if refused is None else refused.status_code


@pytest.mark.requirement("FR-T23")
@pytest.mark.parametrize("origin", ORIGINS)
async def test_a_web_page_gets_403_wherever_and_however_it_asks(
    origin: str, tmp_path: Path
) -> None:
    """On the port and on the Unix socket, with the secret too, before anything is looked at."""
    async with _served(tmp_path / "home", tmp_path) as served:
        http = served.address.replace("ws://", "http://")
        over_unix = httpx.AsyncHTTPTransport(uds=str(served.socket))
        headers = {"Origin": origin, "Authorization": f"Bearer {served.secret}"}
        for transport, base in ((None, http), (over_unix, "http://localhost")):
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                for path in PATHS:
                    for method in METHODS:
                        reply = await client.request(method, base + path, headers=headers)
                        told = (reply.status_code, reply.content)
                        assert told == (403, b""), (base, method, path)
        for path in PATHS:
            where = f"{served.address}{path}?token={served.secret}"
            assert await _attached(where, Origin=origin) == 403, path
            with pytest.raises(InvalidStatus) as refused:
                sock = connect_unix(served.socket)
                await connect(f"ws://localhost{path}", sock=sock, origin=origin)  # type: ignore[arg-type]
            assert refused.value.response.status_code == 403, path


@pytest.mark.requirement("FR-T23")
async def test_on_loopback_too_nobody_attaches_without_the_secret(tmp_path: Path) -> None:
    """Nor with that of another installation, which has its own that only its user reads."""
    before = os.umask(0)
    try:
        async with (
            _served(tmp_path / "one", tmp_path) as one,
            _served(tmp_path / "other", tmp_path) as other,
        ):
            assert one.address.startswith("ws://127.0.0.1:")
            assert one.secret != other.secret and len(one.secret) >= SECRET_CHARACTERS_MIN
            assert await _attached(one.address) == 401
            assert await _attached(one.address, Authorization=f"Bearer {other.secret}") == 401
            assert await _attached(f"{one.address}/?token={other.secret}") == 401
            for served in (one, other):
                bearer = {"Authorization": f"Bearer {served.secret}"}
                assert await _attached(served.address, **bearer) is None
                for path in (served.home / "keys" / "access", served.socket):
                    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.requirement("FR-T23")
async def test_the_secret_is_seen_in_no_log_no_process_list_and_no_other_file(
    tmp_path: Path,
) -> None:
    """Though it came in a URL, rightly and wrongly, with debug logs on and children running."""
    async with _served(tmp_path / "home", tmp_path) as served:
        secret = served.secret
        assert await _attached(f"{served.address}/?token={secret}") is None
        assert await _attached(f"{served.address}/?token={secret}x") == 401
        assert await _attached(served.address, Authorization=f"Bearer {secret}x") == 401
        relay = await asyncio.create_subprocess_exec(
            *(MEMORYD, "app-server"),
            env=environment(served.home),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        for pid in (served.process.pid, relay.pid):
            process = psutil.Process(pid)
            for one in (process, *process.children(recursive=True)):
                assert secret not in json.dumps([one.cmdline(), one.environ()])
        assert relay.stdin is not None
        relay.stdin.close()
        await relay.wait()
        told = await asyncio.to_thread(memoryd, "doctor", home=served.home)
        assert secret not in told.stdout + told.stderr
    assert secret.encode() not in served.printed
    holders = await asyncio.to_thread(_holders, served.home, secret.encode())
    assert holders == [served.home / "keys" / "access"]


def _holders(home: Path, secret: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and secret in path.read_bytes()]
