"""Makes recalled text inert: data that no reader can take for another voice or for a frame's end.

Pure. Invariant: what comes out holds no delimiter of ours, no role markup, no citation markup and
no invisible character; each line withheld is counted.
"""

import re
import unicodedata
from dataclasses import dataclass

WITHHELD = "[a line was withheld here: it looked like markup that memory never has]"

_ROLES = r"(?:system|developer|assistant|user|tool|human|instructions?|function)"
_VOICES = r"(?:system|developer|assistant)"
_SUSPICIOUS = re.compile(
    rf"""
      ={{3,}}\s*(?:memory_summary|pending_notes)        # a delimiter of the section itself
    | <\s*/?\s*oai-mem-                                # citation markup
    | <\|[^|\n]{{0,64}}\|>                             # markup of chat templates
    | (?<![\w>])<\s*/?\s*{_ROLES}\b[^>\n]{{0,200}}>    # role tags, but no generic type of code
    | \[\s*/?\s*(?:inst|sys)\s*\]|<<\s*/?\s*sys\s*>>  # markup of older chat templates
    | ^\s*\#{{1,6}}\s*{_VOICES}(?:\s+(?:prompt|message|instructions?))?\s*:?\s*$
    | ^\W*{_VOICES}\s+(?:prompt|message|instructions?)\s*:
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INVISIBLE = frozenset({"Cf", "Cc", "Cs", "Co", "Cn"})
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Inert:
    """Text that may stand in a prompt as data."""

    text: str
    withheld: int


def made_inert(text: str) -> Inert:
    """The text without invisible characters, and without lines that pretend to be markup."""
    lines: list[str] = []
    withheld = 0
    for line in _visible(text).split("\n"):
        # Compared in the plain form, so that full-width or ligature spellings are seen through.
        if _SUSPICIOUS.search(unicodedata.normalize("NFKC", line)):
            withheld += 1
            if not lines or lines[-1] != WITHHELD:
                lines.append(WITHHELD)
            continue
        lines.append(line)
    return Inert("\n".join(lines), withheld)


def _visible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    return "".join(char for char in text if char in "\n\t" or not _is_invisible(char))


def _is_invisible(char: str) -> bool:
    # Variation selectors are marks, not format characters, and can hide bytes as well.
    return (
        unicodedata.category(char) in _INVISIBLE
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )
