"""What of an export a home takes in as files, and under which names; pure.

Invariant: a source's files have names of their own, so that no source touches another's; a name
never begins with a time, by which resources of programs expire.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from state.policy.export_form import EXPORTED_NOTES
from state.policy.note_form import SLUG_BYTES_MAX
from state.workspace.inbox import INBOX_LIMITS
from state.workspace.layout import EXTENSIONS, HANDBOOK, RECAPS, RESTORED, SKILLS, SUMMARY

EXTENSION = f"{EXTENSIONS}/restored_memory"
INSTRUCTIONS = f"{EXTENSION}/instructions.md"
INSTRUCTIONS_TEMPLATE = "restored_memory_instructions.md"
RESOURCES = RESTORED
LEDGER = f"{EXTENSION}/sources.json"
PIECE_BYTES_MAX = INBOX_LIMITS.file_bytes_max - 1_024
NAME_CHARS_MAX = 170
_THREAD = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOTE_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}")
_STAMP_CHARS = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came from one source before."""

    created_at: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """By path of the resource, SHA-256 of the exported file it was made of."""
    notes: frozenset[str] = frozenset()
    """SHA-256 of each exported note."""


def resource_name(source: str, path: str) -> str:
    """What a file of an export is called among the resources, without its ending."""
    if path == SUMMARY:
        kind = "summary"
    elif path == HANDBOOK:
        kind = "handbook"
    else:
        area, _, name = path.partition("/")
        word = {RECAPS: "recap", SKILLS: "skill"}[area]
        kind = f"{word}-{name.removesuffix('.md').replace('/', '__')}"
    if len(kind.encode()) > NAME_CHARS_MAX or "__" in path:
        # Two paths must not come to one name.
        kind = f"{kind.encode()[:NAME_CHARS_MAX].decode(errors='ignore')}-{_short(path)}"
    return f"{source}-{kind}"


def pieces(name: str, text: str) -> Iterator[tuple[str, bytes]]:
    """The resources of a file: itself, or parts cut at line ends where it is too long for one."""
    data = text.encode()
    if len(data) <= PIECE_BYTES_MAX:
        yield f"{RESOURCES}/{name}.md", data
        return
    part: list[bytes] = []
    number = size = 0
    for line in _bounded_lines(data):
        if part and size + len(line) > PIECE_BYTES_MAX:
            number += 1
            yield f"{RESOURCES}/{name}-part{number:02}.md", b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    yield f"{RESOURCES}/{name}-part{number + 1:02}.md", b"".join(part)


def _bounded_lines(data: bytes) -> Iterator[bytes]:
    for line in data.splitlines(keepends=True):
        rest = line.decode()
        while len(rest.encode()) > PIECE_BYTES_MAX:
            cut = PIECE_BYTES_MAX // 4
            yield rest[:cut].encode()
            rest = rest[cut:]
        yield rest.encode()


def is_note(path: str) -> bool:
    """Whether a file of an export is a note of the user."""
    return path.startswith(f"{EXPORTED_NOTES}/")


def is_recap(path: str) -> bool:
    """Whether a file of an export tells of one session alone."""
    return path.startswith(f"{RECAPS}/")


def note_names(path: str, text: str, created_at: str) -> tuple[str, str]:
    """What a note is called, and what when there is another one of that name."""
    name = path.removeprefix(f"{EXPORTED_NOTES}/")
    short = _short(text)
    stamp = name[:_STAMP_CHARS]
    if not _NOTE_STAMP.fullmatch(stamp):
        stamp = created_at[:_STAMP_CHARS].replace(":", "-")
        return f"{stamp}-note-{short}.md", f"{stamp}-note-{short}-2.md"
    slug = name.removesuffix(".md")[_STAMP_CHARS + 1 :][: SLUG_BYTES_MAX - len(short) - 1]
    return name, f"{stamp}-{slug.strip('-') or 'note'}-{short}.md"


def threads_named(text: str) -> frozenset[str]:
    """The ids of threads that a text names, and others of that form."""
    return frozenset(_THREAD.findall(text))


def ledger_of(data: bytes | None) -> dict[str, Taken]:
    """What came before, by source; what is not ours to read is passed over."""
    try:
        value: object = {} if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, Taken] = {}
    for source, one in value.items() if isinstance(value, dict) else ():
        match one:
            case {"createdAt": str(created_at), "files": dict(files), "notes": list(notes)}:
                found[source] = Taken(
                    created_at=created_at,
                    files={
                        str(path): str(digest)
                        for path, digest in files.items()
                        if _is_of(source, str(path))
                    },
                    notes=frozenset(map(str, notes)),
                )
            case _:
                pass
    return found


def _is_of(source: str, path: str) -> bool:
    """Whether a resource is that source's; anyone may have written into the folder."""
    name = path.removeprefix(f"{RESOURCES}/")
    return name != path and "/" not in name and name.startswith(f"{source}-")


def ledger_text(ledger: Mapping[str, Taken]) -> bytes:
    """The same as a file."""
    whole = {
        source: {
            "createdAt": one.created_at,
            "files": dict(sorted(one.files.items())),
            "notes": sorted(one.notes),
        }
        for source, one in sorted(ledger.items())
    }
    return (json.dumps(whole, ensure_ascii=False, indent=1) + "\n").encode()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
