"""What of memory stands in the section: corrections, summary, doubts, notes, each in its frame.

Pure. Invariant: every text inside a frame is inert and within its budget; a correction stands above
the lines it contradicts, and those lines stand nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_read.dating import LEGEND, Confirmations, dated
from memory_read.inert import made_inert, with_closed_fence
from memory_read.snapshot import PendingNote
from memory_read.standing import MARKS, Standing
from state.policy.budget import cut_at_lines, estimate_tokens
from state.policy.corrections import read_correction
from state.workspace.layout import NOTES, SUMMARY

NOTES_TOKENS_MAX = 600
"""Of corrections and notes together."""
LOOKED_AT_FACTOR = 8
"""So many budgets of a summary are looked at; what is behind can stand in no section."""
FENCE_TOKENS = 16
"""Room for the end of a code fence."""
BEGINS = "========= MEMORY_SUMMARY BEGINS ========="
ENDS = "========= MEMORY_SUMMARY ENDS ========="
NOTES_BEGIN = "========= PENDING_NOTES BEGIN ========="
NOTES_END = "========= PENDING_NOTES END ========="
CORRECTIONS_BEGIN = "========= USER_CORRECTIONS BEGIN ========="
CORRECTIONS_END = "========= USER_CORRECTIONS END ========="

_NOTHING = MARKS | {""}
_CORRECTIONS_HEAD = (
    "The user corrected the following since the summary was made. It holds against every other "
    "line of memory, however often that one was used:"
)
_NOTES_HEAD = (
    "The user asked to remember, correct or forget the following since the summary was made. "
    "Where a note and the summary differ, the note is right:"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What is read of memory for one section."""

    summary: str | None
    notes: Sequence[PendingNote] = ()
    """Those that are pending, by name."""
    standing: Standing
    confirmations: Confirmations | None = None
    """None where no line is dated."""
    now_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Framed:
    """The text of memory with its frames, and what became of its lines."""

    text: str
    summary: str
    """What stands in the frame of the summary; empty without one."""
    notes: int
    """Notes that are shown, corrections among them."""
    corrections: int
    withheld: int
    invisible: int
    marked: int
    """Lines that carry the day of their last confirmation."""


@dataclass(slots=True)
class _Losses:
    withheld: int = 0
    invisible: int = 0


def framed(memory: Recalled, *, tokens_max: int, doubts: str = "") -> Framed:
    """The frames; `doubts` is told below the summary."""
    losses = _Losses()
    corrections, others = _split(memory)
    top, shown, left = _block(
        _CORRECTIONS_HEAD,
        (CORRECTIONS_BEGIN, CORRECTIONS_END),
        corrections,
        NOTES_TOKENS_MAX,
        losses,
        rest="older corrections did not fit here; their notes hold too.",
    )
    summary, marked = _summary(memory, tokens_max, losses)
    bottom, noted, _ = _block(
        _NOTES_HEAD,
        (NOTES_BEGIN, NOTES_END),
        others,
        left,
        losses,
        rest="older notes did not fit here.",
    )
    middle = f"{BEGINS}\n{summary}\n{ENDS}\n" if summary else "No summary has been made yet.\n"
    legend = f"{LEGEND}\n" if marked else ""
    return Framed(
        text=(f"{top}\n" if top else "")
        + middle
        + legend
        + doubts
        + (f"\n{bottom}" if bottom else ""),
        summary=summary,
        notes=shown + noted,
        corrections=shown,
        withheld=losses.withheld,
        invisible=losses.invisible,
        marked=marked,
    )


def _summary(memory: Recalled, tokens_max: int, losses: _Losses) -> tuple[str, int]:
    if memory.summary is None:
        return "", 0
    text = cut_at_lines(memory.summary.strip(), tokens_max=LOOKED_AT_FACTOR * tokens_max)
    inert = made_inert(memory.standing.cleaned(text, path=SUMMARY))
    losses.withheld += inert.withheld
    losses.invisible += inert.invisible
    text, marked = inert.text, 0
    if memory.confirmations is not None:
        found = dated(text, memory.confirmations, now_ms=memory.now_ms)
        text, marked = found.text, found.marked
    return _fitting(text, tokens_max), marked


def _fitting(text: str, tokens_max: int) -> str:
    """The lines that fit, none of them behind a code fence that stays open."""
    kept = with_closed_fence(cut_at_lines(text, tokens_max=tokens_max))
    if estimate_tokens(kept) > tokens_max:
        kept = with_closed_fence(cut_at_lines(text, tokens_max=tokens_max - FENCE_TOKENS))
    return kept


def _split(memory: Recalled) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Corrections and other notes, each as a heading and what of its text stands."""
    corrections: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for note in memory.notes:
        path = NOTES if memory.standing.hides(note.path) else note.path
        correction = read_correction(note.text)
        text = note.text if correction is None else correction.new
        text = memory.standing.cleaned(text, path=note.path)
        if all(line.strip() in _NOTHING for line in text.split("\n")):
            continue  # it asked for nothing else than what was done with it
        if correction is None:
            others.append((path, text))
        else:
            corrections.append((f"{correction.target} ({path})", text))
    return corrections, others


def _block(
    head: str,
    frame: tuple[str, str],
    texts: Sequence[tuple[str, str]],
    tokens_max: int,
    losses: _Losses,
    *,
    rest: str,
) -> tuple[str, int, int]:
    """The newest that fit, in their order; with it how many they are and the tokens left."""
    kept: list[str] = []
    left = tokens_max
    for heading, text in reversed(texts):
        inert = made_inert(text.strip())
        cut = _fitting(inert.text, NOTES_TOKENS_MAX // 2)
        shown = f"{heading}:\n{cut}"
        if estimate_tokens(shown) > left:
            break
        left -= estimate_tokens(shown)
        kept.append(shown)
        losses.withheld += inert.withheld
        losses.invisible += inert.invisible
    lines = [head, frame[0], *reversed(kept), frame[1]] if kept else []
    if len(kept) < len(texts):
        lines.append(f"{len(texts) - len(kept)} {rest}")
    return ("\n".join(lines) + "\n" if lines else ""), len(kept), left
