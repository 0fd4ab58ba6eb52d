"""The input files of a consolidation, made from the selected outputs; and the exact sync to disk.

Invariant: the same selection gives the same bytes, and after the sync the folder holds these
recaps and no other. Rendering is pure; only `sync` touches files, and only in the staged copy.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_write.phase2.extensions import mask, prune, seed
from memory_write.recipes import V1, Recipe
from state.home import make_private_folder
from state.policy.redaction import redact
from state.stores.outputs import SelectedOutput
from state.workspace.layout import (
    RAW_MEMORIES,
    RECAPS,
    rfc3339,
    summary_stem,
)
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import Snapshot


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
        f"rollout_path: {redact(thread.rollout_path)}",
        f"cwd: {redact(thread.cwd)}",
    ]
    if thread.git_branch:
        lines.append(f"git_branch: {redact(thread.git_branch)}")
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
            f"cwd: {redact(thread.cwd)}\n"
            f"rollout_path: {redact(thread.rollout_path)}\n"
            f"rollout_summary_file: {name}\n"
            f"\n{output.raw_memory.strip()}\n\n"
        )
    return "".join(pieces)


def input_files(selection: Sequence[SelectedOutput], recipe: Recipe = V1) -> Mapping[str, bytes]:
    """Every file that the selection stands for, by its path."""
    files = {recap_path(one): render_recap(one).encode() for one in selection}
    if recipe.has_raw_memory:
        files[RAW_MEMORIES] = render_raw_memories(selection).encode()
    return files


def put_back(
    live: Path, published: Snapshot, selection: Sequence[SelectedOutput], recipe: Recipe
) -> None:
    """Restore recaps and raw memories that somebody deleted or changed; blocking.

    Code writes them, so their return is no work for a consolidator.
    Raises: PathRefused, OSError.
    """
    root = ConfinedRoot(live)
    for path, data in input_files(selection, recipe).items():
        known = published.files.get(path)
        if known is None or known.data != data:
            root.write(path, data)


def sync(
    staged: Path,
    before: Snapshot,
    selection: Sequence[SelectedOutput],
    now_ms: int,
    recipe: Recipe = V1,
    known_blobs: Mapping[str, str] | None = None,
) -> None:
    """Make the staged copy hold exactly these inputs, and no secret; blocking.

    `known_blobs` are the files of the last edition, with git's ids: what stands there is masked.
    Raises: PathRefused, OSError.
    """
    root = ConfinedRoot(staged)
    make_private_folder(staged / RECAPS)
    wanted = input_files(selection, recipe)
    for path in before.below(RECAPS):
        if path.count("/") == 1 and path.endswith(".md") and path not in wanted:
            (staged / path).unlink()
    for path, data in wanted.items():
        known = before.files.get(path)
        if known is None or known.data != data:
            root.write(path, data)
    seed(staged, before)
    prune(staged, before, now_ms)
    mask(staged, before, known_blobs or {})
