"""Sockets that we bind: their modes, their places, what stands in the way."""

import os
import socket
import stat
from pathlib import Path

import pytest

from server.wire.sockets import AddressRefused, bind_tcp, bind_unix, connect_unix, remove_unix


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
