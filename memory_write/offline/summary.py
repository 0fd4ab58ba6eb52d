"""Renders `memory_summary.md`: what is injected into every new thread, within its budget.

Newer statements win a place when space is short; what has one stands in the order in which it was
first said, so that an unchanged memory gives unchanged bytes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_write.hand_lines import group_name, in_place
from memory_write.offline.folder import Folder, Group
from memory_write.offline.judge import KNOWLEDGE
from memory_write.offline.merging import Entry, by_source
from memory_write.offline.recap import keywords, topic_of
from state.workspace.layout import SUMMARY_FIRST_LINE

PROFILE_BYTES_MAX = 1_500
PREFERENCES_BYTES_MAX = 4_000
HAND_BYTES_MAX = 1_000
TIPS_BYTES_MAX = 1_500
TOPICS_BYTES_MAX = 1_600
RECENT_DAYS = 3
HAND_HEADING = "### Kept as edited by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    """What a folder of work holds of one day."""

    cwd: str
    day: str
    entries: tuple[Entry, ...]


def render_summary(folder: Folder) -> str:
    """The whole text; always below the injection budget of 10,000 bytes."""
    names = {entry: place(entry) for entry in folder.entries}
    profile = [entry for entry in folder.entries if entry.kind == "profile"]
    wishes = [entry for entry in folder.entries if entry.kind not in ("profile", *KNOWLEDGE)]
    tips = [entry for entry in folder.entries if entry.kind in KNOWLEDGE]
    lines = [SUMMARY_FIRST_LINE, "", "## User Profile", ""]
    lines += chosen(profile, names, PROFILE_BYTES_MAX) or ["Nothing was stated so far."]
    lines += ["", "## User preferences", ""]
    lines += chosen(wishes, names, PREFERENCES_BYTES_MAX) or ["Nothing was stated so far."]
    if folder.hand.kept:
        kept = [f"- {in_place(line)}" for line in folder.hand.kept]
        lines += ["", HAND_HEADING, "", *within(kept, HAND_BYTES_MAX)]
    lines += ["", "## General Tips", ""]
    lines += chosen(tips, names, TIPS_BYTES_MAX) or ["Nothing was stated so far."]
    lines += ["", "## What's in Memory", *_topics(folder.groups)]
    return "\n".join(lines) + "\n"


def place(entry: Entry) -> str:
    """Where a statement holds, behind it; empty when it says so itself or holds everywhere."""
    name = group_name(entry.cwd)
    if entry.scope != "project" or not entry.cwd or name.lower() in entry.text.lower():
        return ""
    return f" (in {name})"


def chosen(entries: Sequence[Entry], names: dict[Entry, str], bytes_max: int) -> list[str]:
    """The newest statements that fit, in the order in which they were first said."""
    left = bytes_max
    taken: set[int] = set()
    for number in range(len(entries) - 1, -1, -1):
        size = len(f"- {entries[number].text}{names[entries[number]]}\n".encode())
        if size <= left:
            taken.add(number)
            left -= size
    return [
        f"- {entry.text}{names[entry]}" for number, entry in enumerate(entries) if number in taken
    ]


def within(lines: Iterable[str], bytes_max: int) -> list[str]:
    """The first lines that fit."""
    left = bytes_max
    kept: list[str] = []
    for line in lines:
        left -= len(line.encode()) + 1
        if left < 0:
            break
        kept.append(line)
    return kept


def _topics(groups: Sequence[Group]) -> list[str]:
    topics = [topic for group in groups for topic in _days(group)]
    days = sorted({topic.day for topic in topics}, reverse=True)[:RECENT_DAYS]
    blocks: list[list[str]] = []
    scope = ""
    for topic in (one for one in topics if one.day in days):
        heading = [] if topic.cwd == scope else ["", f"### {topic.cwd or 'unknown'}"]
        scope = topic.cwd
        blocks.append([*heading, "", f"#### {topic.day}", "", *_bullet(topic, with_words=True)])
    older = [one for one in topics if one.day not in days]
    for number, topic in enumerate(older):
        heading = ["", "### Older Memory Topics"] if number == 0 else []
        goes_on = number > 0 and older[number - 1].cwd == topic.cwd
        place = [] if goes_on else ["", f"#### {topic.cwd or 'unknown'}", ""]
        blocks.append([*heading, *place, *_bullet(topic, with_words=False)])
    lines: list[str] = []
    left = TOPICS_BYTES_MAX
    for block in blocks:
        left -= len("\n".join(block).encode()) + 1
        if left < 0:
            break
        lines += block
    return lines


def _days(group: Group) -> list[_Topic]:
    """A folder's topics by day, newest first; a statement stands under its latest day only."""
    days = sorted({thread.updated_at[:10] for thread in group.threads}, reverse=True)
    seen: set[Entry] = set()
    topics: list[_Topic] = []
    for day in days:
        ids = [thread.thread_id for thread in group.threads if thread.updated_at[:10] == day]
        said = [entry for one in ids for entry in by_source(group.entries, one)]
        entries = tuple(entry for entry in dict.fromkeys(said) if entry not in seen)
        seen.update(entries)
        if entries or not topics:
            topics.append(_Topic(cwd=group.cwd, day=day, entries=entries))
    return topics


def _bullet(topic: _Topic, *, with_words: bool) -> list[str]:
    name = topic_of(topic.entries)
    count = len(topic.entries)
    stated = "1 statement" if count == 1 else f"{count} statements"
    described = f"  - desc: {stated} of the user in {group_name(topic.cwd)}; see MEMORY.md"
    if not with_words:
        return [f"- {name}", described]
    return [f"- {name}: {', '.join(keywords(topic.entries))}", described]
