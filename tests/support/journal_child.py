"""Tells a journal of modes without end and prints the number of each line that is on the disk.

Run as: python journal_child.py PATH. It is ended by kill -9.
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from state.clock import SystemClock
from state.journal import Journal


def main(path: Path) -> None:
    """One line at a time."""
    journal = Journal.open(path, SystemClock())
    for number in itertools.count():
        thread_id = f"00000000-0000-7000-8000-{number % 5:012}"
        journal.append([{"what": "mode", "thread_id": thread_id, "mode": "disabled"}])
        print(journal.sequence, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
