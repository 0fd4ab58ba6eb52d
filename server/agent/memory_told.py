"""What a thread was told of memory: the section's parts, and the report about it.

Invariant: a report holds counts, names and a digest, never a word of memory, so it may stand in a
rollout and go to clients.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from memory_read.instructions import MemorySection

DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """Whether a thread was told of memory, how much, and why not."""

    injected: bool
    reason: str | None
    """Why nothing was told: `feature_off`, `use_off`, `thread_off`, or what the section says:
    `no_summary`, `blank`, `unreadable`; None where something was."""
    version: str
    tokens: int = 0
    parts: int = 0
    withheld: int = 0
    """Lines left out because they posed as somebody else's voice."""
    notes: int = 0
    """Pending notes in it."""
    corrections: int = 0
    """Notes among them that correct what the summary says."""
    dated: int = 0
    """Lines that were confirmed long ago and carry that day."""
    doubtful: int = 0
    """Files and symbols that memory names and the workspace does not have as named."""
    digest: str | None = None
    """The same for the same bytes."""

    def recorded(self) -> dict[str, Any]:
        """As a rollout holds it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, value: object) -> "MemoryReport | None":
        """The report in a rollout; None where there is none that fits."""
        if not isinstance(value, Mapping):
            return None
        given = {}
        for field in fields(cls):
            one = value.get(field.name, field.default)
            if not _fits(field.name, one):
                return None
            given[field.name] = one
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTold:
    """The section as it is sent, in every request of the thread the same, and the report on it."""

    parts: tuple[str, ...]
    report: MemoryReport


def told(section: MemorySection, version: str) -> MemoryTold:
    """A section and its report."""
    return MemoryTold(
        parts=tuple(section.parts),
        report=MemoryReport(
            injected=bool(section.parts),
            reason=section.reason if not section.parts else None,
            version=version,
            tokens=section.tokens,
            parts=len(section.parts),
            notes=section.notes,
            withheld=section.withheld_lines,
            corrections=section.corrections,
            dated=section.dated_lines,
            doubtful=section.doubtful_pointers,
            digest=digest_of(section.parts) if section.parts else None,
        ),
    )


def told_nothing(reason: str, version: str) -> MemoryTold:
    """No section, for that reason."""
    return MemoryTold(parts=(), report=MemoryReport(injected=False, reason=reason, version=version))


def digest_of(parts: tuple[str, ...]) -> str:
    """Short, and equal for equal bytes; the cuts between parts count as well."""
    data = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(data).hexdigest()[:DIGEST_CHARS]


_TEXTS = frozenset({"reason", "version", "digest"})


def _fits(name: str, value: object) -> bool:
    if name == "injected":
        return isinstance(value, bool)
    if name in _TEXTS:
        return isinstance(value, str) or (value is None and name != "version")
    return isinstance(value, int) and not isinstance(value, bool)
