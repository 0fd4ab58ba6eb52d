"""The two texts that a session leaves: its recap and its raw memory, in the formats of version 1.

Each bullet carries the user's own words and, behind the arrow, what they imply, with the kind and
the scope as they were stated. `gathered.py` reads the same bullets back.
"""

import re
from collections.abc import Sequence

from memory_write.hand_lines import group_name
from memory_write.offline.heard import Heard
from memory_write.offline.merging import Entry
from memory_write.offline.terms import shown_words

KEYWORDS_MAX = 12
SLUG_CHARS_MAX = 60
TOPIC_CHARS_MAX = 70
_SECTION_OF = {
    "decision": "Reusable knowledge",
    "procedure": "Reusable knowledge",
    "pitfall": "Failures and how to do differently",
}


def bullet(entry: Entry) -> str:
    """One statement as a line of a raw memory."""
    return f'- the user said: "{entry.quote}" -> {entry.text} ({entry.kind}; {entry.scope})'


def raw_memory(heard: Heard, *, cwd: str) -> str:
    """The raw memory of a session."""
    topic = topic_of(heard.entries)
    group = group_name(cwd)
    lines = [
        "---",
        f"description: what the user stated, first of all: {topic}",
        f"task: {topic}",
        f"task_group: {group}",
        f"task_outcome: {heard.outcome}",
        f"cwd: {cwd or 'unknown'}",
        f"keywords: {', '.join(keywords(heard.entries))}",
        "---",
        "",
        f"### Task 1: {topic}",
        "",
        f"task: {topic}",
        f"task_group: {group}",
        f"task_outcome: {heard.outcome}",
    ]
    for heading, chosen in _sections(heard.entries):
        lines += ["", f"{heading}:", *(bullet(entry) for entry in chosen)]
    return "\n".join(lines) + "\n"


def rollout_summary(heard: Heard, *, cwd: str, git_branch: str | None) -> str:
    """The recap of a session."""
    count = len(heard.entries)
    stated = "one thing" if count == 1 else f"{count} things"
    branch = f" on branch {git_branch}" if git_branch else ""
    lines = [
        f"# The user stated {stated} worth keeping while working in {group_name(cwd)}.",
        "",
        f"Rollout context: a session in {cwd or 'an unknown folder'}{branch}.",
        "",
        f"## Task 1: {topic_of(heard.entries)}",
        "",
        f"Outcome: {heard.outcome}",
    ]
    for heading, chosen in _sections(heard.entries):
        lines += ["", f"{heading}:"]
        lines += [f'- the user said: "{entry.quote}" -> {entry.text}' for entry in chosen]
    lines += ["", "References"]
    for number, entry in enumerate(heard.entries, 1):
        line = heard.lines.get(entry.quote)
        where = f"rollout line {line}" if line is not None else "the rollout"
        lines.append(f'{number}. {where}, typed by the user: "{entry.quote}"')
    return "\n".join(lines) + "\n"


def slug(heard: Heard) -> str:
    """A file-safe name of the session's topic."""
    joined = "_".join(keywords(heard.entries)[:5])
    return re.sub(r"[^a-z0-9]+", "_", joined.lower())[:SLUG_CHARS_MAX].strip("_") or "notes"


def topic_of(entries: Sequence[Entry]) -> str:
    """A short name for what the statements are about."""
    if not entries:
        return "what the user stated"
    first = entries[0].text.split("\n")[0].rstrip(".!。 ")
    if len(first) > TOPIC_CHARS_MAX:
        first = first[:TOPIC_CHARS_MAX].rsplit(" ", 1)[0] + " …"
    more = len(entries) - 1
    return f"{first} (and {more} more)" if more else first


def keywords(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The words by which the statements will be searched for; each statement gives some."""
    each = max(2, KEYWORDS_MAX // max(1, len(entries)))
    found: dict[str, None] = {}
    for entry in entries:
        found.update(dict.fromkeys(shown_words(entry.text, count_max=each)))
    return tuple(found)[:KEYWORDS_MAX]


def _sections(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    sections: dict[str, list[Entry]] = {
        "Preference signals": [],
        "Reusable knowledge": [],
        "Failures and how to do differently": [],
    }
    for entry in entries:
        sections[_SECTION_OF.get(entry.kind, "Preference signals")].append(entry)
    return [(heading, chosen) for heading, chosen in sections.items() if chosen]
