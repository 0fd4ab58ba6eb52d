"""The door of the HTTP listener: origin, host, path, credential, upgrade, sizes."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from server.wire.auth import AuthPolicy, NoAuth, SignedToken, Token
from server.wire.http import HttpListener, TcpAddress
from server.wire.limits import WireLimits
from state.home import Home
from state.ids import ThreadId
from tests.support.small_server import SmallServer
from tests.support.wire import WAIT_S, WireClient, wired
from tests.support.wire_links import WebSocketLink

SECRET = b"the-secret-of-this-installation"
HELLO = b'{"id":0,"method":"initialize","params":{"clientInfo":{"name":"n","version":"1"}}}'
LISTEN = b'{"id":1,"method":"thread/unsubscribe","params":{"threadId":"t"}}'


class Door:
    """A listener with a credential."""

    def __init__(self, policy: AuthPolicy) -> None:
        self.server = SmallServer()
        self.listener = HttpListener(
            TcpAddress(host="127.0.0.1", port=0, auth=policy),
            self.server.connect,
            limits=self.server.limits,
            clock=self.server.clock,
        )

    async def __aenter__(self) -> "Door":
        await self.listener.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.listener.stop(1)

    @property
    def http(self) -> str:
        """The address for plain requests."""
        return self.listener.address.replace("ws://", "http://")

    async def attach(self, path: str = "/", **headers: str) -> str | None:
        """Try to upgrade; None on success, else status and body."""
        try:
            async with connect(
                self.listener.address + path, additional_headers=headers, proxy=None
            ) as connection:
                client = WireClient(WebSocketLink(connection))
                await client.initialize()
                await client.close()
                return None
        except InvalidStatus as refused:
            return f"{refused.response.status_code} {refused.response.body.decode()}"


@pytest.mark.requirement("FR-T23")
async def test_without_the_secret_nobody_attaches() -> None:
    """In a header or in the URL, at any path; the refusal says what is wrong, and no secret."""
    async with Door(Token.of(SECRET, in_url=True)) as door:
        assert await door.attach() == "401 missing websocket bearer token"
        assert await door.attach(Authorization="Basic x") == "401 invalid authorization header"
        assert await door.attach(Authorization="Bearer x") == "401 invalid websocket bearer token"
        assert await door.attach("/?token=x") == "401 invalid websocket bearer token"
        assert await door.attach(Authorization=f"bearer {SECRET.decode()}") is None
        assert await door.attach(f"/any/path?a=b&token={SECRET.decode()}") is None


@pytest.mark.requirement("FR-T23", "MR-9-24")
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:4500", "7", ""]
)
async def test_a_browser_is_refused_everywhere_before_anything_else(origin: str) -> None:
    """Whatever the origin, with or without the secret, on every path."""
    async with Door(Token.of(SECRET, in_url=True)) as door:
        refused = await door.attach(f"/?token={SECRET.decode()}", Origin=origin)
        assert refused == "403 "
        async with httpx.AsyncClient(trust_env=False) as http:
            for path in ("/healthz", "/readyz", "/", "/no/such"):
                reply = await http.get(door.http + path, headers={"Origin": origin})
                assert (reply.status_code, reply.content) == (403, b"")
        assert door.server.hub.peers == ()


@pytest.mark.requirement("FR-T23")
async def test_a_foreign_host_name_is_refused_on_loopback() -> None:
    """A page whose name was pointed at 127.0.0.1 sends its own name."""
    async with Door(NoAuth()) as door:
        port = int(door.listener.address.rpartition(":")[2])
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://evil.example:{port}", host="127.0.0.1", port=port, proxy=None)
        assert refused.value.response.status_code == 403
        async with httpx.AsyncClient(trust_env=False) as http:
            reply = await http.get(door.http + "/healthz", headers={"Host": "evil.example"})
            assert reply.status_code == 403
            reply = await http.get(door.http + "/healthz", headers={"Host": "localhost:1"})
            assert reply.status_code == 200


@pytest.mark.requirement("MR-9-24")
async def test_health_needs_no_credential_and_the_rest_only_upgrades() -> None:
    """With the statuses that probes and clients expect."""
    async with Door(Token.of(SECRET, in_url=True)) as door:
        async with httpx.AsyncClient(trust_env=False) as http:
            for path in ("/healthz", "/readyz"):
                reply = await http.get(door.http + path)
                assert (reply.status_code, reply.content) == (200, b"")
                assert (await http.post(door.http + path)).status_code == 405
            assert (await http.get(door.http + "/")).status_code == 400
            assert (await http.get(door.http + "/a/b?token=x")).status_code == 400
            assert (await http.post(door.http + "/x", content=b"{}")).status_code == 400


@pytest.mark.requirement("MR-9-24")
async def test_signed_tokens_are_checked_at_the_upgrade() -> None:
    """The claims are told apart by the sentence."""
    async with Door(SignedToken(secret=b"k" * 32)) as door:
        assert await door.attach(Authorization="Bearer a.b.c") == "401 invalid websocket jwt"
        assert await door.attach("/?token=a.b.c") == "401 missing websocket bearer token"


@pytest.mark.requirement("P9", "FR-T23")
async def test_the_secret_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Request lines hold it when it comes in the URL."""
    caplog.set_level("DEBUG")
    async with Door(Token.of(SECRET, in_url=True)) as door:
        assert await door.attach(f"/?token={SECRET.decode()}") is None
        assert await door.attach(f"/?token={SECRET.decode()}x") is not None
    server_side = [
        one for one in caplog.records if not one.name.startswith(("websockets", "httpx"))
    ]
    assert SECRET.decode() not in "\n".join(one.getMessage() for one in server_side)


