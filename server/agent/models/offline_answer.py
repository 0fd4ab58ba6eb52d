"""What the offline responder does next and how it words its answer. Pure.

Invariant: every answer says what gave it, and cites the lines it repeats; it never claims to have
done anything but look into memory or leave a note.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_write.hand_lines import group_name
from memory_write.offline.asked import holds_secret_to_remember, to_forget, to_remember
from memory_write.offline.terms import shown_words
from server.agent.models.offline_pointers import citable, from_recaps, pointers
from server.agent.models.offline_ranked import QUERY_CHARS_MAX, TOOL, from_ranked
from server.agent.models.offline_recall import (
    HANDBOOK,
    WINDOW_LINES,
    Recalled,
    best,
    from_handbook,
    from_notes,
    from_summary,
    is_cut,
    queries,
    subject,
    window,
)
from server.agent.models.offline_request import Asked

IAM = "I am memoryd's offline responder, not a language model."
LINES_MAX = 4_000
NOTE_CHARS_MAX = 2_000
SMALL_TALK_WORDS_MAX = 8
_WORD = re.compile(r"\w+")
_SMALL_TALK = frozenset(
    "hello hi hey hallo hola bonjour salut good morning evening afternoon thanks thank you so much "
    "a lot ok okay great perfect nice bye cheers there danke gracias merci".split()
)
_QUESTION = re.compile(
    r"\?\s*$|^(?:what|how|which|who|where|when|why|do|does|is|are|can|should|tell me|was|wie|wo"
    r"|qué|cómo|quel|comment)\b",
    re.IGNORECASE,
)
_UNSAFE_NOTE = re.compile(r"[\[\]|<>\n\r]")


@dataclass(frozen=True, slots=True)
class Call:
    """Call a memory tool first."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this text."""

    text: str


def next_step(asked: Asked, *, stamp: str) -> Call | Answer:
    """The next thing to do; `stamp` is the time as note files are named by it."""
    if not asked.text:
        return Answer(f"{IAM} There was no text to answer.")
    wishes = (*to_remember(asked.text), *to_forget(asked.text))
    if wishes:
        return _keep(asked, wishes, stamp)
    if holds_secret_to_remember(asked.text):
        return Answer(
            f"{IAM} I did not save that: it looks like a secret, and secrets are not kept."
        )
    if words := _WORD.findall(asked.text.lower()):
        if len(words) <= SMALL_TALK_WORDS_MAX and all(word in _SMALL_TALK for word in words):
            return Answer(f"{IAM} Ask me what you want to know from memory.")
    return _recall(asked)


def _keep(asked: Asked, wishes: Sequence[str], stamp: str) -> Call | Answer:
    done = asked.result("add_ad_hoc_note")
    listed = "\n".join(f"- {wish}" for wish in wishes)
    if done is not None:
        if done.value is not None:
            return Answer(
                f"{IAM} I left a note, which holds for new threads and is worked into memory by "
                f"the next consolidation:\n{listed}"
            )
        return Answer(f"{IAM} The note could not be saved: {done.output.strip()[:300]}")
    if "add_ad_hoc_note" not in asked.tools:
        return Answer(
            f"{IAM} No memory tool is offered in this thread, so I left no note. What you "
            f"said stands in this thread, and is learned from it if the thread may become memory:\n"
            f"{listed}"
        )
    note = "\n".join(wishes)[:NOTE_CHARS_MAX]
    arguments = {"filename": f"{stamp}-{_slug(note)}.md", "note": f"{note}\n"}
    return Call("add_ad_hoc_note", json.dumps(arguments, ensure_ascii=False))


def _slug(note: str) -> str:
    """A file name part that two different notes of one second do not share."""
    words = re.sub(r"[^a-z0-9]+", "-", "-".join(shown_words(note, count_max=4))).strip("-")
    mark = hashlib.sha256(note.encode()).hexdigest()[:6]
    return f"{words[:60].strip('-')}-{mark}" if words else mark


