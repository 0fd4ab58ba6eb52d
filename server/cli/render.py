"""How results look on a terminal: plain lines that a person reads once and understands."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from server.errors import CommandFailed

Json = Mapping[str, Any]

REASONS = {
    "up_to_date": "nothing new since it was last heard",
    "running": "another job is on it",
    "capped": "as many run as may at once",
    "backoff": "waits after a failure",
    "exhausted": "tried as often as allowed",
    "cooldown": "waits after the last success",
    "disabled": "memory is switched off",
    "no_extraction_succeeded": "no session could be heard",
    "nothing_learned": "nothing to remember yet",
    "nothing_new": "nothing new",
}


def as_json(value: object) -> str:
    """One JSON object, readable and stable."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


def when(at_ms: int | None) -> str:
    """A time in UTC, to the minute."""
    if at_ms is None:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 session`, `2 sessions`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def reasons(counted: Mapping[str, int]) -> str:
    """`3 nothing new since it was last heard, 1 …`."""
    return ", ".join(f"{n} {REASONS.get(why, why)}" for why, n in sorted(counted.items()))


def imported(result: Json) -> Iterable[str]:
    """What an import did."""
    did = "would bring in" if result["dryRun"] else "brought in"
    yield (
        f"{count(result['found'], 'session file')} found: {did} {result['imported']} new and "
        f"{result['updated']} that grew, {result['unchanged']} unchanged"
        + (f", {result['older']} older than asked for" if result["older"] else "")
    )
    if not result["found"]:
        yield "session files are named rollout-….jsonl, as Codex writes them"
    if result["skippedLines"]:
        yield f"{count(result['skippedLines'], 'unreadable line')} skipped; the rest was read"
    for one in result["conflicts"]:
        yield f"kept ours: {one['path']}: {one['reason']}"
    for one in result["failed"]:
        yield f"failed: {one['path']}: {one['reason']}"


def consolidated(result: Json) -> Iterable[str]:
    """What both phases did."""
    if result["status"] == "running":
        yield f"running as job {result['jobId']}; `memoryd status` shows how it goes"
        return
    phase1, phase2 = result["extraction"], result["consolidation"]
    if phase1 is not None:
        line = (
            f"heard {count(phase1['claimed'], 'session')}: "
            f"{phase1['succeeded']} with something to remember, {phase1['empty']} without"
        )
        failed = sum(phase1["failed"].values())
        yield line + (f", {failed} failed ({reasons(phase1['failed'])})" if failed else "")
        if phase1["skipped"]:
            yield f"not heard: {reasons(phase1['skipped'])}"
    if phase2 is not None:
        words = {
            "published": "memory is published",
            "unchanged": "memory is up to date, nothing had changed",
            "skipped": "memory was not consolidated",
            "failed": "consolidation failed, the published memory is as it was",
        }
        why = phase2["reason"]
        yield words[phase2["status"]] + (f": {REASONS.get(why, why)}" if why else "")
    tokens = result["inputTokens"] + result["outputTokens"]
    yield f"model tokens: {tokens:,}"


def overview(view: Json, *, joined: bool) -> Iterable[str]:
    """The state of a home; `joined` when a server runs, not just this command."""
    server, threads, jobs = view["server"], view["threads"], view["jobs"]
    model = f", model {server['model']}" if server["model"] else ""
    yield f"home      {server['home']}"
    if joined:
        yield f"server    memoryd {server['version']}, process {server['pid']}"
    else:
        yield "server    none runs; commands start one for their own time"
    yield f"provider  {server['provider']}{model}"
    yield (
        f"threads   {threads['stored']} stored ({threads['imported']} imported, "
        f"{threads['archived']} archived), {threads['loaded']} loaded, {threads['busy']} in a "
        f"turn; memory enabled for {threads['enabled']}, disabled for {threads['disabled']}"
    )
    state = "on" if view["enabled"] else "off (features.memories = false)"
    yield f"memory    {state}, version {view['version']}, in {view['folder']}"
    edition = view["lastEdition"]
    if edition is None:
        yield f"edition   none published yet; {count(view['outputs'], 'session')} learned from"
    else:
        yield (
            f"edition   {edition['editionId']} of {when(edition['publishedAtMs'])}, from "
            f"{count(view['outputs'], 'session')}"
        )
    yield (
        f"jobs      {jobs['running']} running, {jobs['pending']} pending, {jobs['done']} done, "
        f"{jobs['failed']} failed, {jobs['exhausted']} given up"
    )
    for job in view["waiting"]:
        until = f" until {when(job['retryAtMs'])}" if job["retryAtMs"] else ""
        why = job["reason"] or job["status"]
        yield f"  waits   {job['kind']} {job['key']}: {REASONS.get(why, why)}{until}"
    spending = view["spending"]
    yield (
        f"spent     {spending['extractionTokens']:,} tokens on extraction"
        f"{_budget(spending['extractionBudgetTokens'])}, {spending['consolidationTokens']:,} on "
        f"consolidation{_budget(spending['consolidationBudgetTokens'])} on {spending['day']}"
    )
    for note in view["notes"]:
        yield f"note      {note}"


def _budget(tokens: int | None) -> str:
    return "" if tokens is None else f" of {tokens:,} allowed"


def told(lines: Iterable[str]) -> None:
    """Print to standard output.

    Raises: CommandFailed, BrokenPipeError.
    """
    written("".join(f"{line}\n" for line in lines))


def written(text: str) -> None:
    """Write a piece of text to standard output at once.

    Raises: CommandFailed, BrokenPipeError.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What could not be written must not be tried again at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        why = error.strerror or error
        raise CommandFailed(f"standard output cannot be written: {why}") from error
