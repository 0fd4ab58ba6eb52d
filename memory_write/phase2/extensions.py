"""Extensions of a memory folder: what is seeded, what expires, what nobody may plant by them.

Notes are the user's own; everything else below `extensions/` was dropped by some producer and is
untrusted. Invariant: all that happens here happens in the staged copy; a file that a person wrote
is never overwritten, but what looks like a secret in it is masked in the copy that is published.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from memory_write.recipes import template
from state.policy.redaction import redact
from state.workspace.inbox import INBOX_LIMITS, INSTRUCTIONS
from state.workspace.layout import EXTENSIONS, NOTE_INSTRUCTIONS
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import Snapshot

RESOURCE_DAYS_MAX = 7
NOTE_INSTRUCTIONS_TEMPLATE = "ad_hoc_instructions.md"
RESOURCES = "resources"
# A shorter line of an extension's instructions may stand anywhere by chance.
PLANTED_WORDS_MIN = 5
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}")
_STAMP_FORM = "%Y-%m-%dT%H-%M-%S"
_WORD = re.compile(r"\w+")


def seed(staged: Path, before: Snapshot) -> None:
    """Write the instructions of ad-hoc notes, unless there are some already.

    Raises: PathRefused, OSError.
    """
    if NOTE_INSTRUCTIONS not in before.files:
        text = template(NOTE_INSTRUCTIONS_TEMPLATE)
        ConfinedRoot(staged).write_new(NOTE_INSTRUCTIONS, text.encode())


def prune(staged: Path, before: Snapshot, now_ms: int) -> None:
    """Remove what is stale from the copy.

    Raises: OSError.
    """
    for path in stale_resources(before, now_ms):
        (staged / path).unlink(missing_ok=True)


def mask(staged: Path, before: Snapshot, published: Mapping[str, str]) -> None:
    """Take secrets out of every file of the copy; blocking.

    `published` are the blob ids of the last edition, whose files were masked when it was made.
    Raises: OSError.
    """
    for path, file in before.files.items():
        copy = staged / path
        if published.get(path) == file.blob_id or not copy.is_file():
            continue
        # Whatever is no UTF-8 goes through unchanged.
        text = file.data.decode(errors="surrogateescape")
        masked = redact(text)
        if masked == text:
            continue
        data = masked.encode(errors="surrogateescape")
        if path.startswith(f"{EXTENSIONS}/") and len(data) > INBOX_LIMITS.file_bytes_max:
            copy.unlink()
        else:
            copy.write_bytes(data)


def stale_resources(snapshot: Snapshot, now_ms: int) -> tuple[str, ...]:
    """Resources of extensions whose time in the name lies seven days back or more."""
    limit_s = now_ms / 1000 - RESOURCE_DAYS_MAX * 86_400
    found: list[str] = []
    for path in snapshot.below(EXTENSIONS):
        parts = path.split("/")
        if len(parts) != 4 or parts[2] != RESOURCES or not parts[3].endswith(".md"):
            continue
        if f"{EXTENSIONS}/{parts[1]}/{INSTRUCTIONS}" not in snapshot.files:
            continue
        at_s = _stamp_s(parts[3])
        if at_s is not None and at_s <= limit_s:
            found.append(path)
    return tuple(found)


def moved_percent(published: Mapping[str, str], offered: Snapshot) -> int:
    """How many of the last edition's resources, told by blob ids, changed or went since."""
    before = {path: one for path, one in published.items() if _is_resource(path)}
    moved = [
        path
        for path, blob_id in before.items()
        if path not in offered.files or offered.files[path].blob_id != blob_id
    ]
    return 100 * len(moved) // len(before) if before else 0


def planted(offered: Snapshot, written: Snapshot, paths: tuple[str, ...]) -> Iterator[str]:
    """Those of the paths that now hold a line of an extension's instructions word for word.

    What instructions say is how to read the files beside them; it never becomes memory by itself.
    """
    rules = frozenset(_instruction_lines(offered))
    if not rules:
        return
    for path in paths:
        had = frozenset(_lines(offered.text(path) or ""))
        if rules & frozenset(_lines(written.text(path) or "")) - had:
            yield path


def _is_resource(path: str) -> bool:
    return path.startswith(f"{EXTENSIONS}/") and f"/{RESOURCES}/" in path


def _instruction_lines(snapshot: Snapshot) -> Iterator[str]:
    for path in snapshot.below(EXTENSIONS):
        if path.endswith(f"/{INSTRUCTIONS}") and path.count("/") == 2:
            yield from _lines(snapshot.text(path) or "")


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = _WORD.findall(line.lower())
        if len(words) >= PLANTED_WORDS_MIN:
            yield " ".join(words)


def _stamp_s(name: str) -> float | None:
    found = _STAMP.match(name)
    try:
        return found and datetime.strptime(found[0], _STAMP_FORM).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
