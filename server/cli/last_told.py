"""What the newest threads were told of memory, from their transcripts; for `memoryd doctor`."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from server.agent.memory_told import MemoryReport
from server.cli.render import NOT_TOLD, count
from state.errors import StateError
from state.home import Home
from state.rollouts.history import read_history

THREADS_MAX = 5
FILES_MAX = 50
"""Transcripts that are looked into; imported ones were told nothing here and are passed over."""
FILE_BYTES_MAX = 8 << 20


def last_told(home: Home) -> Sequence[MemoryReport]:
    """The reports of the newest threads that had a turn here, the newest first; blocks on files."""
    found: list[MemoryReport] = []
    for path in _newest(home.sessions):
        report = _report(path)
        if report is not None:
            found.append(report)
        if len(found) == THREADS_MAX:
            break
    return found


def told_line(reports: Sequence[MemoryReport]) -> str:
    """How many of them were told of memory, and why others were not."""
    told = sum(one.injected for one in reports)
    reasons = Counter(one.reason or "" for one in reports if not one.injected)
    why = ", ".join(
        f"{number} not ({NOT_TOLD.get(reason, reason)})" for reason, number in reasons.most_common()
    )
    line = f"{told} of the last {count(len(reports), 'thread')} told of it"
    return f"{line}; {why}" if why else line


def _newest(folder: Path) -> Iterator[Path]:
    """Their files, which are named by the time of their start, below folders of year to day."""
    looked_into = 0
    for parent, folders, names in os.walk(folder):
        folders.sort(reverse=True)
        for name in sorted(names, reverse=True):
            if looked_into == FILES_MAX:
                return
            if name.endswith(".jsonl"):
                looked_into += 1
                yield Path(parent, name)


def _report(path: Path) -> MemoryReport | None:
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            return None
        return MemoryReport.read((read_history(path).context or {}).get("memory"))
    except (OSError, StateError):  # the thread itself says so when it is used
        return None
