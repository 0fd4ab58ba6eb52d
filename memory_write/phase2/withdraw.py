"""An edition without what went: made by code alone from the published one, no model asked.

Invariant: what is published by it holds nothing new. Inputs that came or changed, and edits by
hand, stay outside its commit, so that the next difference still shows them to the consolidator. So
do notes whose lines the cut took along.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memory_write.phase2.cut import Grounds, cut_file
from memory_write.phase2.evidence import Evidence, Trace, trace_of
from memory_write.phase2.inputs import recap_path, render_raw_memories, render_recap
from memory_write.phase2.notes_told import as_before, notes_lost
from memory_write.phase2.outline import Part, parts_of, units_of
from memory_write.phase2.sources import (
    Sources,
    Withdrawn,
    cited_in,
    published_sources,
    selected_sources,
)
from memory_write.recipes import Recipe
from state.ids import ThreadId
from state.stores.outputs import SelectedOutput
from state.workspace.layout import EXTENSIONS, HANDBOOK, RAW_MEMORIES, RECAPS
from state.workspace.snapshot import FileContent, Snapshot

THREADS_MAX = 20_000
"""Whose going is remembered in the life of a process, besides what editions tell of it."""
_THREAD = re.compile(r"^## Thread `([^`\n]+)`[ \t]*$", re.MULTILINE)
_RECAP_FILE = re.compile(r"^rollout_summary_file: (\S+)$", re.MULTILINE)
# They name no fact, and times met by chance would take other lines along.
_HEADERS = re.compile(
    r"^(?:thread_id|updated_at|rollout_path|rollout_summary_file): .*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Inputs that went: who they were, and marks of what they said. Never stored."""

    threads: Withdrawn
    trace: Trace

    def joined(self, other: "Gone | None") -> "Gone":
        """Both, of which the other went before; of very many threads the latest."""
        if other is None:
            return self
        ids = self.threads.thread_ids
        before = islice(other.threads.thread_ids - ids, max(0, THREADS_MAX - len(ids)))
        return Gone(
            threads=Withdrawn(ids.union(before), self.threads.names),
            trace=self.trace.joined(other.trace),
        )

    def without(self, kept: Sources) -> "Gone":
        """Those that did not come back."""
        left = self.threads.thread_ids - kept.thread_ids
        return Gone(threads=Withdrawn(left, self.threads.names), trace=self.trace)

    def faded(self) -> "Gone":
        """The same without the names of recaps, which may tell what the thread was about."""
        return Gone(threads=Withdrawn(self.threads.thread_ids), trace=self.trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The two states to publish, and what was taken out."""

    live: Snapshot
    """What the folder is to hold: edits by hand included."""
    committed: Snapshot
    """What counts as published: as before, without what went."""
    lines: int


def standing_sources(published: Snapshot, baseline: Snapshot) -> Sources:
    """The threads that published memory stands for, by its recaps and by its raw memories.

    Those of the last edition count too: where a person deleted a recap since, what was made of it
    still stands in the artefacts.
    """
    by_name: dict[str, ThreadId] = {}
    texts: dict[ThreadId, bytes] = {}
    for folder in (baseline, published):
        recaps = published_sources(folder)
        by_name |= recaps.by_name
        texts |= recaps.texts
    for folder in (published, baseline):
        for thread_id, section in _raw_sections(folder).items():
            name = _RECAP_FILE.search(section)
            if name:
                by_name.setdefault(name[1], thread_id)
            texts.setdefault(thread_id, section.encode())
    return Sources(by_name=by_name, texts=texts)


def gone_from(published: Snapshot, baseline: Snapshot, kept: Sources) -> Gone | None:
    """What memory stands for that is no input any more; None when there is no such thing."""
    before = standing_sources(published, baseline)
    ids = before.thread_ids - kept.thread_ids
    if not ids:
        return None
    raw = _raw_sections(baseline) | _raw_sections(published)
    texts = [before.texts[one].decode(errors="replace") for one in sorted(ids)]
    texts += [raw[one] for one in sorted(ids) if one in raw]
    names = {name: one for name, one in before.by_name.items() if one in ids}
    return Gone(threads=Withdrawn(ids, names), trace=traced(texts))


def traced(texts: Iterable[str]) -> Trace:
    """The marks of inputs' texts, without the lines that name no fact."""
    return trace_of(_HEADERS.sub("", text) for text in texts)


def grounds_of(
    gone: Gone,
    selection: Sequence[SelectedOutput],
    folder: Snapshot,
    baseline: Snapshot,
    recipe: Recipe,
    *,
    rebuild_follows: bool,
) -> Grounds:
    """What to judge the lines of a folder by."""
    kept_texts = [render_recap(one) for one in selection]
    kept_texts += [one.output.raw_memory for one in selection]
    kept_texts += [file.data.decode(errors="replace") for file in _extensions(folder)]
    return Grounds(
        gone=gone.threads,
        kept=selected_sources(selection),
        evidence=Evidence(gone.trace, tuple(kept_texts)),
        by_hand=_by_hand(folder, baseline, recipe),
        rebuild_follows=rebuild_follows,
    )


def left_without(
    published: Snapshot, baseline: Snapshot, thread_ids: frozenset[ThreadId], recipe: Recipe
) -> Snapshot:
    """What stands in a folder without these threads, told from the folder alone; pure.

    Never more than `withdraw` leaves: inputs that no consolidation has seen support nothing here.
    """
    before = standing_sources(published, baseline)
    kept = Sources(
        by_name={name: one for name, one in before.by_name.items() if one not in thread_ids},
        texts={one: text for one, text in before.texts.items() if one not in thread_ids},
    )
    gone = gone_from(published, baseline, kept)
    if gone is None:
        return published
    raw = _raw_sections(published)
    texts = [text.decode(errors="replace") for text in kept.texts.values()]
    texts += [section for one, section in raw.items() if one in kept.texts]
    texts += [file.data.decode(errors="replace") for file in _extensions(published)]
    grounds = Grounds(
        gone=gone.threads,
        kept=kept,
        evidence=Evidence(gone.trace, tuple(texts)),
        by_hand=_by_hand(published, baseline, recipe),
    )
    cut, _ = cut_artefacts(published, grounds, recipe)
    recaps = {f"{RECAPS}/{name}" for name in gone.threads.names}
    files = {path: file for path, file in cut.files.items() if path not in recaps}
    if RAW_MEMORIES in files:
        files[RAW_MEMORIES] = FileContent(data=_raw_without(published, thread_ids).encode())
    return Snapshot(files=files)


def withdraw(
    published: Snapshot,
    baseline: Snapshot,
    selection: Sequence[SelectedOutput],
    gone: Gone,
    recipe: Recipe,
) -> Withdrawal:
    """Make the edition without what went; pure."""
    grounds = grounds_of(gone, selection, published, baseline, recipe, rebuild_follows=True)
    standing = standing_sources(published, Snapshot(files={})).thread_ids
    left = [one for one in selection if one.output.thread_id in standing]
    live, lines = _without(published, left, grounds, recipe)
    committed, _ = _without(baseline, left, grounds, recipe)
    lost = notes_lost(published, live, recipe)
    committed = as_before(committed, Snapshot(files={}), lost)
    return Withdrawal(live=live, committed=committed, lines=lines)


def cut_artefacts(folder: Snapshot, grounds: Grounds, recipe: Recipe) -> tuple[Snapshot, int]:
    """A folder without the lines that only what went had supported; how many those were."""
    files: dict[str, FileContent] = {}
    lines = 0
    # The handbook first: what is left of it can carry a line of the summary.
    for path in sorted(folder.files, key=lambda one: (one != HANDBOOK, one)):
        file = folder.files[path]
        if not recipe.writable(path):
            files[path] = file
            continue
        text = file.data.decode(errors="replace")
        cut = cut_file(path, text, grounds)
        lines += cut.lines
        if cut.text is not None:
            kept = file.data if cut.text == text else cut.text.encode()
            files[path] = FileContent(data=kept, executable=file.executable)
        if path == HANDBOOK and cut.text is not None:
            grounds = Grounds(
                gone=grounds.gone,
                kept=grounds.kept,
                evidence=grounds.evidence.with_echoes((cut.text,)),
                by_hand=grounds.by_hand,
                rebuild_follows=grounds.rebuild_follows,
            )
    return Snapshot(files=dict(sorted(files.items())), odd=folder.odd), lines


def told_by(written: Snapshot, gone: Gone, kept: Sources, recipe: Recipe) -> Gone:
    """What a consolidator says of what went, by its own references, counts as said by it."""
    texts = [
        part.text
        for path in written.files
        if recipe.writable(path)
        for part in parts_of(units_of(written.text(path) or ""), 1)
        for part in (part, *(Part(None, (unit,)) for unit in part.units))
        if (cited := cited_in(part.text)).names | cited.thread_ids
        and gone.threads.named(cited)
        and not cited.threads(kept) & kept.thread_ids
    ]
    return Gone(threads=gone.threads, trace=gone.trace.joined(traced(texts))) if texts else gone


def still_standing(
    published: Snapshot, selection: Sequence[SelectedOutput]
) -> tuple[tuple[ThreadId, int], ...]:
    """Of a selection, what the folder already holds byte for byte."""
    return tuple(
        (one.output.thread_id, one.output.source_updated_at_ms)
        for one in selection
        if (file := published.files.get(recap_path(one))) is not None
        and file.data == render_recap(one).encode()
    )


def _without(
    folder: Snapshot, left: Sequence[SelectedOutput], grounds: Grounds, recipe: Recipe
) -> tuple[Snapshot, int]:
    cut, lines = cut_artefacts(folder, grounds, recipe)
    gone = {f"{RECAPS}/{name}" for name in grounds.gone.names}
    files = {path: file for path, file in cut.files.items() if path not in gone}
    if RAW_MEMORIES in files:
        raw = render_raw_memories(left) if recipe.has_raw_memory else None
        if raw is None:
            del files[RAW_MEMORIES]
        else:
            files[RAW_MEMORIES] = FileContent(data=raw.encode())
    return Snapshot(files=dict(sorted(files.items()))), lines


def _raw_sections(snapshot: Snapshot) -> dict[ThreadId, str]:
    found: dict[ThreadId, str] = {}
    for thread_id, _, body in _raw_pieces(snapshot.text(RAW_MEMORIES) or ""):
        found[thread_id] = found.get(thread_id, "") + body
    return found


def _raw_without(snapshot: Snapshot, thread_ids: frozenset[ThreadId]) -> str:
    text = snapshot.text(RAW_MEMORIES) or ""
    first = _THREAD.search(text)
    pieces = [text[: first.start()] if first else text]
    pieces += [heading + body for one, heading, body in _raw_pieces(text) if one not in thread_ids]
    return "".join(pieces)


def _raw_pieces(text: str) -> Iterator[tuple[ThreadId, str, str]]:
    """The sections of raw memories: thread, heading, and what stands below it."""
    starts = list(_THREAD.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=False):
        yield ThreadId(start[1]), start[0], text[start.end() : end]


def _extensions(folder: Snapshot) -> list[FileContent]:
    return list(folder.below(EXTENSIONS).values())


def _by_hand(folder: Snapshot, baseline: Snapshot, recipe: Recipe) -> dict[str, frozenset[str]]:
    """Lines that stand there since the last edition; a file that is wholly new tells nothing."""
    found: dict[str, frozenset[str]] = {}
    for path in folder.files:
        before = baseline.text(path)
        if before is None or not recipe.writable(path):
            continue
        lines = frozenset((folder.text(path) or "").split("\n"))
        found[path] = frozenset(line for line in lines - set(before.split("\n")) if line.strip())
    return found
