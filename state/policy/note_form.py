"""What a note of the user's may be called and may say.

Pure. Invariant: a name that passes is one plain file name, and a text that passes holds no secret.
"""

import re
from datetime import UTC, datetime

from state.errors import PathRefused
from state.policy.redaction import contains_secret, redact

FILE_NAME_BYTES_MAX = 128
SLUG_BYTES_MAX = 80
NOTE_BYTES_MAX = 32_768
NAME_FORM = "YYYY-MM-DDTHH-MM-SS-<slug>.md"
_STAMP_LENGTH = 20
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}-")
_SLUG = re.compile(r"[a-z0-9-]+")
_MASK = re.compile(r"\[REDACTED_SECRET\]")


def check_file_name(name: str, *, now_ms: int) -> None:
    """Whether a note may be called so; the time only helps a model that has no clock.

    Raises: PathRefused.
    """
    if len(name.encode(errors="surrogatepass")) > FILE_NAME_BYTES_MAX:
        raise PathRefused(f"filename '{name}' must be at most {FILE_NAME_BYTES_MAX} bytes")
    if not name.endswith(".md"):
        raise PathRefused(f"filename '{name}' must end with .md")
    stem = name.removesuffix(".md")
    slug = stem[_STAMP_LENGTH:]
    if not _STAMP.fullmatch(stem[:_STAMP_LENGTH]) or not slug:
        stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%S")
        raise PathRefused(f"filename '{name}' must use {NAME_FORM} (it is {stamp} now, UTC)")
    if len(slug.encode(errors="surrogatepass")) > SLUG_BYTES_MAX:
        raise PathRefused(f"filename '{name}' slug must be 1 to {SLUG_BYTES_MAX} bytes")
    if not _SLUG.fullmatch(slug):
        raise PathRefused(
            f"filename '{name}' slug must contain only lowercase ASCII letters, digits, or hyphens"
        )
    if contains_secret(name):
        raise PathRefused("the filename holds a secret; nothing was saved")


def says_something(text: str) -> bool:
    """Whether a reader would see anything of it; control and formatting characters are nothing."""
    return any(char.isprintable() and not char.isspace() for char in text)


def masked_note(note: str) -> str:
    """The note as it may be kept, with its secrets masked.

    Raises: PathRefused.
    """
    if not says_something(note):
        raise PathRefused("ad-hoc note must not be empty")
    if len(note.encode(errors="surrogatepass")) > NOTE_BYTES_MAX:
        raise PathRefused(f"ad-hoc note must be at most {NOTE_BYTES_MAX} bytes")
    masked = redact(note)
    if masked != note and not any(char.isalnum() for char in _MASK.sub("", masked)):
        raise PathRefused("the note is nothing but a secret; nothing was saved")
    return masked
