"""A bridge between standard input and output and the process that owns the home.

It starts for every spawned client, so it imports plain sockets and nothing of ours: an event loop
and a WebSocket client alone would cost a tenth of a second. It knows no message; bytes pass as
they are, each way in its own thread, so that a full pipe one way never stops the other.
"""

import os
import socket
import threading
from collections.abc import Callable

_CHUNK_BYTES = 1 << 16
# The address of a Unix socket holds 108 bytes on Linux and 104 on macOS, with a closing zero.
_ADDRESS_BYTES_MAX = 100


def relay(
    home_root: str | os.PathLike[str],
    stdin_fd: int,
    stdout_fd: int,
    *,
    joined: Callable[[], None] = lambda: None,
) -> bool:
    """Carry bytes to and from the owner until one side ends; False at once if there is no owner."""
    owner = _connect(os.fspath(home_root))
    if owner is None:
        return False
    joined()
    with owner:
        upwards = threading.Thread(target=_pump_up, args=(stdin_fd, owner), daemon=True)
        upwards.start()
        _pump_down(owner, stdout_fd)
    return True


def _connect(home_root: str) -> socket.socket | None:
    """A connection to the owner's relay socket, or None."""
    folder = os.path.join(home_root, "run")
    path = os.path.join(folder, "relay.sock")
    owner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if len(os.fsencode(path)) <= _ADDRESS_BYTES_MAX:
            owner.connect(path)
        else:
            # Too long for an address: the same file by a name that the kernel keeps short.
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                owner.connect(f"/proc/self/fd/{handle}/relay.sock")
            finally:
                os.close(handle)
    except OSError:
        owner.close()
        return None
    return owner


def _pump_up(stdin_fd: int, owner: socket.socket) -> None:
    """From the client to the owner; the end of input is passed on, and answers still come."""
    try:
        while chunk := os.read(stdin_fd, _CHUNK_BYTES):
            owner.sendall(chunk)
        owner.shutdown(socket.SHUT_WR)
    except OSError:
        # The owner is gone; the other direction sees it too and ends the relay.
        return


def _pump_down(owner: socket.socket, stdout_fd: int) -> None:
    """From the owner to the client, until the owner closes or nobody reads any more."""
    try:
        while chunk := owner.recv(_CHUNK_BYTES):
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(stdout_fd, rest) :]
    except OSError:
        return
