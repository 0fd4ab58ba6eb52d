"""The file tools of the consolidation agent: all it has, on one staged folder, in this process.

Invariant: a tool changes only what the recipe lets a consolidation write; inputs are there to be
read.
What a tool refuses comes back as text, so that the model can do better; a fault of the machine is
none of the model's business and ends the run.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_write.limits import Phase2Limits
from memory_write.outage import outage_reason
from memory_write.phase2.arguments import Arguments, parse
from memory_write.ports import FileTool
from memory_write.recipes import V1, Recipe
from state.errors import PathRefused, WorkspaceUnsafe
from state.workspace.root import ConfinedRoot

DONE: Mapping[str, object] = {}
# One thinking step may call several tools; beyond this many a turn the agent is going in circles.
CALLS_PER_TURN_MAX = 25


class ToolMeter:
    """Counts what one run does with its tools, tells when it was too much, and ends it."""

    def __init__(self, limits: Phase2Limits, recipe: Recipe = V1) -> None:
        self.limits = limits
        self.recipe = recipe
        self.exhausted = asyncio.Event()
        self.has_written = False
        """Whether it wrote or edited any file so far."""
        self.fault: OSError | None = None
        """What of the machine kept a tool from its work."""
        self.stopped = asyncio.Event()
        """Set with the fault: the run is over."""
        self.seen: set[str] = set()
        """The files it has read so far."""
        self._lock = threading.Lock()
        self._closed = False
        self._calls_left = limits.turns_max * CALLS_PER_TURN_MAX
        self._bytes_left = limits.folder_bytes_max
        self._files_left = limits.folder_files_max

    def close(self) -> None:
        """End the run: waits for a call under way, and lets no later one do anything."""
        with self._lock:
            self._closed = True

    def run(self, work: "Work", root: ConfinedRoot, given: Arguments) -> Mapping[str, object]:
        """Do one call, one at a time, unless the run has ended; blocking.

        Raises: PathRefused, WorkspaceUnsafe, OSError, UnicodeError.
        """
        # A thread outlives the cancellation of its task, so the end is asked for in the thread.
        with self._lock:
            if self._closed:
                raise PathRefused("the run has ended")
            return work(root, given, self)

    def broke(self, error: OSError) -> None:
        """The machine failed: no later call does anything, and the run ends."""
        if self.fault is None:
            self.fault = error
        self._closed = True
        self.stopped.set()

    def call(self) -> None:
        """Count one call.

        Raises: PathRefused.
        """
        self._calls_left -= 1
        if self._calls_left < 0:
            self.exhausted.set()
            raise PathRefused("no tool calls are left in this run")

    def written(self, path: str, size: int) -> None:
        """Count one written file, before it is written.

        Raises: PathRefused.
        """
        if size > self.limits.file_bytes_max:
            most = self.limits.file_bytes_max
            raise PathRefused(f"path '{path}' would be larger than {most} bytes")
        self._files_left -= 1
        self._bytes_left -= size
        if self._files_left < 0 or self._bytes_left < 0:
            raise PathRefused("no more can be written in this run")
        self.has_written = True


Work = Callable[[ConfinedRoot, Arguments, ToolMeter], Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTool:
    """One function on the staged folder; blocking work runs in a thread."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    root: ConfinedRoot
    meter: ToolMeter
    work: Work

    async def call(self, arguments: str) -> str:
        """Run it; a mistake comes back as its sentence."""
        # A refusal must not starve the loop either: whoever ends this run needs a turn of it.
        await asyncio.sleep(0)
        try:
            self.meter.call()
            given = parse(arguments, tuple(self.parameters["properties"]))
            result = await asyncio.to_thread(self.meter.run, self.work, self.root, given)
        except (PathRefused, WorkspaceUnsafe) as error:
            return str(error)
        except UnicodeError:
            return "the file is not UTF-8 text"
        except OSError as error:
            if outage_reason(error) is not None:
                self.meter.broke(error)
            # The path is one the model gave; the system's own text may name more than that.
            return f"the file system refused: {error.strerror or 'unknown reason'}"
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def staged_tools(staged: Path, meter: ToolMeter) -> tuple[FileTool, ...]:
    """The seven tools on a staged copy."""
    root = ConfinedRoot(staged)
    return tuple(
        StagedTool(
            name=name,
            description=description.format(**_places(meter.recipe)),
            parameters=_schema(properties, required),
            root=root,
            meter=meter,
            work=work,
        )
        for name, description, properties, required, work in _TOOLS
    )


def _list(root: ConfinedRoot, given: Arguments, _: ToolMeter) -> Mapping[str, object]:
    return root.list(
        given.optional_text("path"),
        cursor=given.optional_text("cursor"),
        max_results=given.number("max_results"),
    )


