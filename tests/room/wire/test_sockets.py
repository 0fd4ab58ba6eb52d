"""Sockets that we bind: their modes, their places, what stands in the way."""

import contextlib
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.wire.sockets import (
    AddressRefused,
    bind_tcp,
    bind_unix,
    connect_unix,
    remove_unix,
    unconfirmed_s,
)
from tests.support.lost_peers import drop_packets
from tests.support.wire import WAIT_S


@pytest.mark.requirement("FR-T23")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_socket_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    """Its folder too, where we made it."""
    path = tmp_path / "run" / "a.sock"
    before = os.umask(umask)
    try:
        listener = bind_unix(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    remove_unix(path, listener)
    assert not path.exists()


def test_a_dead_socket_is_replaced_and_a_live_one_is_not(tmp_path: Path) -> None:
    """A process that was killed leaves its socket behind."""
    path = tmp_path / "a.sock"
    bind_unix(path).close()
    assert path.exists()
    listener = bind_unix(path)
    with pytest.raises(AddressRefused, match=r"already in use at .*a\.sock"):
        bind_unix(path)
    with connect_unix(path):
        pass
    remove_unix(path, listener)


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    """A file, or a link to somewhere."""
    path = tmp_path / "a.sock"
    path.write_text("mine")
    with pytest.raises(AddressRefused, match="exists and is not a socket"):
        bind_unix(path)
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AddressRefused, match="exists and is not a socket"):
        bind_unix(path)


def test_a_path_too_long_for_an_address_works(tmp_path: Path) -> None:
    """Homes may lie deep."""
    path = tmp_path / ("d" * 100) / "a.sock"
    listener = bind_unix(path)
    with connect_unix(path) as client:
        client.sendall(b"x")
    remove_unix(path, listener)
    assert not path.exists()


def test_a_port_in_use_is_told_in_one_sentence() -> None:
    """With the address."""
    listener = bind_tcp("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with pytest.raises(AddressRefused, match=f"cannot listen on 127.0.0.1:{port}: "):
        bind_tcp("127.0.0.1", port)
    assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    listener.close()


@contextmanager
def _connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection, the server's first."""
    listener = bind_tcp("127.0.0.1", 0)
    listener.setblocking(True)
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    with listener, client, server:
        yield server, client


def _until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@pytest.mark.requirement("FR-T17")
@pytest.mark.skipif(sys.platform != "linux", reason="what is confirmed is told by Linux alone")
def test_a_machine_that_confirms_nothing_is_told_from_a_client_that_reads_nothing() -> None:
    """The one's silence grows; the other's kernel answers however full it is."""
    with _connected() as (server, client):
        assert unconfirmed_s(server) is None
        drop_packets(client)
        server.sendall(b"x")
        _until(lambda: (unconfirmed_s(server) or 0) > 0.5)
    with _connected() as (server, client):
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                server.send(bytes(1 << 16))
        for _ in range(100):
            assert not unconfirmed_s(server)
            time.sleep(0.01)
        assert client.recv(1)


def test_of_a_closed_or_a_unix_socket_nothing_is_told(tmp_path: Path) -> None:
    """Neither is an error."""
    listener = bind_unix(tmp_path / "a.sock")
    assert unconfirmed_s(listener) is None
    remove_unix(tmp_path / "a.sock", listener)
    closed = socket.socket()
    closed.close()
    assert unconfirmed_s(closed) is None
