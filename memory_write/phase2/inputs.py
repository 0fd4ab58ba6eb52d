"""The input files of a consolidation, made from the selected outputs; and the exact sync to disk.

Invariant: the same selection gives the same bytes, and after the sync the folder holds these
recaps and no other. Rendering is pure; only `sync` touches files, and only in the staged copy.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory_write.recipes import template
from state.home import make_private_folder
from state.stores.outputs import SelectedOutput
from state.workspace.layout import (
    EXTENSIONS,
    NOTE_INSTRUCTIONS,
    RAW_MEMORIES,
    RECAPS,
    rfc3339,
    summary_stem,
)
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import Snapshot

RESOURCE_DAYS_MAX = 7
NOTE_INSTRUCTIONS_TEMPLATE = "ad_hoc_instructions.md"
_STAMP = "%Y-%m-%dT%H-%M-%S"
_STAMP_LENGTH = 19


def recap_path(selected: SelectedOutput) -> str:
    """Where a thread's recap stands in the folder."""
    output = selected.output
    stem = summary_stem(output.thread_id, output.source_updated_at_ms, output.rollout_slug)
    return f"{RECAPS}/{stem}.md"


def render_recap(selected: SelectedOutput) -> str:
    """One thread's recap with the lines that say where it comes from."""
    output, thread = selected.output, selected.thread
    lines = [
        f"thread_id: {output.thread_id}",
        f"updated_at: {rfc3339(output.source_updated_at_ms)}",
        f"rollout_path: {thread.rollout_path}",
        f"cwd: {thread.cwd}",
    ]
    if thread.git_branch:
        lines.append(f"git_branch: {thread.git_branch}")
    return "\n".join([*lines, "", output.rollout_summary]) + "\n"


def render_raw_memories(selection: Sequence[SelectedOutput]) -> str:
    """All raw memories in one file, in the order of thread ids."""
    pieces = ["# Raw Memories\n\n"]
    if not selection:
        pieces.append("No raw memories yet.\n")
        return "".join(pieces)
    pieces.append("Merged stage-1 raw memories (stable ascending thread-id order):\n\n")
    for selected in selection:
        output, thread = selected.output, selected.thread
        name = recap_path(selected).removeprefix(f"{RECAPS}/")
        pieces.append(
            f"## Thread `{output.thread_id}`\n"
            f"updated_at: {rfc3339(output.source_updated_at_ms)}\n"
            f"cwd: {thread.cwd}\n"
            f"rollout_path: {thread.rollout_path}\n"
            f"rollout_summary_file: {name}\n"
            f"\n{output.raw_memory.strip()}\n\n"
        )
    return "".join(pieces)


def input_files(selection: Sequence[SelectedOutput]) -> Mapping[str, bytes]:
    """Every file that the selection stands for, by its path."""
    files = {recap_path(one): render_recap(one).encode() for one in selection}
    files[RAW_MEMORIES] = render_raw_memories(selection).encode()
    return files


def stale_resources(snapshot: Snapshot, now_ms: int) -> tuple[str, ...]:
    """Resources of extensions whose time in the name lies seven days back or more."""
    limit = datetime.fromtimestamp(now_ms / 1000, UTC).timestamp() - RESOURCE_DAYS_MAX * 86_400
    found: list[str] = []
    for path in snapshot.below(EXTENSIONS):
        parts = path.split("/")
        if len(parts) != 4 or parts[2] != "resources" or not parts[3].endswith(".md"):
            continue
        if f"{EXTENSIONS}/{parts[1]}/instructions.md" not in snapshot.files:
            continue
        at_s = _stamp_s(parts[3])
        if at_s is not None and at_s <= limit:
            found.append(path)
    return tuple(found)


def sync(staged: Path, before: Snapshot, selection: Sequence[SelectedOutput], now_ms: int) -> None:
    """Make the staged copy hold exactly these inputs; blocking.

    Raises: PathRefused, OSError.
    """
    root = ConfinedRoot(staged)
    make_private_folder(staged / RECAPS)
    wanted = input_files(selection)
    for path in before.below(RECAPS):
        if path.count("/") == 1 and path.endswith(".md") and path not in wanted:
            (staged / path).unlink()
    for path, data in wanted.items():
        known = before.files.get(path)
        if known is None or known.data != data:
            root.write(path, data)
    if NOTE_INSTRUCTIONS not in before.files:
        root.write(NOTE_INSTRUCTIONS, template(NOTE_INSTRUCTIONS_TEMPLATE).encode())
    for path in stale_resources(before, now_ms):
        (staged / path).unlink()


def _stamp_s(name: str) -> float | None:
    try:
        return datetime.strptime(name[:_STAMP_LENGTH], _STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
