"""Memory on its way from one home to another, as a folder of plain files."""

from protocol.base import StrictParams, WireModel
from protocol.messages.memory import ImportFailure


class MemoryExportParams(StrictParams):
    """Export the memory of a version, else of the one that threads read."""

    folder: str
    """From the root; it must be absent or empty."""
    version: str | None = None


class MemoryExportResult(WireModel):
    """What was written; `leftOut` are files that an export cannot hold."""

    folder: str
    version: str
    files: int
    bytes: int
    left_out: list[ImportFailure]


class MemoryRestoreParams(StrictParams):
    """Take in an export."""

    folder: str
    """From the root."""
    dry_run: bool | None = None


class MemoryRestoreResult(WireModel):
    """What came of `found` files; those that are neither new nor changed are `unchanged`."""

    version: str
    """Of the exported memory."""
    created_at: str
    found: int
    notes: int
    """In force at once."""
    imported: int
    updated: int
    unchanged: int
    removed: int
    """Came with an earlier export of the same home, which has them no more."""
    left_out: list[ImportFailure]
    awaits_consolidation: bool
    """Whether there is material now that the next consolidation is to work in."""
    dry_run: bool
