"""How results look on a terminal: plain lines that a person reads once and understands."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from server.errors import CommandFailed

Json = Mapping[str, Any]

JOBS_TOLD_MAX = 10
"""Failures are told up to here; `--json` has more."""

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
    "paused": "learning is paused (`memoryd resume`)",
    "off": "memory is switched off",
    "ready": "next in line",
    "budget": "the daily token budget is used up",
    "quota": "little is left of the provider's limits",
    "not_idle": "not yet idle long enough",
    "too_old": "too old to be learned from by itself (`memoryd consolidate`)",
    "archived": "archived",
    "polluted": "holds text from outside",
    "reset": "said before the last reset",
    "process_died": "a process ended over it",
    "nothing_added": "the new sessions added nothing to remember",
    "under_way": "this is under way",
    "disk_full": "the disk is full",
    "disk_error": "the disk or its connection fails",
    "not_writable": "the folder cannot be written",
    "model:httpConnectionFailed": "the model provider cannot be reached",
    "model:unauthorized": "the model provider refuses the key",
    "unsound": "what the model wrote was refused",
}
_WAITING_THREADS = {
    "disabled": "memory is off for them",
    "running": "being heard now",
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


def reason(why: str) -> str:
    """A reason in words; what stands behind its code is kept."""
    code, colon, more = why.partition(": ")
    return f"{REASONS.get(code, code)}{colon}{more}"


def reasons(counted: Mapping[str, int]) -> str:
    """`3 nothing new since it was last heard, 1 …`."""
    return ", ".join(f"{n} {reason(why)}" for why, n in sorted(counted.items()))


def imported(result: Json, names: str = "rollout-….jsonl") -> Iterable[str]:
    """What an import did; `names` is how the files of sessions are named."""
    did = "would bring in" if result["dryRun"] else "brought in"
    yield (
        f"{count(result['found'], 'session file')} found: {did} {result['imported']} new and "
        f"{result['updated']} that grew, {result['unchanged']} unchanged"
        + (f", {result['older']} older than asked for" if result["older"] else "")
        + (f", {result['empty']} in which nothing is said" if result["empty"] else "")
    )
    if not result["found"]:
        yield f"session files are named {names}"
    if result["barred"]:
        yield (
            f"{count(result['barred'], 'session')} took in text from outside and will not be "
            "learned from (`memories.disable_on_external_context`)"
        )
    if result["skippedLines"]:
        yield f"{count(result['skippedLines'], 'unreadable line')} skipped; the rest was read"
    for one in result["unreadable"]:
        yield f"skipped: {one['path']}: {one['reason']}"
    for one in result["conflicts"]:
        yield f"kept ours: {one['path']}: {one['reason']}"
    for one in result["failed"]:
        yield f"failed: {one['path']}: {one['reason']}"
    if not result["dryRun"] and result["imported"] + result["updated"]:
        yield "next: `memoryd consolidate --wait` makes memory of them"


def memories_imported(result: Json) -> Iterable[str]:
    """What an import of another agent's memory did."""
    did = "would bring in" if result["dryRun"] else "brought in"
    yield (
        f"{count(result['found'], 'project')} with memory found: {did} {result['imported']} new "
        f"and {result['updated']} that changed, {result['unchanged']} unchanged, "
        f"{result['removed']} removed"
    )
    for one in result["leftOut"]:
        yield f"left out: {one['path']}: {one['reason']}"
    for one in result["failed"]:
        yield f"failed: {one['path']}: {one['reason']}"


def exported(result: Json) -> Iterable[str]:
    """What an export wrote."""
    yield (
        f"memory {result['version']} written to {result['folder']}: "
        f"{count(result['files'], 'file')}, {result['bytes']:,} bytes"
    )
    yield "plain text without paths of this machine; look through it before you share it"
    for one in result["leftOut"]:
        yield f"left out: {one['path']}: {one['reason']}"


