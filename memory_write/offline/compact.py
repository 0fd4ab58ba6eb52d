"""Renders the summary of a version that has nothing but recaps beside it: statements and pointers.

Invariant: the text stays below its bound whatever the inputs, and each pointer names a recap and a
thread that are there. What a person edited is carried inside the summary, since there is no
handbook to carry it.
"""

import re
from collections.abc import Sequence

from memory_write.hand_lines import in_place
from memory_write.offline.folder import Folder, Group
from memory_write.offline.gathered import ThreadInput
from memory_write.offline.hand_edits import REMOVED_PREFIX, HandEdits
from memory_write.offline.judge import KNOWLEDGE
from memory_write.offline.merging import Entry, by_source
from memory_write.offline.recap import topic_of
from memory_write.offline.summary import HAND_HEADING, RECENT_DAYS, chosen, place, within
from state.workspace.layout import RECAPS, SUMMARY_FIRST_LINE

BYTES_MAX = 9_700
PROFILE_BYTES_MAX = 1_200
PREFERENCES_BYTES_MAX = 3_600
TIPS_BYTES_MAX = 1_200
HAND_BYTES_MAX = 6_000
"""What a person wrote comes before all that rules found."""
_FORM_BYTES = 300
REMOVED_MAX = 16
SENTENCE_CHARS_MAX = 140
_NOTHING = "Nothing was stated so far."
_SOURCE = re.compile(
    r"thread_id|rollout_summaries/|\b\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-", re.IGNORECASE
)
_OLDER = "### Older Memory Topics"


def render_compact(folder: Folder) -> str:
    """The whole text."""
    standing = [entry for entry in folder.entries if not _cites(entry.text)]
    names = {entry: place(entry) for entry in standing}
    profile = [entry for entry in standing if entry.kind == "profile"]
    wishes = [entry for entry in standing if entry.kind not in ("profile", *KNOWLEDGE)]
    tips = [entry for entry in standing if entry.kind in KNOWLEDGE]
    hand = _hand(folder.hand)
    room = BYTES_MAX - _FORM_BYTES - len("\n".join(hand).encode())
    lines = [SUMMARY_FIRST_LINE, "", "## User Profile", ""]
    lines += chosen(profile, names, min(PROFILE_BYTES_MAX, room // 6)) or [_NOTHING]
    lines += ["", "## User preferences", ""]
    lines += chosen(wishes, names, min(PREFERENCES_BYTES_MAX, room // 2)) or [_NOTHING]
    lines += hand
    lines += ["", "## General Tips", ""]
    lines += chosen(tips, names, min(TIPS_BYTES_MAX, room // 6)) or [_NOTHING]
    lines += ["", "## What's in Memory"]
    left = BYTES_MAX - len("\n".join(lines).encode())
    return "\n".join([*lines, *_pointers(folder.groups, left)]) + "\n"


def _hand(hand: HandEdits) -> list[str]:
    if not hand.kept and not hand.removed:
        return []
    kept = within([f"- {in_place(line)}" for line in hand.kept], HAND_BYTES_MAX)
    gone = [f"{REMOVED_PREFIX}{mark}" for mark in hand.removed[-REMOVED_MAX:]]
    return ["", HAND_HEADING, "", *kept, *gone]


def _pointers(groups: Sequence[Group], bytes_left: int) -> list[str]:
    """The newest days by project and day, then older topics, as far as there is room."""
    every = [(group, thread) for group in groups for thread in _newest_first(group.threads)]
    days = sorted({thread.updated_at[:10] for _, thread in every}, reverse=True)[:RECENT_DAYS]
    lines: list[str] = []
    at = ("", "")
    for group, thread in every:
        day = thread.updated_at[:10]
        if day not in days:
            continue
        heading: list[str] = []
        if group.cwd != at[0]:
            heading += ["", f"### {group.cwd or 'unknown'}"]
        if (group.cwd, day) != at:
            heading += ["", f"#### {day}", ""]
        block = [*heading, _pointer(group, thread)]
        bytes_left -= len("\n".join(block).encode()) + 1
        if bytes_left < 0:
            return lines
        lines += block
        at = (group.cwd, day)
    older = [(group, thread) for group, thread in every if thread.updated_at[:10] not in days]
    return lines + _older(older, bytes_left)


def _older(every: Sequence[tuple[Group, ThreadInput]], bytes_left: int) -> list[str]:
    lines: list[str] = []
    cwd: str | None = None
    for group, thread in every:
        heading = ["", _OLDER] if cwd is None else []
        if group.cwd != cwd:
            heading += ["", f"#### {group.cwd or 'unknown'}", ""]
        where = f"{RECAPS}/{thread.recap_name}; thread_id={thread.thread_id}"
        block = [*heading, f"- {_about(group, thread)} ({where})"]
        bytes_left -= len("\n".join(block).encode()) + 1
        if bytes_left < 0:
            break
        lines += block
        cwd = group.cwd
    return lines


def _newest_first(threads: Sequence[ThreadInput]) -> list[ThreadInput]:
    return sorted(threads, key=lambda one: (one.updated_at, one.thread_id), reverse=True)


def _pointer(group: Group, thread: ThreadInput) -> str:
    where = f"{RECAPS}/{thread.recap_name}"
    return f"- {where} — {_about(group, thread)}; thread_id={thread.thread_id}"


def _about(group: Group, thread: ThreadInput) -> str:
    """One sentence on a session: what still stands of it, else how its recap is headed."""
    entries: tuple[Entry, ...] = by_source(group.entries, thread.thread_id)
    text = topic_of(entries) if entries else thread.task
    text = " ".join(text.split())[:SENTENCE_CHARS_MAX].rstrip(" .;")
    return "a session" if not text or _cites(text) else text


def _cites(text: str) -> bool:
    """Whether a text names a source by itself; what it names need not be there."""
    return _SOURCE.search(text) is not None
