"""Which threads a folder's recaps stand for, and which of them a text cites; pure.

Invariant: a recap says itself, in its first lines, which thread it comes from; names are never
taken apart to find that out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory_write.phase2.inputs import recap_path, render_recap
from state.ids import ThreadId
from state.stores.editions import EditionInputs
from state.stores.outputs import SelectedOutput
from state.workspace.layout import RECAPS, summary_stem
from state.workspace.snapshot import Snapshot

STEM_CHARS = 24
"""Time and four characters of the id: enough to know a recap's name by, with most ids."""
_HEADER = re.compile(r"\Athread_id: (\S+)\n")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CITED_THREAD = re.compile(rf"\bthread_id\s*[=:]\s*`?<?({_UUID})\b", re.IGNORECASE)
_CITED_PATH = re.compile(rf"\b{RECAPS}/([^\s()\[\]<>`'\"|,;]+?\.md)\b")
_CITED_NAME = re.compile(
    r"(?<![\w/-])(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9A-Za-z]{4}(?:-[a-z0-9_]{1,60})?\.md)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The threads behind a set of recaps, and how to find them by a recap's name."""

    by_name: Mapping[str, ThreadId]
    texts: Mapping[ThreadId, bytes]

    @property
    def thread_ids(self) -> frozenset[ThreadId]:
        """All of them."""
        return frozenset(self.texts)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Threads that are inputs no more, recognised by id and by the names their recaps had."""

    thread_ids: frozenset[ThreadId]
    names: Mapping[str, ThreadId] = field(default_factory=dict)

    def named(self, cited: "Cited") -> frozenset[ThreadId]:
        """Those that a text cites."""
        stems = {summary_stem(one, 0, None): one for one in self.thread_ids} if cited.names else {}
        by_name = {self.names.get(name) or stems.get(name[:STEM_CHARS]) for name in cited.names} - {
            None
        }
        return frozenset(one for one in {*by_name, *cited.thread_ids} if one in self.thread_ids)


@dataclass(frozen=True, slots=True)
class Cited:
    """What a text names as its sources."""

    names: frozenset[str]
    thread_ids: frozenset[ThreadId]

    def threads(self, sources: Sources) -> frozenset[ThreadId]:
        """The threads that are cited, by id or by a recap's name."""
        by_name = {sources.by_name[name] for name in self.names if name in sources.by_name}
        return frozenset(by_name) | self.thread_ids


def published_sources(snapshot: Snapshot) -> Sources:
    """The threads whose recaps stand in a folder."""
    by_name: dict[str, ThreadId] = {}
    texts: dict[ThreadId, bytes] = {}
    for path, file in snapshot.below(RECAPS).items():
        header = _HEADER.match(file.data[:200].decode(errors="replace"))
        if header is None:
            continue
        thread_id = ThreadId(header[1])
        by_name[path.removeprefix(f"{RECAPS}/")] = thread_id
        texts[thread_id] = file.data
    return Sources(by_name=by_name, texts=texts)


def selected_sources(selection: Sequence[SelectedOutput]) -> Sources:
    """The threads of a selection."""
    return Sources(
        by_name={
            recap_path(one).removeprefix(f"{RECAPS}/"): one.output.thread_id for one in selection
        },
        texts={one.output.thread_id: render_recap(one).encode() for one in selection},
    )


def compare_sources(before: Sources, after: Sources) -> EditionInputs:
    """Which threads came, changed and went."""
    both = before.thread_ids & after.thread_ids
    return EditionInputs(
        added=tuple(sorted(after.thread_ids - before.thread_ids)),
        changed=tuple(sorted(one for one in both if before.texts[one] != after.texts[one])),
        removed=tuple(sorted(before.thread_ids - after.thread_ids)),
    )


def cited_in(text: str) -> Cited:
    """The recaps and threads that a text names."""
    names = {*_CITED_PATH.findall(text), *_CITED_NAME.findall(text)}
    ids = {ThreadId(found.lower()) for found in _CITED_THREAD.findall(text)}
    return Cited(frozenset(names), frozenset(ids))
