"""Commands that ask the server one thing, such as import, consolidate, status, export, reset."""

import asyncio
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from server.cli.attach import absolute, attached
from server.cli.client import Client, Json, RequestRefused
from server.cli.given import thread_given
from server.cli.notices import aside
from server.cli.render import (
    as_json,
    consolidated,
    exported,
    imported,
    memories_imported,
    overview,
    restored,
    told,
)
from server.environment import claude_home_from_environment, codex_home_from_environment
from server.errors import CommandFailed

BAR_COLUMNS_MAX = 100
NO_MEMORY = "requires at least one selected memory"
"""So the protocol's sentence ends where there is nothing to take in."""


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
        "pause": _pause,
        "resume": _pause,
        "reset": _reset,
        "export": _export,
        "restore": _restore,
    }[arguments.command]
    async with attached(arguments) as client:
        result, lines, status = await ask(client, arguments)
        told([as_json(result)] if arguments.json else lines)
    return status


Answer = tuple[Json, Iterable[str], int]


async def _import(client: Client, arguments: Namespace) -> Answer:
    source = arguments.source
    if source == "claude":
        return await _import_claude(client, arguments)
    path = codex_home_from_environment() if source == "codex" else absolute(source)
    if not path.exists():
        elsewhere = "CODEX_HOME names another place"
        other = elsewhere if source == "codex" else "name a file, a folder, `codex` or `claude`"
        raise CommandFailed(f"{path} does not exist; {other}")
    if not (path.is_file() or path.is_dir()):
        raise CommandFailed(f"{path} is neither a file nor a folder")
    result = await _import_sessions(client, arguments, path, "codex")
    return result, imported(result), 1 if result["failed"] else 0


async def _import_sessions(client: Client, arguments: Namespace, path: Path, form: str) -> Json:
    with _Progress("importing", arguments) as progress:

        def heard(note: Json) -> None:
            if note["method"] == "thread/import/progress":
                progress.advance(note["params"]["done"], note["params"]["total"])

        client.listen(heard)
        asked = {"format": form, "since": arguments.since, "dryRun": arguments.dry_run}
        return await client.request("thread/import", {"path": str(path), **asked})


async def _import_claude(client: Client, arguments: Namespace) -> Answer:
    path = claude_home_from_environment()
    projects = path / "projects"
    if not path.exists():
        raise CommandFailed(f"{path} does not exist; CLAUDE_CONFIG_DIR names another place")
    if not projects.is_dir():
        raise CommandFailed(f"{projects} is no folder, so there is nothing to bring in")
    sessions = await _import_sessions(client, arguments, projects, "claude")
    # A time is a matter of sessions: a memory file says what holds, whenever it was written.
    memories = None if arguments.since else await _import_memories(client, arguments, path)
    if memories is None and not sessions["found"]:
        raise CommandFailed(
            f"no sessions (PROJECT/*.jsonl) and no memory files (PROJECT/memory/*.md) stand below "
            f"{projects}, so nothing was brought in"
        )
    lines = [*imported(sessions, "*.jsonl")]
    if memories is not None:
        lines += memories_imported(memories)
    elif arguments.since:
        lines.append("memory files were left out; without --since they are brought in as well")
    failed = sessions["failed"] or (memories and memories["failed"])
    return {"sessions": sessions, "memories": memories}, lines, 1 if failed else 0


async def _import_memories(client: Client, arguments: Namespace, path: Path) -> Json | None:
    """What became of the memory files; None where there are none."""
    try:
        return await client.request(
            "memory/import", {"path": str(path), "dryRun": arguments.dry_run}
        )
    except RequestRefused as refused:
        if NO_MEMORY not in str(refused):
            raise
        return None


async def _export(client: Client, arguments: Namespace) -> Answer:
    folder = absolute(arguments.folder)
    result = await client.request(
        "memory/export", {"folder": str(folder), "version": arguments.memory_version}
    )
    return result, exported(result), 0


async def _restore(client: Client, arguments: Namespace) -> Answer:
    folder = absolute(arguments.folder)
    if not folder.is_dir():
        raise CommandFailed(f"{folder} is no folder; name one that `memoryd export` wrote")
    result = await client.request(
        "memory/restore", {"folder": str(folder), "dryRun": arguments.dry_run}
    )
    return result, restored(result), 0


async def _consolidate(client: Client, arguments: Namespace) -> Answer:
    thread_id = thread_given(arguments.thread) if arguments.thread is not None else None
    with _Progress("hearing", arguments) as progress:
        heard_of = {"started": 0, "finished": 0}

        def heard(note: Json) -> None:
            if note["method"] != "memory/progress":
                return
            phase, _, step = note["params"]["what"].partition("/")
            if phase == "extraction" and step in heard_of:
                heard_of[step] += 1
                progress.advance(heard_of["finished"], heard_of["started"])
            elif phase == "consolidation" and step == "started":
                progress.turn_to("consolidating")

        client.listen(heard)
        result = await client.request(
            "memory/consolidate/start", {"threadId": thread_id, "wait": arguments.wait}
        )
    failed = any(
        one["consolidation"]["status"] == "failed"
        or (one["consolidation"]["reason"] or "").startswith("no_extraction_succeeded")
        for one in result["versions"]
    )
    return result, consolidated(result), 1 if failed else 0


async def _status(client: Client, arguments: Namespace) -> Answer:
    result = await client.request("memory/overview")
    return result, overview(result, joined=client.joined), 0


async def _pause(client: Client, arguments: Namespace) -> Answer:
    paused = arguments.command == "pause"
    result = await client.request("memory/pause", {"paused": paused})
    word = "learning is paused; `memoryd resume` lets it go on" if paused else "learning goes on"
    return result, [word], 0


async def _reset(client: Client, arguments: Namespace) -> Answer:
    relearn: bool = arguments.relearn
    await client.request("memory/reset", {"relearn": relearn})
    later = "may be" if relearn else "is not"
    lines = [
        "all memory is deleted; threads and transcripts are untouched",
        f"what was said in them so far {later} learned again",
    ]
    return {"reset": True, "relearn": relearn}, lines, 0


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise CommandFailed("reset deletes all memory; add --yes to confirm", status=2)
    aside("This deletes all memory of this home. Threads and their transcripts stay.")
    try:
        if input("Type `reset` to go on: ").strip() == "reset":
            return True
    except EOFError:
        pass  # the end of input is a no
    aside("nothing was deleted")
    return False


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, what: str, arguments: Namespace) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            desc=what,
            unit=" sessions",
            leave=False,
            disable=arguments.json or not sys.stderr.isatty(),
            ncols=min(shutil.get_terminal_size().columns, BAR_COLUMNS_MAX),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, done: int, total: int) -> None:
        """So many of so many."""
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def turn_to(self, what: str) -> None:
        """What is done next."""
        self._bar.set_description(what)
