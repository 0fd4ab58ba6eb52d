"""What a person asks to have remembered or put right, and the receipts for it."""

from typing import Literal

from protocol.base import StrictParams, WireModel

InForce = Literal["next thread", "when memory is on"]


class RememberParams(StrictParams):
    """Remember this, word for word.

    `version` names a memory version; without it the one that the thread reads, or new threads do.
    """

    text: str
    thread_id: str | None = None
    cwd: str | None = None
    version: str | None = None


class CorrectParams(StrictParams):
    """Put something right that memory says.

    `id` is that of a note, or `PATH:LINE` or `PATH:FIRST-LAST` of a memory file, also with `#` and
    the digest of those lines behind it. `base` is what the caller saw, as a note's receipt or a
    digest names it; when something else stands there now, nothing is written and the error carries
    what does.
    """

    id: str
    text: str
    base: str | None = None
    thread_id: str | None = None
    cwd: str | None = None
    version: str | None = None


class NoteMissing(WireModel):
    """A version that should have the note and has not."""

    version: str
    reason: str


class NoteReceipt(WireModel):
    """The note is kept."""

    note_id: str
    base: str
    """Names these very bytes; for a later correction."""
    durable: Literal[True]
    """File, folder and journal are on the disk: it outlives a crash from now on."""
    path: str
    version: str
    versions: list[str]
    """All that have it; `version` is the one that is read."""
    missing: list[NoteMissing]
    in_force: InForce
    masked: bool
    """Whether a secret in it was masked."""
    withheld: int
    """Lines of it that no thread is told, since they look like markup or hide what they say."""
    corrects: str | None
    """The place that it corrects."""
