"""Makes recalled text inert: data that no reader can take for another voice or for a frame's end.

Pure. Invariant: what comes out holds no delimiter of ours, no role markup, no citation markup, no
hidden text and no invisible character; what goes is counted, and where lines went a mark stands.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

WITHHELD = "[a line was withheld here: it looked like markup that memory never has]"
PAYLOAD_CHARS_MAX = 256
"""A run of so many characters without a blank may hide bytes that nobody reads."""

_ROLES = r"(?:system|developer|assistant|user|tool|human|instructions?|function)"
_VOICES = r"(?:system|developer|assistant)"
_SUSPICIOUS = re.compile(
    rf"""
      ={{3,}}\s*(?:memory_summary|pending_notes|user_corrections)  # delimiters of the section
    | <\s*/?\s*oai-mem-                                # citation markup
    | <\|[^|\n]{{0,64}}\|>                             # markup of chat templates
    | (?<![\w>])<\s*/?\s*{_ROLES}\b[^>\n]{{0,200}}>    # role tags, but no generic type of code
    | \[\s*/?\s*(?:inst|sys)\s*\]|<<\s*/?\s*sys\s*>>  # markup of older chat templates
    | ^\s*\#{{1,6}}\s*{_VOICES}(?:\s+(?:prompt|message|instructions?))?\s*:?\s*$
    | ^\W*{_VOICES}\s+(?:prompt|message|instructions?)\s*:
    # headings of the section itself, under which rules of ours would be forged
    | ^\s*\#{{1,6}}\s*(?:memory|when\ to\ use\ it|what\ lies\ where|quick\ pass|looking\ further
        |how\ far\ to\ trust\ it|citations|changing\ memory)\s*\#*\s*$
    | (?<!\w)<\w{{0,20}}<\s*/?\s*{_ROLES}\b               # one inside another
    | <!--|-->                                         # text that a person does not see
    | ^\s*<\s*/?\s*{_ROLES}\b[^<>\n]{{0,200}}$         # a role tag that ends on another line
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SPLIT_TAG = re.compile(
    rf"<\s*/?\s*oai-mem-|(?<![\w>])<\s*/?\s*{_ROLES}\b[^<>\n]{{0,200}}>|<\|[^|\n]{{0,64}}\|>"
    r"|={3,}\s*(?:memory_summary|pending_notes|user_corrections)",
    re.IGNORECASE,
)
_PAYLOAD = re.compile(rf"[A-Za-z0-9+/=_%\\-]{{{PAYLOAD_CHARS_MAX},}}")
_INVISIBLE = frozenset({"Cf", "Cc", "Cs", "Co", "Cn"})
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_FENCE = re.compile(r" {0,3}(`{3,40}|~{3,40})")


@dataclass(frozen=True, slots=True)
class Inert:
    """Text that may stand in a prompt as data."""

    text: str
    withheld: int
    """Lines that pretended to be markup."""
    invisible: int = 0
    """Characters that nobody sees."""


def made_inert(text: str) -> Inert:
    """The text without invisible characters, and without lines that pretend to be markup."""
    visible, invisible = _visible(text)
    every = visible.split("\n")
    # Compared in the plain form, so that full-width or ligature spellings are seen through.
    gone = _suspects([unicodedata.normalize("NFKC", line) for line in every])
    lines: list[str] = []
    for number, line in enumerate(every):
        if number not in gone:
            lines.append(line)
        elif not lines or lines[-1] != WITHHELD:
            lines.append(WITHHELD)
    return Inert("\n".join(lines), len(gone), invisible)


def with_closed_fence(text: str) -> str:
    """The text with an end to a code fence that it left open, so that it ends with itself."""
    fence = ""
    for line in text.split("\n"):
        if found := _FENCE.match(line):
            mark = found[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip(f" {mark[0]}"):
                fence = ""
    return f"{text}\n{fence}" if fence else text


def _suspects(plain: Sequence[str]) -> set[int]:
    """The numbers of lines to withhold, also where markup runs over the end of one."""
    found = {
        number
        for number, line in enumerate(plain)
        if _SUSPICIOUS.search(line) or (len(line) >= PAYLOAD_CHARS_MAX and _PAYLOAD.search(line))
    }
    for number, (one, other) in enumerate(pairwise(plain)):
        # Only a line that begins such markup can end in the middle of it.
        if "<" not in one and "===" not in one:
            continue
        head = one.rstrip()
        for joint in ("", " "):
            match = _SPLIT_TAG.search(head + joint + other.lstrip(), max(0, len(head) - 220))
            if match and match.start() < len(head) < match.end():
                found |= {number, number + 1}
    return found


def _visible(text: str) -> tuple[str, int]:
    if text.isascii() and text.isprintable():
        return text, 0
    text = _LINE_ENDS.sub("\n", text)
    kept = "".join(char for char in text if char in "\n\t" or not _is_invisible(char))
    return kept, len(text) - len(kept)


def _is_invisible(char: str) -> bool:
    # Variation selectors are marks, not format characters, and can hide bytes as well.
    return (
        unicodedata.category(char) in _INVISIBLE
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )
