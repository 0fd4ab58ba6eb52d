"""Names of recaps and threads in what a consolidation wrote: what is no input is left out.

Invariant: a name that is not known never removes a statement; it is taken off and counted. After
this every recap that is named stands in the folder, and every thread is an input.
"""

import re
from collections import Counter
from dataclasses import dataclass

from memory_write.phase2.sources import Sources, cited_in
from state.workspace.layout import RECAPS

_POINTER = re.compile(rf"^\s*(?:[-*+]|\d+[.)])\s+`?(?:{RECAPS}/)?[^\s`()]+\.md`?(?=\s|$|\()")
_THREAD = re.compile(r"[,;]?[ \t]*\bthread_id[ \t]*[=:][ \t]*(`?<?[\w-]+>?`?)", re.IGNORECASE)
_UUID = re.compile(r"`?<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})>?`?", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"[ \t]*\([\s,;]*\)")
_OPENED = re.compile(r"\([ \t]*[,;][ \t]*")
_SECTION = re.compile(r"^#{1,2}\s")


@dataclass(frozen=True, slots=True)
class Tidied:
    """A text whose names all stand for inputs, and how many of which kind were left out."""

    text: str
    ignored: Counter[str]


def tidy_citations(text: str, sources: Sources) -> Tidied:
    """Leave out what names no input, and pointers that stand twice under one task."""
    ignored: Counter[str] = Counter()
    kept: list[str] = []
    seen: set[str] = set()
    for line in text.split("\n"):
        if _SECTION.match(line):
            seen.clear()
        left = _line(line, sources, ignored)
        if left is None:
            continue
        if _POINTER.match(left):
            if left.strip() in seen:
                ignored["duplicate"] += 1
                continue
            seen.add(left.strip())
        kept.append(left)
    return Tidied("\n".join(kept) if ignored else text, ignored)


def _line(line: str, sources: Sources, ignored: Counter[str]) -> str | None:
    """The line without unknown names; None for a pointer to nothing."""
    unknown = cited_in(line).names - sources.by_name.keys()
    if unknown:
        ignored["recap_unknown"] += len(unknown)
        names = cited_in(line).names
        if _POINTER.match(line) and names == unknown and not _says_more(line):
            return None
        for name in sorted(unknown, key=len, reverse=True):
            line = re.sub(rf"`?(?:{RECAPS}/)?{re.escape(name)}`?", "(source unknown)", line)
    before = line
    line = _THREAD.sub(lambda found: _thread(found, sources, ignored), line)
    return line if line == before else _OPENED.sub("(", _EMPTY_BRACKETS.sub("", line)).rstrip()


def _says_more(line: str) -> bool:
    """Whether a pointer carries a sentence, as those of a summary do."""
    return " \u2014 " in line or " \u2013 " in line


def _thread(found: re.Match[str], sources: Sources, ignored: Counter[str]) -> str:
    uuid = _UUID.fullmatch(found[1])
    if uuid is None:
        # In prose the word may well be followed by something else than an id.
        if "=" not in found[0]:
            return found[0]
        ignored["malformed"] += 1
        return ""
    if uuid[1].lower() in sources.thread_ids:
        return found[0]
    ignored["thread_unknown"] += 1
    return ""
