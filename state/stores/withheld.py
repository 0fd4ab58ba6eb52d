"""Threads that may stand in memory no more, while its files may still hold what they gave.

Invariant: a thread is among them from the commit of its withdrawal on, before anybody hears of that
commit, until a look at the files proved that nothing of it stands there, or it was enabled again.
Changed on the event loop alone; read from any thread.
"""

from collections.abc import Callable, Iterable, Mapping

from state.ids import ThreadId

Marks = Mapping[ThreadId, int]
"""Threads and when each was withdrawn, in a count of this process."""

_NOBODY: Marks = {}


class Withheld:
    """By memory version, whose words are read nowhere."""

    def __init__(self) -> None:
        self._marks: dict[str, Marks] = {}
        self._count = 0
        self._heard: list[Callable[[], None]] = []

    def of(self, version: str) -> Marks:
        """Those of a version; the same object as long as they are the same."""
        return self._marks.get(version, _NOBODY)

    def watch(self, heard: Callable[[], None]) -> None:
        """Call it whenever more or less is withheld."""
        self._heard.append(heard)

    def add(self, thread_id: ThreadId, versions: Iterable[str]) -> None:
        """Its withdrawal was committed."""
        self._count += 1
        mark = self._count
        changed = {one: {**self.of(one), thread_id: mark} for one in versions}
        self._change(changed)

    def give_back(self, thread_id: ThreadId) -> None:
        """It was enabled again."""
        without = {
            version: {one: mark for one, mark in marks.items() if one != thread_id}
            for version, marks in self._marks.items()
            if thread_id in marks
        }
        self._change(without)

    def proved(self, version: str, marks: Marks) -> None:
        """Nothing of these stands in the files; who was withdrawn since stays."""
        now = self.of(version)
        left = {one: mark for one, mark in now.items() if marks.get(one) != mark}
        if len(left) < len(now):
            self._marks[version] = left

    def _change(self, changed: Mapping[str, Marks]) -> None:
        if changed:
            self._marks |= changed
            for heard in self._heard:
                heard()
