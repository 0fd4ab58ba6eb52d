"""Reads an image file that somebody else named, told by its first bytes and by no name."""

import base64
import os

from server.agent.plain_file import NotPlain, read_plain

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def read_image(path: str, *, bytes_max: int) -> tuple[str, str]:
    """The image's real path, and itself as a `data:` URL; blocking, but never for ever.

    What is no image is not read out: a client may name a file that holds a secret.

    Raises: NotPlain, OSError, ValueError for what no path can be.
    """
    real = os.path.realpath(path)
    data, _ = read_plain(real, bytes_max=bytes_max)
    return real, f"data:{_kind(data)};base64,{base64.b64encode(data).decode()}"


def _kind(data: bytes) -> str:
    for mark, kind in _KINDS:
        if data.startswith(mark):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise NotPlain("it is no PNG, JPEG, GIF or WebP image")