def _recall(asked: Asked) -> Call | Answer:
    """From what was stated; where that has no answer, from the best of all that memory holds."""
    found = _stated(asked)
    if isinstance(found, Call):
        return found
    if not found and TOOL in asked.tools and subject(asked.text):
        ranked = asked.result(TOOL)
        if ranked is None:
            query = {"query": asked.text[:QUERY_CHARS_MAX]}
            return Call(TOOL, json.dumps(query, ensure_ascii=False))
        found = from_ranked(asked.text, ranked.value or {})
    return Answer(_answer(asked, found))


def _stated(asked: Asked) -> Call | list[Recalled]:
    wanted = subject(asked.text)
    searched = asked.result("search")
    pages = [one for one in asked.results if one.name == "read"]
    candidates: list[Recalled] = []
    if "search" in asked.tools and "read" in asked.tools:
        if wanted and searched is None:
            looked_for = {"queries": list(queries(asked.text)), "case_sensitive": False}
            return Call("search", json.dumps(looked_for, ensure_ascii=False))
        found = searched.value if searched is not None else None
        if pointers(asked.summary):
            noted = from_notes(found or {})
            known = from_recaps(asked.summary, found or {})
            return best(asked.text, [*noted, *known], cwd=asked.cwd)
        if not pages and (not wanted or (found is not None and found.get("matches"))):
            return _read(1, LINES_MAX)
        if len(pages) == 1 and found is not None and is_cut(pages[0].value or {}):
            start = window(found, asked.text)
            if start is not None:
                return _read(start, WINDOW_LINES)
        candidates += from_notes(found or {})
        for page in pages:
            candidates += _statements(page.value or {})
    if not candidates:
        candidates = from_summary(asked.summary)
    return best(asked.text, candidates, cwd=asked.cwd)


def _read(line: int, lines: int) -> Call:
    return Call("read", json.dumps({"path": HANDBOOK, "line_offset": line, "max_lines": lines}))


def _statements(page: Mapping[str, Any]) -> list[Recalled]:
    first = page.get("start_line_number")
    return from_handbook(
        str(page.get("content", "")), first_line=first if isinstance(first, int) else 1
    )


def _answer(asked: Asked, found: Sequence[Recalled]) -> str:
    is_question = bool(_QUESTION.search(asked.text.strip()))
    if not found:
        rest = "" if is_question else ", and I cannot do the task itself"
        return (
            f"{IAM} I found nothing about this in memory{rest}. "
            "With a model provider configured, a model would answer here."
        )
    known = found[0].stated
    what = "This is what I remember about it:" if known else "Memory has this about it:"
    lines = [f"{IAM} {what}", *(_line(one) for one in found)]
    if not is_question:
        lines += ["", "I cannot do the task itself; a model with this memory would start from it."]
    cited = citable(found, asked.summary)
    return "\n".join(lines) + (f"\n\n{citation(cited)}" if cited else "")


def _line(one: Recalled) -> str:
    name = group_name(one.cwd) if one.cwd.startswith(("/", "\\")) or ":" in one.cwd else ""
    where = f" (stated in {name})" if name and name.lower() not in one.text.lower() else ""
    return f"- {one.text}{where}"


def citation(found: Sequence[Recalled]) -> str:
    """The one citation block of an answer."""
    entries = [
        f"{one.path}:{one.line}-{one.last_line or one.line}|note=[{_note(one)}]" for one in found
    ]
    ids = dict.fromkeys(thread for one in found for thread in one.thread_ids)
    return "\n".join(
        (
            "<oai-mem-citation>",
            "<citation_entries>",
            *entries,
            "</citation_entries>",
            "<rollout_ids>",
            *ids,
            "</rollout_ids>",
            "</oai-mem-citation>",
        )
    )


def _note(one: Recalled) -> str:
    plain = _UNSAFE_NOTE.sub(" ", one.text)
    short = plain if len(plain) <= 60 else plain[:60].rsplit(" ", 1)[0] + " …"
    said = " ".join(short.split())
    return f"stated by the user: {said}" if one.stated else said
