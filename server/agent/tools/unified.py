"""Unified diffs of two texts, with a bound on the work. Pure.

Invariant: the diff of two texts turns the one into the other, whatever they are; where a fine diff
would take too long it is a coarse one.
"""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

CONTEXT = 3
WORK_MAX = 4_000_000
"""About how many comparisons of lines a fine diff may need."""
NO_NEWLINE = "\\ No newline at end of file\n"

Opcode = tuple[str, int, int, int, int]


def hunks(before: str, after: str) -> str:
    """The hunks that turn one text into the other; empty when they are equal."""
    old, new = _lines(before), _lines(after)
    parts: list[str] = []
    for group in _grouped(_opcodes(old, new)):
        parts.append(_header(group))
        for tag, a, b, c, d in group:
            if tag == "equal":
                parts.extend(_told(" ", line) for line in old[a:b])
                continue
            parts.extend(_told("-", line) for line in old[a:b])
            parts.extend(_told("+", line) for line in new[c:d])
    return "".join(parts)


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as for git."""
    lines = text.split("\n")
    whole = [f"{line}\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole


def _told(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}"


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """What is equal and what is not, from front to back."""
    front = 0
    while front < min(len(old), len(new)) and old[front] == new[front]:
        front += 1
    back = 0
    while back < min(len(old), len(new)) - front and old[-1 - back] == new[-1 - back]:
        back += 1
    a, b = old[front : len(old) - back], new[front : len(new) - back]
    found: list[Opcode] = [("equal", 0, front, 0, front)] if front else []
    found += [
        (tag, i + front, j + front, k + front, m + front) for tag, i, j, k, m in _middle(a, b)
    ]
    if back:
        found.append(("equal", len(old) - back, len(old), len(new) - back, len(new)))
    return found


def _middle(a: Sequence[str], b: Sequence[str]) -> list[Opcode]:
    if not a and not b:
        return []
    counts = Counter(b)
    if sum(counts[line] for line in a) > WORK_MAX or not a or not b:
        return [("replace", 0, len(a), 0, len(b))]
    return list(difflib.SequenceMatcher(None, a, b, autojunk=len(b) > 10_000).get_opcodes())


def _grouped(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Changes with their context, those near each other together."""
    group: list[Opcode] = []
    for index, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        is_last = index == len(opcodes) - 1
        if not group:
            if not is_last:
                start = max(0, b - a - CONTEXT)
                group.append((tag, a + start, b, c + start, d))
        elif is_last or b - a > 2 * CONTEXT:
            end = min(CONTEXT, b - a)
            yield [*group, (tag, a, a + end, c, c + end)]
            start = max(0, b - a - CONTEXT)
            group = [] if is_last else [(tag, a + start, b, c + start, d)]
        else:
            group.append((tag, a, b, c, d))
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _header(group: Sequence[Opcode]) -> str:
    old = _range(group[0][1], group[-1][2])
    new = _range(group[0][3], group[-1][4])
    return f"@@ -{old} +{new} @@\n"


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
