"""What the ranked search `recall` gave for a question that no stored statement answers. Pure.

Such a hit may be a hand-made file, a recap or a skill, so nobody is said to have stated it. A hit
counts only where it has half of what the question is about, headings included: ranked search
always gives something.
"""

import re
from collections.abc import Mapping
from typing import Any

from memory_write.offline.terms import terms
from server.agent.models.offline_recall import GENERIC, Recalled, subject, widened

TOOL = "recall"
QUERY_CHARS_MAX = 1_000
HITS_MAX = 3
SHARE_MIN = 0.5
LINE_CHARS_MAX = 320
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")
_NO_STATEMENT = re.compile(
    r"^\s*(?:#{1,6}\s|```|~~~|\[a line was withheld|\w+(?:_\w+)+[:=]|={3,}|-{3,}\s*$)|thread_id="
)


def from_ranked(question: str, reply: Mapping[str, Any]) -> list[Recalled]:
    """The best hits that are about the question, the best first."""
    wanted = subject(question)
    found: list[Recalled] = []
    results = reply.get("results")
    for hit in results if isinstance(results, list) else ():
        one = _hit(hit, wanted) if isinstance(hit, Mapping) else None
        if one is not None and one.text not in {other.text for other in found}:
            found.append(one)
    return found[:HITS_MAX]


def _hit(hit: Mapping[str, Any], wanted: frozenset[str]) -> Recalled | None:
    path, text, heading = (str(hit.get(key, "")) for key in ("path", "text", "heading"))
    first, last = hit.get("line_start"), hit.get("line_end")
    if not path or not isinstance(first, int) or not isinstance(last, int):
        return None
    lines = [line for line in text.split("\n") if line.strip() and not _NO_STATEMENT.search(line)]
    about = terms(heading)
    scored = [
        (len(_shared(wanted, terms(line) | about)), -place) for place, line in enumerate(lines)
    ]
    if not scored:
        return None
    shared = _shared(wanted, about.union(*(terms(line) for line in lines)))
    special = wanted - GENERIC
    if len(shared) < SHARE_MIN * len(wanted) or (special and not shared & special):
        return None
    line = _BULLET.sub("", lines[-max(scored)[1]]).strip()
    ids = hit.get("thread_ids")
    return Recalled(
        text=line if len(line) <= LINE_CHARS_MAX else f"{line[:LINE_CHARS_MAX].rstrip()} …",
        path=path,
        line=first,
        last_line=last,
        cwd="",
        thread_ids=tuple(str(one) for one in ids) if isinstance(ids, list) else (),
        stated=False,
    )


def _shared(wanted: frozenset[str], said: frozenset[str]) -> set[str]:
    """The wanted words that are there, or one of what they widen to."""
    return {term for term in wanted if term in said or said & widened(term)}