def _read(root: ConfinedRoot, given: Arguments, meter: ToolMeter) -> Mapping[str, object]:
    path = given.text("path")
    result = root.read(
        path,
        line_offset=given.number("line_offset"),
        max_lines=given.number("max_lines"),
    )
    meter.seen.add(path.removeprefix("./"))
    return result


def _search(root: ConfinedRoot, given: Arguments, _: ToolMeter) -> Mapping[str, object]:
    return root.search(
        given.texts("queries"),
        match_mode=given.object("match_mode"),
        path=given.optional_text("path"),
        cursor=given.optional_text("cursor"),
        context_lines=given.number("context_lines"),
        case_sensitive=given.flag("case_sensitive"),
        normalized=given.flag("normalized"),
        max_results=given.number("max_results"),
    )


def _write(root: ConfinedRoot, given: Arguments, meter: ToolMeter) -> Mapping[str, object]:
    path, data = _ours(given.text("path"), meter), given.text("content").encode()
    meter.written(path, len(data))
    root.write(path, data)
    return DONE


def _edit(root: ConfinedRoot, given: Arguments, meter: ToolMeter) -> Mapping[str, object]:
    path = _ours(given.text("path"), meter)
    old_text, new_text = given.text("old_text"), given.text("new_text")
    size = len(root.read_bytes(path)) - len(old_text.encode()) + len(new_text.encode())
    meter.written(path, size)
    root.edit(path, old_text, new_text)
    return DONE


def _move(root: ConfinedRoot, given: Arguments, meter: ToolMeter) -> Mapping[str, object]:
    root.move(_ours(given.text("path"), meter), _ours(given.text("new_path"), meter))
    return DONE


def _delete(root: ConfinedRoot, given: Arguments, meter: ToolMeter) -> Mapping[str, object]:
    root.delete(_ours(given.text("path"), meter))
    return DONE


def _ours(path: str, meter: ToolMeter) -> str:
    # A path that leaves the folder is refused as such by the root, with its own sentence.
    if path.startswith("/") or ".." in path.split("/") or meter.recipe.writable(path):
        return path
    places = _places(meter.recipe)["places"]
    raise PathRefused(f"path '{path}' is read-only here; write {places}")


def _places(recipe: Recipe) -> Mapping[str, str]:
    """What may be written, for a sentence."""
    files = ", ".join(recipe.artefacts)
    below = " or ".join(f"files below {folder}/" for folder in recipe.artefact_folders)
    return {
        "places": f"{files} or {below}" if below else files,
        "moved": below.replace("files", "a file", 1) or "a file that you may write",
    }


def _schema(properties: Mapping[str, Any], required: tuple[str, ...]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT: Mapping[str, Any] = {"type": "string"}
_NUMBER: Mapping[str, Any] = {"type": "integer"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
_TOOLS: tuple[tuple[str, str, Mapping[str, Any], tuple[str, ...], Work], ...] = (
    (
        "list",
        "List the files and folders directly in a folder of the workspace.",
        {"path": _TEXT, "cursor": _TEXT, "max_results": _NUMBER},
        (),
        _list,
    ),
    (
        "read",
        "Read a text file by lines. Long results are cut in the middle; ask for fewer lines then.",
        {"path": _TEXT, "line_offset": _NUMBER, "max_lines": _NUMBER},
        ("path",),
        _read,
    ),
    (
        "search",
        "Find lines that contain given texts literally. match_mode is an object whose type is "
        "any, all_on_same_line, or all_within_lines with a line_count.",
        {
            "queries": {"type": "array", "items": _TEXT, "minItems": 1},
            "match_mode": {
                "type": "object",
                "properties": {"type": _TEXT, "line_count": _NUMBER},
                "required": ["type"],
            },
            "path": _TEXT,
            "cursor": _TEXT,
            "context_lines": _NUMBER,
            "case_sensitive": _FLAG,
            "normalized": _FLAG,
            "max_results": _NUMBER,
        },
        ("queries",),
        _search,
    ),
    (
        "write",
        "Create or replace a file with this content; you may write {places}.",
        {"path": _TEXT, "content": _TEXT},
        ("path", "content"),
        _write,
    ),
    (
        "edit",
        "Replace a text that occurs exactly once in a file you may write.",
        {"path": _TEXT, "old_text": _TEXT, "new_text": _TEXT},
        ("path", "old_text", "new_text"),
        _edit,
    ),
    (
        "move",
        "Rename {moved}; nothing may stand at the new path.",
        {"path": _TEXT, "new_path": _TEXT},
        ("path", "new_path"),
        _move,
    ),
    (
        "delete",
        "Delete {moved}, an empty folder there, or a file you are about to replace.",
        {"path": _TEXT},
        ("path",),
        _delete,
    ),
)
