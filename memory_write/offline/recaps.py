"""Recaps that stand alone, for versions without raw memories: written from a session, read back.

Invariant: what is written is read back as the same statements. A recap by a language model has
other bullets; of it only its first line is used, as what the session was about.
"""

import re
from collections.abc import Iterable

from memory_write.hand_lines import group_name
from memory_write.offline.gathered import ENTRIES_PER_THREAD_MAX, ThreadInput, entry_of
from memory_write.offline.heard import Heard
from memory_write.offline.recap import bullet, topic_of

BYTES_MAX = 8_000
"""Below the bound at which a recap is cut in its middle."""
_HEADER = re.compile(r"^(thread_id|updated_at|rollout_path|cwd|git_branch): (.*)$")
_STATE = re.compile(r"^- State: (success|partial|uncertain|fail)\b")
_SAID = '- the user said: "'


def recap_history(heard: Heard, *, cwd: str, git_branch: str | None) -> str:
    """What a session left, as a history of what the user stated in it."""
    count = len(heard.entries)
    stated = "one thing" if count == 1 else f"{count} things"
    branch = f", branch {git_branch}" if git_branch else ""
    lines = [
        f"# The user stated {stated} worth keeping while working in {group_name(cwd)}",
        "",
        "Found by rules in what the user typed; nothing else of the session was judged.",
        "",
        f"## {topic_of(heard.entries)}",
        "",
        f"- Place: {cwd or 'unknown'}{branch}",
    ]
    tail = [f"- State: {heard.outcome}, by what the user said last"]
    left = BYTES_MAX - len("\n".join([*lines, *tail]).encode())
    # Of very many statements the later ones count more: they may correct the earlier.
    kept: list[str] = []
    for entry in reversed(heard.entries):
        line = bullet(entry)
        left -= len(line.encode()) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*lines, *reversed(kept), *tail]) + "\n"


def threads_of_recaps(recaps: Iterable[tuple[str, str]]) -> tuple[ThreadInput, ...]:
    """The thread behind each recap, given as the name of its file and its text."""
    return tuple(_thread(name, text) for name, text in recaps)


def _thread(name: str, text: str) -> ThreadInput:
    head, _, body = text.partition("\n\n")
    header = {
        known.group(1): known.group(2).strip()
        for line in head.split("\n")
        if (known := _HEADER.match(line))
    }
    title, outcome = "", "uncertain"
    bullets: list[str] = []
    for line in body.split("\n"):
        if line.startswith("# ") and not title:
            title = line[2:].strip()
        elif state := _STATE.match(line):
            outcome = state.group(1)
        elif line.startswith(_SAID):
            bullets.append(line[2:].strip())
    thread_id, cwd = header.get("thread_id", ""), header.get("cwd", "")
    said_at = header.get("updated_at", "")
    return ThreadInput(
        thread_id=thread_id,
        updated_at=said_at,
        cwd=cwd,
        rollout_path=header.get("rollout_path", ""),
        recap_name=name,
        task=title,
        outcome=outcome,
        entries=tuple(
            entry_of("preference", one, thread_id, cwd, said_at, place)
            for place, one in enumerate(bullets[:ENTRIES_PER_THREAD_MAX])
        ),
    )
