"""The note by which a person corrects memory: what it corrects, what no longer holds, what does.

Pure. One form for whoever writes it, reads memory with it, or works it in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

_HEAD = re.compile(r"^# Correction of (\S[^\n]{0,300})$")
_OLD = "Forget: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person put right."""

    target: str
    """The place that was corrected, as a person named it."""
    old: tuple[str, ...]
    """The statements that no longer hold."""
    new: str


def correction_text(target: str, old: Iterable[str], new: str) -> str:
    """The note, as a consolidator and a person read it; the new words stand as they were given."""
    lines = [f"{_OLD}{' '.join(line.split())}" for line in old]
    return "\n".join([f"# Correction of {target}", "", *lines, "", new])


def read_correction(text: str) -> Correction | None:
    """The correction that a note is; None when it is another note."""
    lines = text.split("\n")
    found = _HEAD.match(lines[0].strip())
    if found is None:
        return None
    body = [line for line in lines[1:] if line.strip()]
    old = tuple(takewhile(lambda line: line.startswith(_OLD), body))
    if not old:
        return None
    rest = lines[lines.index(old[-1]) + 1 :]
    return Correction(
        target=found[1],
        old=tuple(line.removeprefix(_OLD).strip() for line in old),
        new="\n".join(rest).strip("\n"),
    )
