"""The memory tools of an agent: add a note, list, read, search.

Thin faces over the snapshot. Invariant: whatever a model writes into a call, it gets text back; no
tool leaves the memory folder, and none but the note tool writes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from memory_read.arguments import FieldType, parse_arguments
from memory_read.snapshot import MemorySnapshot
from memory_read.withheld import OPEN, ReadGate
from state.clock import Clock
from state.errors import PathRefused, WorkspaceUnsafe
from state.home import Home
from state.policy.note_form import NAME_FORM, check_file_name, masked_note

NAMESPACE = "memories"
ARGUMENT_CHARS_MAX = 262_144

Result = Mapping[str, object]

_LIST: dict[str, FieldType] = {"path": "string", "cursor": "string", "max_results": "integer"}
_READ: dict[str, FieldType] = {
    "path": "string",
    "line_offset": "integer",
    "max_lines": "integer",
}
_SEARCH: dict[str, FieldType] = {
    "queries": "strings",
    "match_mode": "object",
    "path": "string",
    "cursor": "string",
    "context_lines": "integer",
    "case_sensitive": "boolean",
    "normalized": "boolean",
    "max_results": "integer",
}
_NOTE: dict[str, FieldType] = {"filename": "string", "note": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTool:
    """One function that an agent may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    work: Callable[[str], Result]
    """Runs in a thread of its own with the argument text; raises what `call` makes text of."""
    ready: Callable[[], Awaitable[None]]
    """Waited for before that."""
    namespace: str = NAMESPACE
    strict: bool = False

    async def call(self, arguments: str) -> str:
        """Run it with the model's argument text; mistakes come back as text."""
        if len(arguments) > ARGUMENT_CHARS_MAX:
            return f"arguments must be at most {ARGUMENT_CHARS_MAX} characters"
        await self.ready()
        return await asyncio.to_thread(self._answer, arguments)

    def _answer(self, arguments: str) -> str:
        try:
            result = self.work(arguments)
        except (PathRefused, WorkspaceUnsafe) as refusal:
            return str(refusal)
        except UnicodeError:
            return "this is not valid UTF-8 text"
        except OSError as error:
            return f"the memory folder could not be used: {error.strerror or 'input/output error'}"
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def memory_tools(
    home: Home,
    version: str,
    clock: Clock,
    *,
    keep: Callable[[str, str], None] | None = None,
    gate: ReadGate = OPEN,
) -> tuple[MemoryTool, ...]:
    """The tools over the memory of a version, in the order in which a model is given them.

    `keep` writes a note for good, by its name and text, and blocks until it stands; without it the
    note is a file of the folder and no more.
    """
    memory = MemorySnapshot(home, version, gate)
    write = keep if keep is not None else memory.add_note

    def add_note(text: str) -> Result:
        given = parse_arguments(text, _NOTE, required=("filename", "note"))
        return _add_note(write, given["filename"], given["note"], now_ms=clock.now_ms())

    def list_folder(text: str) -> Result:
        return memory.list(**parse_arguments(text, _LIST))

    def read_file(text: str) -> Result:
        return memory.read(**parse_arguments(text, _READ, required=("path",)))

    def search_files(text: str) -> Result:
        return memory.search(**parse_arguments(text, _SEARCH, required=("queries",)))

    ready = partial(gate.ready, version)
    return _described(add_note, list_folder, read_file, search_files, ready=ready)


Work = Callable[[str], Result]


def _described(
    add_note: Work,
    list_folder: Work,
    read_file: Work,
    search_files: Work,
    *,
    ready: Callable[[], Awaitable[None]],
) -> tuple[MemoryTool, ...]:
    """The tools as a model sees them."""
    return (
        MemoryTool(
            name="add_ad_hoc_note",
            description=(
                "Keep a note that changes memory. Use it only when the user explicitly asks to "
                "remember, forget or update something. It is in force for new threads at once."
            ),
            parameters=_schema(
                _NOTE,
                required=["filename", "note"],
                descriptions={
                    "filename": f"Name of a new file, {NAME_FORM}, where the slug has 1 to 80 "
                    "lowercase ASCII letters, digits or hyphens.",
                    "note": "In the user's words what to remember, forget or change; one concern.",
                },
            ),
            work=add_note,
            ready=ready,
        ),
        MemoryTool(
            name="list",
            description="List the files and folders directly inside a folder of memory.",
            parameters=_schema(_LIST),
            work=list_folder,
            ready=ready,
        ),
        MemoryTool(
            name="read",
            description="Read a file of memory, whole or from a line on.",
            parameters=_schema(_READ, required=["path"]),
            work=read_file,
            ready=ready,
        ),
        MemoryTool(
            name="search",
            description=(
                "Find lines of memory that hold the queries as literal text. `match_mode` is "
                '{"type":"any"}, {"type":"all_on_same_line"} or '
                '{"type":"all_within_lines","line_count":N}.'
            ),
            parameters=_schema(_SEARCH, required=["queries"]),
            work=search_files,
            ready=ready,
        ),
    )


def _add_note(
    write: Callable[[str, str], None], filename: str, note: str, *, now_ms: int
) -> Result:
    check_file_name(filename, now_ms=now_ms)
    kept = masked_note(note)
    try:
        write(filename, kept)
    except PathRefused as refusal:
        if str(refusal).endswith("already exists"):
            raise PathRefused(f"ad-hoc note '{filename}' already exists") from refusal
        raise
    if kept != note:
        return {"message": "saved; a secret in the note was masked"}
    return {}


_TYPES: dict[FieldType, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "strings": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "object": {
        "type": "object",
        "properties": {"type": {"type": "string"}, "line_count": {"type": "integer"}},
        "required": ["type"],
    },
}


def _schema(
    fields: Mapping[str, FieldType],
    *,
    required: list[str] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    properties = {
        name: _TYPES[kind]
        | ({"description": descriptions[name]} if descriptions and name in descriptions else {})
        for name, kind in fields.items()
    }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return schema | ({"required": required} if required else {})
