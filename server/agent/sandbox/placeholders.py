"""Empty folders that stand where a command must not make anything, as long as it runs.

A mount needs something to be laid on, and a name that is taken cannot be made. Invariant: a folder
goes with the last command that needs it, and only if it was made here and is still empty.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from threading import Lock

MODE = 0o755


class Placeholders:
    """Those of this server; may be used from any thread."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._lock = Lock()

    def hold(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Make them; those that stand now. Where none can be made, no command can make one."""
        held = []
        with self._lock:
            for path in paths:
                try:
                    os.mkdir(path, MODE)
                except FileExistsError:
                    # Another command's, or somebody made it this very moment, and it is theirs.
                    if path not in self._held:
                        continue
                except OSError:
                    continue
                self._held[path] += 1
                held.append(path)
        return tuple(held)

    def let_go(self, paths: Sequence[str]) -> None:
        """A command that needed them has ended."""
        with self._lock:
            for path in paths:
                self._held[path] -= 1
                if self._held[path] <= 0:
                    del self._held[path]
                    with contextlib.suppress(OSError):
                        os.rmdir(path)
