"""Commands that ask the server one thing: import, consolidate, status, reset."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable

from server.cli.attach import absolute, attached
from server.cli.client import Client, Json
from server.cli.notices import aside
from server.cli.render import as_json, consolidated, imported, overview, told
from server.environment import codex_home_from_environment
from server.errors import CommandFailed


def run(arguments: Namespace) -> int:
    """Run one of them; the exit status."""
    if arguments.command == "reset" and not arguments.yes and not _confirmed():
        return 1
    return asyncio.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    ask = {
        "import": _import,
        "consolidate": _consolidate,
        "status": _status,
        "reset": _reset,
    }[arguments.command]
    async with attached(arguments) as client:
        result, lines, status = await ask(client, arguments)
        told([as_json(result)] if arguments.json else lines)
    return status


Answer = tuple[Json, Iterable[str], int]


async def _import(client: Client, arguments: Namespace) -> Answer:
    source = arguments.source
    path = codex_home_from_environment() if source == "codex" else absolute(source)
    if not path.exists():
        raise CommandFailed(f"{path} does not exist; name a session file, a folder or `codex`")
    with _progress("importing", arguments) as advance:

        def heard(note: Json) -> None:
            if note["method"] == "thread/import/progress":
                advance(note["params"]["done"], note["params"]["total"])

        client.listen(heard)
        result = await client.request(
            "thread/import",
            {"path": str(path), "since": arguments.since, "dryRun": arguments.dry_run},
        )
    return result, imported(result), 1 if result["failed"] else 0


async def _consolidate(client: Client, arguments: Namespace) -> Answer:
    with _progress("hearing sessions", arguments) as advance:
        heard_of = {"started": 0, "finished": 0}

        def heard(note: Json) -> None:
            if note["method"] != "memory/progress":
                return
            phase, _, step = note["params"]["what"].partition("/")
            if phase == "extraction" and step in heard_of:
                heard_of[step] += 1
                advance(heard_of["finished"], heard_of["started"])

        client.listen(heard)
        result = await client.request(
            "memory/consolidate/start", {"threadId": arguments.thread, "wait": arguments.wait}
        )
    outcome = result["consolidation"]
    failed = outcome is not None and outcome["status"] == "failed"
    return result, consolidated(result), 1 if failed else 0


async def _status(client: Client, arguments: Namespace) -> Answer:
    result = await client.request("memory/overview")
    return result, overview(result), 0


async def _reset(client: Client, arguments: Namespace) -> Answer:
    await client.request("memory/reset")
    return {"reset": True}, ["all memory is deleted; threads and transcripts are untouched"], 0


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise CommandFailed("reset deletes all memory; add --yes to confirm", status=2)
    aside("This deletes all memory of this home. Threads and their transcripts stay.")
    return input("Type `reset` to go on: ").strip() == "reset"


class _progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, what: str, arguments: Namespace) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            desc=what, unit="file", leave=False, disable=arguments.json or not sys.stderr.isatty()
        )

    def __enter__(self) -> Callable[[int, int], None]:
        return self._advance

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _advance(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()
