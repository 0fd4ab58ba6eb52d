"""What one look at a memory folder takes in of its extensions, whose files anyone may have written.

Any producer may drop `extensions/<name>/instructions.md` and files beside it. Invariant: what one
extension holds can neither fill the memory folder nor stop the work on it: beyond these bounds,
and under names that hold a secret, a file is left where it is and not looked into.
"""

from collections import Counter
from dataclasses import dataclass, field

from state.policy.redaction import contains_secret
from state.workspace.layout import EXTENSIONS, RECAPS

AD_HOC = "ad_hoc"
INSTRUCTIONS = "instructions.md"
KINDS = (".md", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxLimits:
    """Bounds of what is taken in; a resource each ten minutes for a week is 1,008 files."""

    extensions_max: int = 64
    instructions_bytes_max: int = 32_768
    file_bytes_max: int = 262_144
    extension_files_max: int = 2_000
    extension_bytes_max: int = 8 * 1_048_576
    files_max: int = 5_000
    bytes_max: int = 24 * 1_048_576


INBOX_LIMITS = InboxLimits()


@dataclass(slots=True)
class InboxMeter:
    """Counts through one walk over a folder; its order decides what still fits."""

    limits: InboxLimits = INBOX_LIMITS
    _files: Counter[str] = field(default_factory=Counter)
    _bytes: Counter[str] = field(default_factory=Counter)
    _described: int = 0

    def admits(self, path: str, size: int) -> bool:
        """Whether this file belongs to what is looked at; asked once for each."""
        parts = path.split("/")
        if parts[0] == RECAPS:
            return True
        # The name is looked at last: of a flood most files do not get that far.
        return self._has_room(path, parts, size) and not contains_secret(path)

    def _has_room(self, path: str, parts: list[str], size: int) -> bool:
        if parts[0] != EXTENSIONS:
            return True
        if len(parts) < 3 or parts[1] == AD_HOC:
            return size <= self.limits.file_bytes_max
        if parts[2:] == [INSTRUCTIONS]:
            self._described += 1
            return (
                self._described <= self.limits.extensions_max
                and size <= self.limits.instructions_bytes_max
            )
        return path.endswith(KINDS) and self._fits(parts[1], size)

    def _fits(self, extension: str, size: int) -> bool:
        limits = self.limits
        if (
            size > limits.file_bytes_max
            or self._files[extension] >= limits.extension_files_max
            or self._bytes[extension] + size > limits.extension_bytes_max
            or self._files.total() >= limits.files_max
            or self._bytes.total() + size > limits.bytes_max
        ):
            return False
        self._files[extension] += 1
        self._bytes[extension] += size
        return True
