"""Which files of a memory folder ranked search looks into, and their units as rows.

Invariant: no word of a secret gets into a row, and no file of an inbox that is not memory yet.
"""

from collections.abc import Iterator, Sequence

from memory_read.units import Unit
from memory_read.wording import stems
from state.policy.redaction import redact
from state.stores.search import UnitRow, noted_headings, pressed
from state.workspace.layout import DIFF_FILE, EXTENSIONS, HANDBOOK, NOTES, RESTORED, SUMMARY
from state.workspace.passages import mark_of


def is_searched(path: str) -> bool:
    """Markdown, of extensions notes and restored memory: the rest of an inbox is no memory yet."""
    if not path.endswith(".md") or path == DIFF_FILE:
        return False
    return not path.startswith(f"{EXTENSIONS}/") or path.startswith((f"{NOTES}/", f"{RESTORED}/"))


def first_ones(path: str) -> tuple[int, str]:
    """What is looked for most is indexed first."""
    return (0 if path in (SUMMARY, HANDBOOK) or path.startswith(NOTES) else 1, path)


def chunks_of(units: Sequence[Unit], most: int) -> Iterator[Sequence[Unit]]:
    for start in range(0, len(units), most):
        yield units[start : start + most]


def rows_of(units: Sequence[Unit], data: bytes) -> list[UnitRow]:
    """Units as rows, their secrets masked before a word of them is taken."""
    rows = []
    around = {text: pressed(stems(redact(text))) for text in {unit.around for unit in units}}
    for unit in units:
        said = stems(redact(unit.text))
        rows.append(
            UnitRow(
                begin_byte=unit.span.begin,
                end_byte=unit.span.end,
                first_line=unit.first_line,
                last_line=unit.last_line,
                mark=mark_of(data[unit.span.begin : unit.span.end]),
                headings=noted_headings(
                    (one.begin, one.end, mark_of(data[one.begin : one.end]))
                    for one in unit.headings
                ),
                at_ms=unit.at_ms,
                threads=" ".join(unit.thread_ids),
                cwd=redact(unit.cwd),
                heading_stems=around[unit.around],
                stems=pressed(said),
                length=len(said),
            )
        )
    return rows