def restored(result: Json) -> Iterable[str]:
    """What a restore took in."""
    did = "would bring in" if result["dryRun"] else "brought in"
    yield (
        f"{count(result['found'], 'file')} of memory {result['version']}, exported "
        f"{result['createdAt']}: {did} {count(result['notes'], 'note')}, {result['imported']} new "
        f"and {result['updated']} that changed, {result['unchanged']} unchanged, "
        f"{result['removed']} removed"
    )
    for one in result["leftOut"]:
        yield f"left out: {one['path']}: {one['reason']}"
    if result["awaitsConsolidation"] and not result["dryRun"]:
        yield "notes are in force; the rest waits for the next pass: `memoryd consolidate --wait`"


def consolidated(result: Json) -> Iterable[str]:
    """What both phases did."""
    if result["status"] == "running":
        yield f"running as job {result['jobId']}; `memoryd status` shows how it goes"
        return
    several = len(result["versions"]) > 1
    for one in result["versions"]:
        label = f"{one['version']}: " if several else ""
        yield from (f"{label}{line}" for line in _learned(one))
    tokens = result["inputTokens"] + result["outputTokens"]
    yield f"model tokens: {tokens:,}"
    if any(
        sum(one["extraction"]["failed"].values()) or one["consolidation"]["status"] == "failed"
        for one in result["versions"]
    ):
        yield "next: `memoryd doctor` names what is wrong, `memoryd status` when it is tried again"
    elif any(one["consolidation"]["status"] == "published" for one in result["versions"]):
        yield "next: `memoryd search QUESTION` finds what it says, `memoryd chat` answers from it"


def _learned(one: Json) -> Iterable[str]:
    """What became of one version."""
    phase1, phase2 = one["extraction"], one["consolidation"]
    line = (
        f"heard {count(phase1['claimed'], 'session')}: "
        f"{phase1['succeeded']} with something to remember, {phase1['empty']} without"
    )
    failed = sum(phase1["failed"].values())
    yield line + (f", {failed} failed ({reasons(phase1['failed'])})" if failed else "")
    if phase1["skipped"]:
        yield f"not heard: {reasons(phase1['skipped'])}"
    words = {
        "published": "memory is published",
        "unchanged": "memory is up to date, nothing had changed",
        "skipped": "memory was not consolidated",
        "failed": "consolidation failed, the published memory is as it was",
    }
    why = phase2["reason"]
    yield words[phase2["status"]] + (f": {reason(why)}" if why else "")


def overview(view: Json, *, joined: bool) -> Iterable[str]:
    """The state of a home; `joined` when a server runs, not just this command."""
    server, threads = view["server"], view["threads"]
    model = f", model {server['model']}" if server["model"] else ""
    yield f"home      {server['home']}"
    if joined:
        yield f"server    memoryd {server['version']}, process {server['pid']}"
    else:
        yield "server    none runs; commands start one for their own time"
    yield f"provider  {server['provider']}{model}"
    if joined:
        yield f"load      {load_line(server['load'])}"
    yield (
        f"threads   {threads['stored']} stored ({threads['imported']} imported, "
        f"{threads['archived']} archived), {threads['loaded']} loaded, {threads['busy']} in a "
        f"turn; memory enabled for {threads['enabled']}, disabled for {threads['disabled']}"
    )
    state = "on" if view["enabled"] else "off (features.memories = false)"
    if view["enabled"] and view["paused"]:
        state = "paused (`memoryd resume` lets it go on)"
    yield f"memory    {state}, version {view['version']}, in {view['folder']}"
    yield from _told(view["reads"])
    for one in view["versions"]:
        if not one["isRead"]:
            written = "written too" if one["isWritten"] else "no longer written"
            yield f"version   {one['version']} ({written}), in {one['folder']}"
        yield from _version(one)
    spending = view["spending"]
    yield (
        f"spent     {spending['extractionTokens']:,} tokens on extraction"
        f"{_budget(spending['extractionBudgetTokens'])}, {spending['consolidationTokens']:,} on "
        f"consolidation{_budget(spending['consolidationBudgetTokens'])} on {spending['day']}"
    )
    for note in view["notes"]:
        yield f"note      {note}"


