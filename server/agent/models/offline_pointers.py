"""Statements of a memory that has a summary and recaps alone, each with the recap that carries it.

Pure. The summary says what still stands; a recap also holds what was replaced since, so it gives
the place to cite and not the statement, unless the summary says nothing of the matter.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.models.offline_recall import SUMMARY, Recalled, from_summary

_POINTER = re.compile(
    r"^- (?:.* \()?(rollout_summaries/[^\s|;]+\.md)(?: — .*)?; thread_id=([0-9a-fA-F-]{36})\)?"
    r"(?: \[\d{4}-\d\d-\d\d: verify\])?$"
)
_SAID = re.compile(
    r'^- the user said: ".*" -> (?P<text>.+?)'
    r"(?: \((?P<kind>[a-z]+); (?P<scope>everywhere|project|as stated)\))?$"
)
_PLACE = re.compile(r"(?: \(in [^()]{1,80}\))?(?: \[\d{4}-\d\d-\d\d: verify\])?$")


def pointers(summary: Sequence[str]) -> Mapping[str, str]:
    """The thread behind each recap that the summary points to; empty where it has a handbook."""
    return {found[1]: found[2] for line in summary if (found := _POINTER.match(line))}


def from_recaps(summary: Sequence[str], search_result: Mapping[str, Any]) -> list[Recalled]:
    """What stands in the summary, cited by the recaps that a search found; else what they say."""
    threads = pointers(summary)
    said: dict[str, Recalled] = {}
    for match in search_result.get("matches", ()):
        path, line = str(match.get("path", "")), match.get("match_line_number")
        found = _SAID.match(str(match.get("content", "")).strip())
        if found is None or not path.startswith("rollout_summaries/") or not isinstance(line, int):
            continue
        ids = (threads[path],) if path in threads else ()
        text = found["text"]
        said[text] = Recalled(text=text, path=path, line=line, cwd="", thread_ids=ids)
    standing = from_summary(summary)
    if not standing:
        return list(said.values())
    return [_cited(one, said) for one in standing]


def citable(found: Sequence[Recalled], summary: Sequence[str]) -> list[Recalled]:
    """What may be cited: of a memory without a handbook, all but the summary."""
    if not pointers(summary):
        return list(found)
    return [one for one in found if one.path != SUMMARY]


def _cited(one: Recalled, said: Mapping[str, Recalled]) -> Recalled:
    source = said.get(_PLACE.sub("", one.text))
    if source is None:
        return one
    return Recalled(
        text=one.text,
        path=source.path,
        line=source.line,
        cwd=one.cwd,
        thread_ids=source.thread_ids,
    )
