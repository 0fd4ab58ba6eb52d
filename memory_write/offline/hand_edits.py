"""What a person changed in the handbook and the summary by hand, read from the workspace diff.

Added lines are kept under a heading of their own; removed lines stay away, remembered by a digest
only, since the text of what somebody took out has no business in the file. Both are carried from
one edition to the next by that heading.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

KEPT_HEADING = "## Kept as edited by hand"
REMOVED_PREFIX = "- removed by hand, digest "
LINES_MAX = 200
_FILE = re.compile(r"^diff --git a/(.+) b/(.+)$")
_TASK_REFERENCE = re.compile(r"\s*\[Task [\d, Task]+\]\s*$")
_SOURCE = re.compile(r"\s*\(in [^()]{1,80}\)\s*$")
_EMPTIED = re.compile(r"^@@ -\S+ \+0,0 @@")
_STRUCTURE = re.compile(
    r"^(?:#|v1$|scope:|applies_to:|---|`{3,}|- rollout_summaries/|\s*- desc:|\s*- learnings:)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandEdits:
    """Lines that a person wrote, and digests of those they took out."""

    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def allows(self, text: str) -> bool:
        """Whether nobody took this statement out."""
        return digest(text) not in self.removed


def digest(text: str) -> str:
    """A short mark of a statement, the same however its line was decorated."""
    return hashlib.sha256(statement_of(text).lower().encode()).hexdigest()[:12]


def statement_of(line: str) -> str:
    """The statement of a line without bullet, task reference and place."""
    line = line.strip().removeprefix("- ").strip()
    line = _TASK_REFERENCE.sub("", line)
    return _SOURCE.sub("", line).strip()


def carried(text: str, *, heading: str = KEPT_HEADING) -> HandEdits:
    """What earlier editions kept under the heading."""
    kept: list[str] = []
    removed: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("#"):
            inside = line.strip() == heading
        elif inside and line.startswith(REMOVED_PREFIX):
            removed.append(line.removeprefix(REMOVED_PREFIX).strip())
        elif inside and line.startswith("- "):
            kept.append(line[2:].strip())
    return HandEdits(kept=tuple(kept), removed=tuple(removed))


def from_diff(diff_file: str, *, paths: Iterable[str]) -> HandEdits:
    """The edits of these files since the last edition."""
    wanted = frozenset(paths)
    added: dict[str, None] = {}
    removed: dict[str, None] = {}
    inside = fresh = wiped = False
    for line in diff_file.split("\n"):
        file = _FILE.match(line)
        if file:
            inside, fresh, wiped = file.group(2) in wanted, False, False
        elif line.startswith("new file mode"):
            fresh = True
        elif line.startswith("deleted file mode") or _EMPTIED.match(line):
            wiped = True  # a lost file is no wish to forget each of its lines; it is made anew
        elif not inside or line.startswith(("+++", "---", "@@")):
            continue
        elif line.startswith("+") and _own(line[1:], fresh=fresh):
            added[statement_of(line[1:])] = None
        elif line.startswith("-") and not wiped and _own(line[1:], fresh=False):
            removed[digest(line[1:])] = None
    kept = [line for line in added if line and digest(line) not in removed]
    gone = [mark for mark in removed if mark not in {digest(line) for line in added}]
    return HandEdits(kept=tuple(kept[:LINES_MAX]), removed=tuple(gone[:LINES_MAX]))


def joined(earlier: HandEdits, now: HandEdits) -> HandEdits:
    """Both, the newer word winning."""
    added = {digest(line) for line in now.kept}
    kept = [line for line in earlier.kept if digest(line) not in now.removed]
    kept += [line for line in now.kept if line not in kept]
    removed = dict.fromkeys((*earlier.removed, *now.removed))
    return HandEdits(
        kept=tuple(kept[:LINES_MAX]),
        removed=tuple(mark for mark in removed if mark not in added)[-LINES_MAX:],
    )


def _own(line: str, *, fresh: bool) -> bool:
    """Whether a line says something; of a file that is new to the diff only what we never write."""
    if not line.strip() or _STRUCTURE.match(line):
        return False
    return not (fresh and (_TASK_REFERENCE.search(line) or _SOURCE.search(line)))