def load_line(load: Json) -> str:
    """What a running server carries, in one line."""
    return (
        f"{count(load['peers'], 'client')} with {count(load['subscriptions'], 'subscription')}, "
        f"{count(load['outboxMessages'], 'message')} waiting and {load['outboxDropped']} dropped; "
        f"{count(load['runningCommands'], 'command')}, {count(load['mcpServers'], 'MCP server')}; "
        f"loop lag {load['loopLagMs']} ms (longest {load['loopLagLongestMs']} ms); database "
        f"{load['databaseBytes'] >> 10} KiB, log {load['databaseLogBytes'] >> 10} KiB"
    )


NOT_TOLD = {
    "no_summary": "there is no summary yet",
    "blank": "the summary is blank",
    "unreadable": "the summary cannot be read",
    "use_off": "their use of memory is off",
    "feature_off": "memory is off for them",
    "thread_off": "they were begun without it",
}


def _told(reads: Iterable[Json]) -> Iterable[str]:
    """How many threads were told of memory since the server started, and why others were not."""
    outcomes: dict[str, int] = {}
    for one in reads:
        if one["name"] == "memories.section":
            outcome = one["labels"]["outcome"]
            outcomes[outcome] = outcomes.get(outcome, 0) + one["count"]
    if not outcomes:
        return
    told = outcomes.pop("told", 0)
    others = "".join(
        f", {number} not ({NOT_TOLD.get(why, why)})" for why, number in sorted(outcomes.items())
    )
    yield f"told      {count(told, 'thread')} of memory{others}"


def _version(one: Json) -> Iterable[str]:
    """Edition and jobs of one version."""
    edition, ends = one["lastEdition"], one["counters"]
    if edition is None:
        yield f"edition   none published yet; {count(one['outputs'], 'session')} learned from"
    else:
        used, known = one["outputsUsed"], one["outputs"]
        of = f"{used} of {count(known, 'session')}" if used != known else count(known, "session")
        more = f", {one['outputsDisplaced']} displaced" if one["outputsDisplaced"] else ""
        yield (
            f"edition   {edition['editionId']} of {when(edition['publishedAtMs'])}, from {of}{more}"
        )
    size = one["size"]
    yield f"folder    {count(size['files'], 'file')}, {size['bytes']:,} bytes"
    if one["withdrawalPending"]:
        why = REASONS.get(one["withdrawalPending"], one["withdrawalPending"])
        yield f"  waits   what a deleted or barred thread gave is still to be taken out: {why}"
    empty, failed = sum(ends["empty"].values()), sum(ends["failed"].values())
    line = (
        f"heard     {count(ends['claimed'], 'session')}: {ends['succeeded']} with something to "
        f"remember, {empty} without"
    )
    line += f", {failed} failed ({reasons(ends['failed'])})" if failed else ""
    yield f"{line}; {count(ends['editions'], 'edition')}, {count(ends['notesPending'], 'new note')}"
    for wait in one["waits"]:
        until = f", until {when(wait['untilMs'])}" if wait["untilMs"] else ""
        if wait["what"] == "thread":
            why = _WAITING_THREADS.get(wait["why"]) or REASONS.get(wait["why"], wait["why"])
            yield f"  waits   {count(wait['count'], 'session')}: {why}{until}"
        else:
            yield f"  waits   consolidation: {REASONS.get(wait['why'], wait['why'])}{until}"
    yield from (f"  failed  {line}" for line in failures(one["waiting"]))


def failures(jobs: Iterable[Json]) -> Iterable[str]:
    """Jobs that failed; those of one kind that failed alike stand together, with the first of them
    and when the first one is tried again.
    """
    alike: dict[tuple[str, str], list[Json]] = {}
    for job in jobs:
        if job["status"] == "failed":
            why = reason(job["reason"] or job["status"])
            alike.setdefault((job["kind"], why), []).append(job)
    for (kind, why), same in list(alike.items())[:JOBS_TOLD_MAX]:
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        again = [job["retryAtMs"] for job in same if job["retryAtMs"]]
        until = f", again from {when(min(again))}" if again else ""
        yield f"{kind} {min(job['key'] for job in same)}{more}: {why}{until}"


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
