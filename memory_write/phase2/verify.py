"""The judgement of a staged folder before it may be published; pure, over snapshots.

Invariant: what the agent said plays no part, only what stands in the folder. Findings name files,
recaps and thread ids, never memory text, so that they may be logged, stored and sent to a model.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from memory_write.limits import Phase2Limits
from memory_write.phase2.coverage import covers_the_same
from memory_write.phase2.extensions import planted
from memory_write.phase2.sources import Sources, cited_in
from memory_write.recipes import Recipe
from state.stores.editions import EditionInputs
from state.workspace.layout import HANDBOOK, SUMMARY_HEADINGS
from state.workspace.snapshot import Snapshot

FINDINGS_MAX = 50
SHARE_WORDS_MIN = 20
"""A text of fewer words may be replaced whole; its topics are judged all the same."""
MISSING = "missing"
"""The kind of finding that is about a file as a whole."""
_WORD = re.compile(r"\w+")
_TOPIC = re.compile(r"^# Task Group\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a folder is not published."""

    kind: str
    path: str
    detail: str = ""

    def __str__(self) -> str:
        found = f"{self.path} is missing" if self.kind == MISSING else f"{self.kind} in {self.path}"
        text = found + (f": {self.detail}" if self.detail else "")
        # A name that is no UTF-8 must not break the log, the job's row or the next request.
        return text.encode(errors="replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All that a judgement looks at."""

    recipe: Recipe
    limits: Phase2Limits
    published: Snapshot
    """The live folder when the copy was made."""
    offered: Snapshot
    """The copy as the agent found it, inputs in place."""
    written: Snapshot
    """The copy as the agent left it."""
    published_sources: Sources
    sources: Sources
    inputs: EditionInputs
    holds_secret: Callable[[str], bool]
    resources_moved_percent: int = 0
    """How many of the last edition's extension resources changed or went since."""


def judge(case: Case) -> tuple[Finding, ...]:
    """Everything that speaks against publishing; empty when nothing does."""
    found: list[Finding] = []
    for check in _CHECKS:
        for finding in check(case):
            found.append(finding)
            if len(found) >= FINDINGS_MAX:
                return tuple(found)
    return tuple(found)


def artefact_findings(snapshot: Snapshot, recipe: Recipe) -> tuple[Finding, ...]:
    """What is missing or malformed in the files that a consolidation must leave."""
    found: list[Finding] = []
    for path in recipe.artefacts:
        text = snapshot.text(path)
        if text is None:
            found.append(Finding(MISSING, path))
        elif not text.strip():
            found.append(Finding("empty", path))
        elif path == recipe.summary_file:
            found.extend(summary_findings(text, recipe))
    return tuple(found)


def summary_findings(text: str, recipe: Recipe) -> Iterator[Finding]:
    """What is wrong with the form or the size of a summary."""
    most = recipe.summary_bytes_max
    if most is not None and len(text.encode()) > most:
        yield Finding("too_large", recipe.summary_file, f"at most {most} bytes")
    lines = text.split("\n")
    if lines[0].removesuffix("\r") != recipe.summary_first_line:
        yield Finding("first_line", recipe.summary_file, f"must be {recipe.summary_first_line}")
    there = {line.strip() for line in lines}
    for heading in SUMMARY_HEADINGS:
        if heading not in there:
            yield Finding("heading_missing", recipe.summary_file, heading)


def _odd(case: Case) -> Iterator[Finding]:
    for path in case.written.odd:
        yield Finding("link_or_special_file", path)


def _untouched(case: Case) -> Iterator[Finding]:
    for path in sorted({*case.offered.files, *case.written.files}):
        before, after = case.offered.files.get(path), case.written.files.get(path)
        if before != after and not case.recipe.writable(path):
            yield Finding("input_touched", path)


def _artefacts(case: Case) -> Iterator[Finding]:
    yield from artefact_findings(case.written, case.recipe)
    for path, file in case.written.files.items():
        if not case.recipe.writable(path):
            continue
        try:
            file.data.decode()
        except UnicodeDecodeError:
            yield Finding("not_text", path)


def _sizes(case: Case) -> Iterator[Finding]:
    limits = case.limits
    total = 0
    for path, file in case.written.files.items():
        total += len(file.data)
        if case.recipe.writable(path) and len(file.data) > limits.file_bytes_max:
            yield Finding("too_large", path, f"at most {limits.file_bytes_max} bytes")
    if total > limits.folder_bytes_max:
        yield Finding("too_large", ".", f"at most {limits.folder_bytes_max} bytes")
    if len(case.written.files) > limits.folder_files_max:
        yield Finding("too_many_files", ".", f"at most {limits.folder_files_max}")


def _secrets(case: Case) -> Iterator[Finding]:
    for path, text in _ours(case):
        if case.holds_secret(text):
            yield Finding("secret", path)


def _planted(case: Case) -> Iterator[Finding]:
    ours = tuple(path for path in case.written.files if case.recipe.writable(path))
    for path in planted(case.offered, case.written, ours):
        yield Finding("extension_instruction", path, "its instructions are no memory")


def _dangling(case: Case) -> Iterator[Finding]:
    for path, text in _ours(case):
        cited = cited_in(text)
        for name in sorted(cited.names - case.sources.by_name.keys()):
            yield Finding("recap_unknown", path, name)
        for thread_id in sorted(cited.thread_ids - case.sources.thread_ids):
            yield Finding("thread_unknown", path, thread_id)


def _topics(case: Case) -> Iterator[Finding]:
    """A topic whose sources all stand as they were may be reworded, not dropped."""
    if HANDBOOK not in case.recipe.artefacts:
        return  # a summary alone has no room to keep every topic
    moved = {*case.inputs.changed, *case.inputs.removed}
    kept = cited_in(case.written.text(HANDBOOK) or "").threads(case.sources)
    for block in _blocks(case.published.text(HANDBOOK) or ""):
        cited = cited_in(block).threads(case.published_sources) & case.sources.thread_ids
        if cited and not cited & moved and not cited & kept:
            yield Finding("topic_removed", HANDBOOK, ", ".join(sorted(cited)))


def _share(case: Case) -> Iterator[Finding]:
    allowed = case.limits.share_removed_percent_max
    before = len(case.published_sources.thread_ids)
    if before:
        moved = len(case.inputs.removed) + len(case.inputs.changed)
        allowed += 100 * moved // before
    allowed += case.resources_moved_percent
    if not before or artefact_findings(case.published, case.recipe):
        # What rests on no input, or was not sound, is made anew; nothing to hold a new text to.
        return
    findings: list[Finding] = []
    for path in case.recipe.artefacts:
        text = case.published.text(path) or ""
        if len(_WORD.findall(text)) < SHARE_WORDS_MIN:
            # It says that there is nothing yet; to hold on to that would shut memory for ever.
            continue
        removed = share_removed(text, case.written.text(path) or "")
        if removed > allowed:
            findings.append(Finding("share_removed", path, f"{removed} percent, at most {allowed}"))
    if findings and not _words_anew(case):
        yield from findings


def _words_anew(case: Case) -> bool:
    """Another consolidator may word all of it otherwise, if it says no less of the inputs."""
    return covers_the_same(
        case.published,
        case.written,
        case.offered,
        case.published_sources,
        case.sources,
        case.recipe,
    )


def share_removed(before: str, after: str) -> int:
    """How many of the words, in percent, stand no longer there; order does not matter."""
    words, left = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    total = words.total()
    return 100 * (words - left).total() // total if total else 0


def _blocks(handbook: str) -> list[str]:
    starts = [match.start() for match in _TOPIC.finditer(handbook)]
    edges = [*starts, len(handbook)]
    return [handbook[start:end] for start, end in pairwise(edges)]


def _ours(case: Case) -> Iterator[tuple[str, str]]:
    for path in case.written.files:
        if case.recipe.writable(path):
            yield path, case.written.text(path) or ""


_CHECKS = (
    _odd,
    _untouched,
    _artefacts,
    _sizes,
    _secrets,
    _planted,
    _dangling,
    _topics,
    _share,
)
