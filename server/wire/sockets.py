"""Listening sockets that we bind ourselves, so that their modes and options are ours.

A Unix socket is made with mode 0600 before anybody can see it. One that is left over is removed
only after a connection to it was refused; whoever calls holds the owner lock or names a path of
his own.
"""

import contextlib
import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

_BACKLOG = 512
# An idle peer's kernel is asked after three seconds and then each second; the fourth question
# without an answer ends the connection.
_KEEPALIVE = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 4}
_TCP_INFO = struct.Struct("=8B24I")
_RETRANSMITS, _UNACKED, _LAST_ACK_MS = 2, 12, 20
_RETRANSMITS_MIN = 2
"""Fewer may be one lost packet and no lost machine."""
_MODE = 0o600
# The address of a Unix socket holds 108 bytes on Linux and 104 on macOS, with a closing zero.
_ADDRESS_BYTES_MAX = 100


class AddressRefused(Exception):
    """An address that may not or cannot be listened on; the text says which and why."""


def bind_tcp(host: str, port: int) -> socket.socket:
    """A listening socket on an IP literal; port 0 takes a free one.

    Raises: AddressRefused.
    """
    address = ipaddress.ip_address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it: a reply is never held back to be sent with the next.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise AddressRefused(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listener


def unconfirmed_s(connection: socket.socket) -> float | None:
    """How long the other kernel has confirmed nothing of what is sent again and again, in seconds.

    None while nothing is under way, and where the system does not tell. A client that reads
    nothing is no such case: its kernel confirms.
    """
    if not hasattr(socket, "TCP_INFO") or connection.family == socket.AF_UNIX:
        return None
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    except OSError:
        return None  # it is closed already
    if len(told) < _TCP_INFO.size:
        return None
    info = _TCP_INFO.unpack(told)
    if not info[_UNACKED]:
        return None
    sent_again = info[_RETRANSMITS] >= _RETRANSMITS_MIN
    return float(info[_LAST_ACK_MS]) / 1_000 if sent_again else 0.0


def is_loopback(host: str) -> bool:
    """Whether that IP literal is reachable from this machine alone."""
    return ipaddress.ip_address(host).is_loopback


def bind_unix(path: Path) -> socket.socket:
    """A listening Unix socket with mode 0600; a dead one in its place is replaced.

    Raises: AddressRefused.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _address(path) as address:
            _clear_place(path, address)
            # On Linux the file is made with the mode of the socket, whatever the umask allows.
            os.fchmod(listener.fileno(), _MODE)
            listener.bind(address)
            os.chmod(address, _MODE)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise AddressRefused(f"cannot listen on {path}: {error.strerror or error}") from error
    except AddressRefused:
        listener.close()
        raise
    return listener


def connect_unix(path: Path) -> socket.socket:
    """A blocking connection to a Unix socket, however long its path is.

    Raises: OSError.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def remove_unix(path: Path, listener: socket.socket) -> None:
    """Close a listener and remove its file, if the file is still a socket."""
    listener.close()
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()


@contextlib.contextmanager
def _address(path: Path) -> Iterator[str]:
    """The path, or a short name of the same file where the path is too long for an address."""
    if len(os.fsencode(path)) <= _ADDRESS_BYTES_MAX:
        yield str(path)
        return
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)


def _clear_place(path: Path, address: str) -> None:
    """Remove a socket that nobody listens on.

    Raises: AddressRefused, OSError.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise AddressRefused(f"app-server control socket path exists and is not a socket: {path}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except BlockingIOError:
            pass  # its queue is full, so somebody listens
    raise AddressRefused(f"app-server control socket is already in use at {path}")
