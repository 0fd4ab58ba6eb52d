"""`memoryd search`: what memory says about a question, for a person to read.

Memory holds a statement in several files: where it came from, in the handbook, in the summary. A
person reads it once, with the places behind it; `--json` has every hit.
"""

import asyncio
import re
import textwrap
from argparse import Namespace
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from server.cli.attach import attached, home_of
from server.cli.given import USAGE, worded
from server.cli.notices import aside
from server.cli.render import as_json, count, told
from server.errors import CommandFailed
from state.workspace.layout import HANDBOOK, SUMMARY

COLUMNS = 96
LINES_MAX = 6
"""Of one hit; `--json` has the rest."""
PLACES_MAX = 4
"""Files told of that say the same."""
_SAID = re.compile(r'^- the user said: "(.*)" -> (.*)$', re.DOTALL)
_TYPED = re.compile(r'^[0-9]+\. .*, typed by the user: "(.*)"$', re.DOTALL)
_TAIL = re.compile(r"\s*(?:\[[^\[\]]*\]|\((?:in [^()]*|[a-z]+; [a-z ]+)\))$")
"""What stands behind a statement: its task, its project, its kind and scope."""
_REASONS = {
    "disabled": "memory is switched off (features.memories = false), so nothing was searched",
    "use_off": "this thread does not use memory, so nothing was searched",
}


def run(arguments: Namespace) -> int:
    """Ask and print; 1 when nothing was found, as `grep` does."""
    query = worded(arguments.query).strip()
    if not query:
        raise CommandFailed("nothing to search for: give a QUERY", status=USAGE)
    if arguments.limit < 1:
        raise CommandFailed(f"--limit is at least 1, not {arguments.limit}", status=USAGE)
    return asyncio.run(_run(arguments, query))


async def _run(arguments: Namespace, query: str) -> int:
    asked = {
        "query": query,
        "limit": arguments.limit,
        "version": arguments.memory_version,
    }
    async with attached(arguments) as client:
        result = await client.request("memory/search", asked)
    told([as_json(result)] if arguments.json else found(result))
    summary = home_of(arguments).memories(result["version"]) / SUMMARY
    if not arguments.json and not result["hits"] and not summary.is_file():
        aside("nothing was learned yet: `memoryd consolidate --wait` learns from finished sessions")
    return 0 if result["hits"] else 1


def found(result: dict[str, Any]) -> Iterable[str]:
    """The hits as lines."""
    hits = result["hits"]
    if result["reason"]:
        yield _REASONS.get(result["reason"], result["reason"])
    elif not hits:
        yield f"nothing in memory {result['version']} answers that"
    for number, (first, *others) in enumerate(_alike(hits)):
        if number:
            yield ""
        yield from _hit(first)
        if others:
            yield from _also(others)
    if result["indexing"]:
        yield ""
        yield "memory is still being indexed: ask again in a moment for the whole of it"
    elif result["truncated"] and hits:
        yield ""
        yield f"{count(len(hits), 'hit')} shown, there are more (--limit)"


def _also(hits: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Where else it stands, a file at most once in a line."""
    lines: dict[str, list[str]] = {}
    for hit in hits:
        lines.setdefault(hit["path"], []).append(str(hit["startLine"]))
    places = [f"{path}:{','.join(at)}" for path, at in lines.items()]
    if len(places) > PLACES_MAX:
        places[PLACES_MAX:] = [f"{len(places) - PLACES_MAX} more"]
    for line in textwrap.wrap(
        f"also in {', '.join(places)}", COLUMNS, break_on_hyphens=False, break_long_words=False
    ):
        yield f"  {line}"


def _alike(hits: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The hits by what they say, the best first; of those alike the handbook's line leads."""
    groups: list[tuple[set[str], list[dict[str, Any]]]] = []
    for hit in hits:
        says = _says(hit["text"])
        group = next((one for one in groups if says & one[0]), None)
        if group is None:
            groups.append((says, [hit]))
        else:
            group[0].update(says)
            group[1].append(hit)
    return [sorted(found, key=lambda one: one["path"] != HANDBOOK) for _, found in groups]


def _says(text: str) -> set[str]:
    """A hit's statement as it can be compared, and the words that it was typed in."""
    said, typed = _SAID.match(text), _TYPED.match(text)
    parts = said.groups() if said else typed.groups() if typed else (text.removeprefix("- "),)
    return {_plain(part) for part in parts}


def _plain(text: str) -> str:
    before = None
    while before != text:
        before, text = text, _TAIL.sub("", text)
    return " ".join(text.casefold().split()).strip(".!?。 ")


def _place(hit: dict[str, Any]) -> str:
    first, last = hit["startLine"], hit["endLine"]
    return f"{hit['path']}:{first}" + (f"-{last}" if last != first else "")


def _hit(hit: dict[str, Any]) -> Iterable[str]:
    note = "  (note, not yet worked in)" if hit["pending"] else ""
    yield f"{_place(hit)}{note}"
    facts = [hit["heading"]] if hit["heading"] else []
    if hit["updatedAt"] is not None:
        facts.append(datetime.fromtimestamp(hit["updatedAt"], UTC).strftime("%Y-%m-%d"))
    if hit["threadIds"]:
        facts.append(f"thread {', '.join(hit['threadIds'][:2])}")
    if facts:
        yield f"  [{textwrap.shorten(' · '.join(facts), COLUMNS, placeholder=' …')}]"
    lines = [
        wrapped
        for line in hit["text"].splitlines()
        for wrapped in textwrap.wrap(line, COLUMNS) or [""]
    ]
    for line in lines[:LINES_MAX]:
        yield f"  {line}"
    if len(lines) > LINES_MAX:
        yield f"  … {count(len(lines) - LINES_MAX, 'line')} more"