async def test_one_text_frame_is_one_message_however_it_is_fragmented(tmp_path: Path) -> None:
    """And one message one frame."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client("websocket") as client:
        link: Any = client.link
        waiting = client.expect("f")
        pieces = [
            '{"id":"f","method":"thread/na',
            'me/set","params":{"threadId"',
            ':"t","name":"n"}}',
        ]
        await link.connection.send(pieces)
        assert await waiting == {"id": "f", "result": {}}


@pytest.mark.parametrize("kind", ["websocket", "unix-websocket"])
async def test_a_frame_above_the_cap_closes_the_connection_with_1009(
    kind: Any, tmp_path: Path
) -> None:
    """And one below it works."""
    server = SmallServer(limits=WireLimits(frame_bytes_max=4096))
    async with (
        wired(server.connect, tmp_path, limits=server.limits) as wire,
        wire.link(kind) as link,
    ):
        client = WireClient(link)
        await client.initialize()
        params = {"threadId": "t", "name": "x" * 3000}
        assert await client.request("thread/name/set", params) == {}
        with pytest.raises((ConnectionClosed, ConnectionResetError)):
            await client.request("thread/name/set", {"threadId": "t", "name": "x" * 5000})
        await client.close()
        assert link.close_code == 1009


async def test_the_unix_socket_is_private_and_needs_no_secret_but_refuses_browsers(
    tmp_path: Path,
) -> None:
    """Whoever can open it is the user."""
    server = SmallServer()
    async with wired(server.connect, tmp_path) as wire, wire.client("unix-websocket"):
        path = tmp_path / "control.sock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        async with httpx.AsyncClient(transport=transport) as http:
            assert (await http.get("http://any.name/healthz")).status_code == 200
            reply = await http.get("http://any.name/healthz", headers={"Origin": "null"})
            assert reply.status_code == 403


async def test_a_reply_above_the_outbox_becomes_an_error_and_no_disconnect(tmp_path: Path) -> None:
    """The client can ask for less."""
    server = SmallServer(limits=WireLimits(outbox_bytes_max=10_000))
    server.summary = "x" * 20_000
    async with wired(server.connect, tmp_path) as wire, wire.client("websocket") as client:
        reply = await client.reply("thread/memory/read", {"threadId": "t"})
        assert "longer than 10000 bytes" in reply["error"]["message"]
        server.summary = "short"
        assert await client.request("thread/memory/read", {"threadId": "t"}) == {"summary": "short"}


@pytest.mark.requirement("FR-T17")
async def test_a_peer_that_answers_nothing_any_more_is_freed(tmp_path: Path) -> None:
    """Its end never comes, as when a network drops everything; what it held is let go."""
    server = SmallServer(limits=WireLimits(ping_interval_s=0.2, ping_timeout_s=0.2))
    async with wired(server.connect, tmp_path, limits=server.limits) as wire:
        port = int((await wire.http()).address.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await reader.readuntil(b"\r\n\r\n")
        for text in (HELLO, LISTEN):
            writer.write(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text)  # masked by zeros
        async with asyncio.timeout(WAIT_S):
            while server.hub.subscribers(ThreadId("t")) == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            while server.hub.peers:  # noqa: ASYNC110  what is waited for announces nothing
                await asyncio.sleep(0.01)
        assert server.hub.subscribers(ThreadId("t")) == 0
        writer.close()


@pytest.mark.requirement("FR-T23")
def test_two_installations_have_secrets_of_their_own_that_only_their_user_reads(
    tmp_path: Path,
) -> None:
    """Whatever the umask."""
    before = os.umask(0)
    try:
        homes = [Home(tmp_path / name) for name in ("one", "other")]
        secrets = []
        for home in homes:
            home.prepare()
            secrets.append(home.access_key.read_text("utf-8").strip())
    finally:
        os.umask(before)
    assert secrets[0] != secrets[1] and min(map(len, secrets)) >= 32
    for home in homes:
        assert stat.S_IMODE(home.access_key.stat().st_mode) == 0o600
