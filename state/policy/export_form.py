"""The form of an exported memory: which files, and the manifest that vouches for them.

Pure. Invariant: a manifest that was read names plain relative paths of known places, each once,
within the limits; two exports of the same memory differ in the line of the time alone.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from state.policy.redaction import redact

FORMAT = "memoryd-export"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
EXPORTED_NOTES = "notes"
_ORIGIN = re.compile(r"[0-9a-f]{16}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
_PLACE = re.compile(
    r"memory_summary\.md|MEMORY\.md|rollout_summaries/[^/]+\.md|notes/[^/]+\.md|skills/.+"
)
_MEMORY_VERSION = re.compile(r"v[0-9]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLimits:
    """Bounds of an export, for who makes one and for who takes one in."""

    files_max: int = 1_900
    bytes_max: int = 7 * 1_048_576
    file_bytes_max: int = 4 * 1_048_576
    manifest_bytes_max: int = 1_048_576
    path_part_bytes_max: int = 200
    path_depth_max: int = 12


EXPORT_LIMITS = ExportLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an export says of itself."""

    memory_version: str
    origin: str
    """A random name of the home it comes from, which tells nothing of it."""
    created_at: str
    digests: Mapping[str, str]
    """SHA-256 of each file, by its path."""
    pending: tuple[str, ...] = ()
    """Notes that no consolidation had worked in."""

    @property
    def source(self) -> str:
        """Whose memory it is, and which."""
        return f"{self.origin}-{self.memory_version}"


class ManifestFault(ValueError):
    """Why a manifest is none that can be trusted; the sentence names what is wrong."""


def digest_of(data: bytes) -> str:
    """What the manifest says of a file."""
    return hashlib.sha256(data).hexdigest()


def rendered(manifest: Manifest, sizes: Mapping[str, int]) -> bytes:
    """The manifest as a file, its time on a line of its own."""
    whole = {
        "format": FORMAT,
        "formatVersion": FORMAT_VERSION,
        "memoryVersion": manifest.memory_version,
        "origin": manifest.origin,
        "createdAt": manifest.created_at,
        "files": [
            {"path": path, "bytes": sizes[path], "sha256": manifest.digests[path]}
            for path in sorted(manifest.digests)
        ],
        "pendingNotes": sorted(manifest.pending),
        # What a person had forgotten for good will stand here, once memory knows of it.
        "tombstones": [],
    }
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def parsed(data: bytes, limits: ExportLimits = EXPORT_LIMITS) -> Manifest:
    """The manifest that a file holds.

    Raises: ManifestFault.
    """
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise ManifestFault("it is no JSON") from None
    match value:
        case {"format": "memoryd-export", "formatVersion": int(number)} if (
            number == FORMAT_VERSION and number is not True
        ):
            pass
        case {"format": "memoryd-export"}:
            raise ManifestFault(f"its format is not version {FORMAT_VERSION}, the one known here")
        case _:
            raise ManifestFault("it is not that of an exported memory")
    match value:
        case {"tombstones": []}:
            pass
        case _:
            raise ManifestFault("it has tombstones, which this memoryd cannot keep yet")
    match value:
        case {
            "memoryVersion": str(memory_version),
            "origin": str(origin),
            "createdAt": str(created_at),
            "files": list(files),
            "pendingNotes": list(pending),
        }:
            _check_words(memory_version, origin, created_at)
            digests = _digests(files, limits)
        case _:
            raise ManifestFault("a part of it is missing")
    notes = tuple(one for one in pending if isinstance(one, str) and one in digests)
    if len(notes) != len(pending):
        raise ManifestFault("it names notes that it does not hold")
    return Manifest(
        memory_version=memory_version,
        origin=origin,
        created_at=created_at,
        digests=digests,
        pending=notes,
    )


def _check_words(memory_version: str, origin: str, created_at: str) -> None:
    if (
        not _MEMORY_VERSION.fullmatch(memory_version)
        or not _ORIGIN.fullmatch(origin)
        or not _TIME.fullmatch(created_at)
    ):
        raise ManifestFault("its version, origin or time is not well formed")


def _digests(files: Sequence[object], limits: ExportLimits) -> dict[str, str]:
    if len(files) > limits.files_max:
        raise ManifestFault(f"it names more than {limits.files_max} files")
    found: dict[str, str] = {}
    total = 0
    for one in files:
        match one:
            case {"path": str(path), "bytes": int(size), "sha256": str(digest)}:
                pass
            case _:
                raise ManifestFault("an entry of its files is not well formed")
        if not _is_plain(path, limits):
            raise ManifestFault(f"it names a path that no export has: {_shown(path)}")
        if path in found or not _DIGEST.fullmatch(digest):
            raise ManifestFault(f"its entry of {path} is not well formed")
        if not 0 <= size <= limits.file_bytes_max:
            raise ManifestFault(f"{path} is larger than {limits.file_bytes_max} bytes")
        found[path] = digest
        total += size
    if total > limits.bytes_max:
        raise ManifestFault(f"its files are more than {limits.bytes_max} bytes")
    return found


def is_exported_place(path: str, limits: ExportLimits = EXPORT_LIMITS) -> bool:
    """Whether an export may have a file of that path."""
    return _is_plain(path, limits)


def _is_plain(path: str, limits: ExportLimits) -> bool:
    parts = path.split("/")
    return (
        _PLACE.fullmatch(path) is not None
        and path.isprintable()
        and "\\" not in path
        and len(parts) <= limits.path_depth_max
        and all(_is_name(part, limits) for part in parts)
    )


def _is_name(part: str, limits: ExportLimits) -> bool:
    size = len(part.encode(errors="surrogatepass"))
    return bool(part) and not part.startswith(".") and size <= limits.path_part_bytes_max


def _shown(path: str) -> str:
    return ascii(redact(path)[:100])


def within(
    files: Iterable[tuple[str, bytes]], limits: ExportLimits = EXPORT_LIMITS
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """As many of the files as an export may hold, the first ones first; and those left out."""
    kept: dict[str, bytes] = {}
    over: list[str] = []
    left = limits.bytes_max
    for path, data in files:
        room = len(data) <= min(left, limits.file_bytes_max) and len(kept) < limits.files_max
        if room:
            kept[path] = data
            left -= len(data)
        else:
            over.append(path)
    return dict(sorted(kept.items())), tuple(over)
