"""What a consolidation starts from: the copy, one selection, its files, and the difference.

Invariant: the live folder is only cleaned of links and given a baseline where it has none; all
else happens in the staged copy.
"""

from dataclasses import dataclass

from memory_write.limits import Phase2Limits
from memory_write.phase2 import steps as at
from memory_write.phase2.blocking import in_thread
from memory_write.phase2.extensions import moved_percent
from memory_write.phase2.inputs import sync
from memory_write.phase2.sources import (
    Sources,
    compare_sources,
    published_sources,
    selected_sources,
)
from memory_write.phase2.verify import Finding, artefact_findings
from memory_write.phase2.withdraw import Gone, gone_from
from memory_write.ports import Steps
from memory_write.recipes import Recipe
from state.ids import ThreadId
from state.recovery import State
from state.stores.editions import EditionInputs
from state.stores.outputs import SelectedOutput
from state.workspace.diff import WorkspaceDiff
from state.workspace.layout import DIFF_FILE, NOTE_INSTRUCTIONS, RAW_MEMORIES
from state.workspace.repo import Baseline
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging
from state.workspace.trees import ensure_real_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The inputs of one run, in place in the staged copy."""

    published: Snapshot
    """The live folder when it was copied."""
    baseline: Snapshot
    """What was published last, without what anybody changed since."""
    offered: Snapshot
    """The copy with its inputs in place."""
    published_sources: Sources
    sources: Sources
    inputs: EditionInputs
    selection: tuple[SelectedOutput, ...]
    gone: Gone | None
    """What the live folder stands for that is no input any more."""
    watermark_ms: int
    diff: WorkspaceDiff
    unsound: tuple[Finding, ...]
    """What is wrong with the artefacts as published."""
    resources_moved_percent: int
    """How many of the last edition's extension resources changed or went since."""

    @property
    def selected(self) -> tuple[tuple[ThreadId, int], ...]:
        """The selection as threads and the times of their sources."""
        return tuple(
            (one.output.thread_id, one.output.source_updated_at_ms) for one in self.selection
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember and nothing remembered."""
        return not self.selection and all(
            path in (NOTE_INSTRUCTIONS, RAW_MEMORIES) for path in self.published.files
        )

    @property
    def is_unchanged(self) -> bool:
        """Whether the published memory is sound and says all there is."""
        return not self.diff.changes and not self.unsound


async def gather(
    state: State,
    staging: Staging,
    recipe: Recipe,
    limits: Phase2Limits,
    steps: Steps,
    *,
    unused_days_max: int | None,
) -> Gathered:
    """Make the copy and bring it up to date with the stored outputs.

    Raises: WorkspaceUnsafe, PathRefused, OSError, DatabaseBusy, DatabaseUnusable.
    """
    now_ms = state.clock.now_ms()
    await in_thread(_prepare, staging, now_ms // 1000)
    await steps(at.BASELINED)
    published = await in_thread(staging.make)
    await steps(at.STAGED)
    async with state.database.reading() as read:
        selection = await state.outputs.select(
            read,
            version=recipe.version,
            outputs_max=limits.outputs_max,
            unused_days_max=unused_days_max,
            now_ms=now_ms,
        )
    gathered = await in_thread(_gathered, staging, recipe, limits, published, selection, now_ms)
    await steps(at.SYNCED)
    return gathered


def _prepare(staging: Staging, at_s: int) -> None:
    ensure_real_folder(staging.live)
    Baseline(staging.live).ensure(at_s)
    (staging.live / DIFF_FILE).unlink(missing_ok=True)


def _gathered(
    staging: Staging,
    recipe: Recipe,
    limits: Phase2Limits,
    published: Snapshot,
    selection: list[SelectedOutput],
    now_ms: int,
) -> Gathered:
    baseline = Baseline(staging.live)
    known_blobs = baseline.blob_ids("")
    sync(staging.staged, published, selection, now_ms, recipe, known_blobs)
    offered = staging.staged_snapshot()
    before, after = published_sources(published), selected_sources(selection)
    baseline = Baseline(staging.live)
    committed = baseline.snapshot()
    return Gathered(
        published=published,
        baseline=committed,
        offered=offered,
        published_sources=before,
        sources=after,
        inputs=compare_sources(before, after),
        selection=tuple(selection),
        gone=gone_from(published, committed, after),
        watermark_ms=max((one.output.source_updated_at_ms for one in selection), default=0),
        diff=baseline.diff(offered, bytes_max=limits.diff_bytes_max),
        unsound=artefact_findings(published, recipe),
        resources_moved_percent=moved_percent(known_blobs, offered),
    )
