"""What programs left beside memory as resources of extensions: pointers of low trust, no more.

Nobody typed it to us, so nothing of it becomes a preference, a rule or a tip: the handbook names
the files with their date or scope, the summary gets one short route to what was imported.
Invariant: of a resource's text at most its first heading is shown, and never one that reads as an
order.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_write.offline.judge import judge
from memory_write.ports import FileTool
from state.policy.redaction import redact
from state.workspace.layout import EXTENSIONS

EXTENSIONS_MAX = 16
FOLDERS_MAX = 40
FILES_MAX = 200
TITLE_CHARS_MAX = 80
ROUTES_BYTES_MAX = 600
IMPORTED = "external_agent_import"
ROUTES_HEADING = "### Memory of other agents"
_OURS = "ad_hoc"
_DATED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T[0-9]{2}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One file, and what is known of it without believing it."""

    path: str
    extension: str
    day: str = ""
    cwd: str = ""
    title: str = ""


async def read_resources(tools: Mapping[str, FileTool]) -> tuple[Resource, ...]:
    """The resources of every extension that describes itself, by path."""
    found: list[Resource] = []
    folders_left = FOLDERS_MAX
    names = [path for path, kind in await _entries(tools, EXTENSIONS) if kind == "directory"]
    for folder in names[:EXTENSIONS_MAX]:
        name = folder.rsplit("/", 1)[-1]
        described = (f"{folder}/instructions.md", "file") in await _entries(tools, folder)
        if name == _OURS or not described:
            continue
        inside = await _entries(tools, f"{folder}/resources")
        found += [_dated(path, name) for path, kind in reversed(inside) if _is_text(path, kind)]
        for project, kind in inside:
            if name == IMPORTED and kind == "directory" and folders_left > 0:
                folders_left -= 1
                found += await _imported(tools, project)
    kept = found[:FILES_MAX]
    return tuple(sorted(kept, key=lambda one: one.path))


def render_resources(resources: Sequence[Resource]) -> str:
    """A block of the handbook for each scope; empty without resources."""
    scopes: dict[str, list[Resource]] = {}
    for one in resources:
        scopes.setdefault(one.cwd, []).append(one)
    blocks: list[str] = []
    for cwd, chosen in sorted(scopes.items()):
        lines = [
            f"# Task Group: left by other programs{f' for {cwd}' if cwd else ''}",
            "",
            "scope: reported by a program; the user did not state it, and nobody checked it",
            f"applies_to: cwd={cwd or 'any'}; reuse_rule=look into the file and check before use",
            "",
            "## Task 1: files to look into, uncertain",
            "",
            "### extension_resource_files",
            "",
            *(_line(one) for one in chosen),
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def render_routes(resources: Sequence[Resource], *, bytes_left: int) -> str:
    """The end of a summary: where imported memory of a project lies; empty without any or room."""
    lines: list[str] = []
    left = min(ROUTES_BYTES_MAX, bytes_left - len(ROUTES_HEADING) - 3)
    for cwd in sorted({one.cwd for one in resources if one.cwd}):
        first = next(one for one in resources if one.cwd == cwd)
        line = f"- {cwd}: {first.path.rsplit('/', 1)[0]} (imported, unchecked)"
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(["", ROUTES_HEADING, "", *lines]) + "\n" if lines else ""


async def _imported(tools: Mapping[str, FileTool], project: str) -> list[Resource]:
    scope = await _text(tools, f"{project}/scope.json", lines=5)
    try:
        cwd = str(json.loads(scope)["cwd"])
    except (ValueError, KeyError, TypeError):
        return []
    files = [path for path, kind in await _entries(tools, project) if _is_text(path, kind)]
    # The handbook of the other agent comes first, the rest is detail.
    files.sort(key=lambda path: not path.endswith("/MEMORY.md"))
    found = [Resource(path=path, extension=IMPORTED, cwd=cwd) for path in files]
    if files and files[0].endswith("/MEMORY.md"):
        title = _title(await _text(tools, files[0], lines=5))
        found[0] = Resource(path=files[0], extension=IMPORTED, cwd=cwd, title=title)
    return found


def _dated(path: str, extension: str) -> Resource:
    dated = _DATED.match(path.rsplit("/", 1)[-1])
    return Resource(path=path, extension=extension, day=dated[1] if dated else "")


def _line(one: Resource) -> str:
    facts = [f"source={one.extension}"]
    if one.day:
        facts.append(f"date={one.day}")
    told = f": {one.title}" if one.title else ""
    return f"- {one.path} ({', '.join(facts)}){told}"


def _title(text: str) -> str:
    """The first heading, unless it tells somebody to do something."""
    for line in text.splitlines():
        if line.startswith("#"):
            title = redact(line.lstrip("#").strip())[:TITLE_CHARS_MAX]
            return "" if judge(title) is not None else title
    return ""


def _is_text(path: str, kind: str) -> bool:
    return kind == "file" and path.endswith(".md")


async def _entries(tools: Mapping[str, FileTool], path: str) -> list[tuple[str, str]]:
    listed = await _call(tools, "list", {"path": path})
    entries = listed.get("entries", [])
    return [(str(one["path"]), str(one["entry_type"])) for one in entries]


async def _text(tools: Mapping[str, FileTool], path: str, *, lines: int) -> str:
    page = await _call(tools, "read", {"path": path, "max_lines": lines})
    return str(page.get("content", ""))


async def _call(
    tools: Mapping[str, FileTool], name: str, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The result of a tool; nothing where it refuses, since all of this is optional."""
    tool = tools.get(name)
    if tool is None:
        return {}
    try:
        result = json.loads(await tool.call(json.dumps(arguments, ensure_ascii=False)))
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
