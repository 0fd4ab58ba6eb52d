"""`memoryd search`: what memory says about a question, for a person to read."""

import asyncio
import textwrap
from argparse import Namespace
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from server.cli.attach import attached
from server.cli.given import USAGE, worded
from server.cli.render import as_json, count, told
from server.errors import CommandFailed

COLUMNS = 96
LINES_MAX = 6
"""Of one hit; `--json` has the rest."""
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
    return 0 if result["hits"] else 1


def found(result: dict[str, Any]) -> Iterable[str]:
    """The hits as lines."""
    hits = result["hits"]
    if result["reason"]:
        yield _REASONS.get(result["reason"], result["reason"])
    elif not hits:
        yield f"nothing in memory {result['version']} answers that"
    for number, hit in enumerate(hits):
        if number:
            yield ""
        yield from _hit(hit)
    if result["indexing"]:
        yield ""
        yield "memory is still being indexed: ask again in a moment for the whole of it"
    elif result["truncated"] and hits:
        yield ""
        yield f"{count(len(hits), 'hit')} shown, there are more (--limit)"


def _hit(hit: dict[str, Any]) -> Iterable[str]:
    first, last = hit["startLine"], hit["endLine"]
    place = f"{hit['path']}:{first}" + (f"-{last}" if last != first else "")
    note = "  (note, not yet worked in)" if hit["pending"] else ""
    yield f"{place}{note}"
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
