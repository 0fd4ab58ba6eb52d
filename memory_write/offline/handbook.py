"""Renders `MEMORY.md`: task groups by folder of work, with sources, keywords and statements.

Invariant: every thread among the inputs is cited under a task, also when all it said was replaced
later, so that a reader can always go from a group to its recaps.
"""

from collections.abc import Iterable

from memory_write.hand_lines import group_name, hand_block
from memory_write.offline.folder import Folder, Group
from memory_write.offline.gathered import NOTE_TAG, ThreadInput
from memory_write.offline.hand_edits import REMOVED_PREFIX, HandEdits
from memory_write.offline.merging import Entry, by_source
from memory_write.offline.recap import keywords, topic_of
from state.workspace.layout import NOTES, RECAPS

_SECTION_OF = {
    "decision": "Reusable knowledge",
    "procedure": "Reusable knowledge",
    "pitfall": "Failures and how to do differently",
}


def render_handbook(folder: Folder) -> str:
    """The whole text."""
    blocks = [_group(group) for group in folder.groups]
    blocks += [block for block in (_notes(folder), *_hand(folder.hand)) if block]
    if not blocks:
        blocks = [
            "# Task Group: none yet\n\nscope: nothing was learned yet\n"
            "applies_to: cwd=none; reuse_rule=nothing to reuse\n"
        ]
    return "\n".join(blocks)


def _group(group: Group) -> str:
    name = group_name(group.cwd)
    lines = [
        f"# Task Group: {name}",
        "",
        f"scope: what the user stated while working in {name}",
        f"applies_to: cwd={group.cwd or 'unknown'}; reuse_rule={_reuse(group)}",
    ]
    for number, thread in enumerate(group.threads, 1):
        lines += ["", *_task(number, thread, by_source(group.entries, thread.thread_id))]
    numbers = {thread.thread_id: number for number, thread in enumerate(group.threads, 1)}
    for heading, entries in _sections(group.entries):
        lines += ["", f"## {heading}", ""]
        lines += [f"- {entry.text} {_tasks(entry, numbers)}".rstrip() for entry in entries]
    return "\n".join(lines) + "\n"


def _reuse(group: Group) -> str:
    if any(entry.scope == "everywhere" for entry in group.entries):
        return "hold here; what says so of itself, and facts about the user, hold anywhere"
    return "hold here; elsewhere only where the statement says so"


def _task(number: int, thread: ThreadInput, entries: tuple[Entry, ...]) -> list[str]:
    topic = topic_of(entries) if entries else "nothing that still stands"
    facts = ", ".join(
        (
            f"cwd={thread.cwd or 'unknown'}",
            f"rollout_path={thread.rollout_path}",
            f"updated_at={thread.updated_at}",
            f"thread_id={thread.thread_id}",
        )
    )
    return [
        f"## Task {number}: {topic}, {thread.outcome}",
        "",
        "### rollout_summary_files",
        "",
        f"- {RECAPS}/{thread.recap_name} ({facts})",
        "",
        "### keywords",
        "",
        f"- {', '.join(keywords(entries)) or 'replaced later'}",
    ]


def _tasks(entry: Entry, numbers: dict[str, int]) -> str:
    cited = sorted({numbers[source] for source in entry.sources if source in numbers})
    return f"[{', '.join(f'Task {number}' for number in cited)}]" if cited else ""


def _sections(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    sections: dict[str, list[Entry]] = {
        "User preferences": [],
        "Reusable knowledge": [],
        "Failures and how to do differently": [],
    }
    for entry in entries:
        sections[_SECTION_OF.get(entry.kind, "User preferences")].append(entry)
    return [(heading, chosen) for heading, chosen in sections.items() if chosen]


def _notes(folder: Folder) -> str:
    entries = [entry for entry in folder.entries if not entry.sources and NOTE_TAG in entry.text]
    if not entries:
        return ""
    lines = [
        "# Task Group: notes of the user",
        "",
        "scope: what the user asked in plain words to have remembered",
        "applies_to: cwd=any; reuse_rule=hold anywhere unless the note says where",
        "",
        f"## Task 1: {topic_of(entries)}, success",
        "",
        "### note_files",
        "",
        *(f"- {NOTES}/{note.name}" for note in folder.notes),
        "",
        "### keywords",
        "",
        f"- {', '.join(keywords(entries))}",
    ]
    for heading, chosen in _sections(entries):
        lines += ["", f"## {heading}", "", *(f"- {entry.text} [Task 1]" for entry in chosen)]
    conflicts = [
        f"- {entry.text} A session says otherwise, and the note holds: "
        f"{text} (thread_id={', thread_id='.join(sources)})"
        for entry in entries
        for text, sources in entry.disputed
        if sources
    ]
    if conflicts:
        lines += ["", "## Conflicts", "", *conflicts]
    return "\n".join(lines) + "\n"


def _hand(hand: HandEdits) -> list[str]:
    """A block for each place in which a person wrote something; the first tells what went."""
    bullets: dict[str, list[str]] = {}
    for line in hand.kept:
        bullets.setdefault(line.place, []).append(f"- {line.text}")
    anywhere = [*bullets.pop("", ()), *(f"{REMOVED_PREFIX}{mark}" for mark in hand.removed)]
    blocks = [hand_block("", anywhere)] if anywhere else []
    return [*blocks, *(hand_block(place, kept) for place, kept in bullets.items())]
