"""Finds the remembered statements that answer a question: plain weighted overlap of words.

Pure. Every statement keeps its file, line and threads, so that an answer can cite what it used.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from memory_write.offline.judge import language
from memory_write.offline.terms import shown_words, stem, terms, words

HANDBOOK = "MEMORY.md"
SUMMARY = "memory_summary.md"
NOTES = "extensions/ad_hoc/notes/"
ANSWERS_MAX = 5
OVERVIEW_MAX = 10
QUERIES_MAX = 12
WINDOW_LINES = 160
BEST_SHARE_MIN = 0.6
GENERIC_WEIGHT = 0.4
_THREAD = re.compile(r"\bthread_id=([0-9a-fA-F-]{36})\b")
_TASK = re.compile(r"^## Task (\d+)\b")
_REFERENCES = re.compile(r"\s*\[(Task \d+(?:, Task \d+)*)\]\s*$")
_APPLIES = re.compile(r"^applies_to: cwd=([^;]*);")
_HERE = re.compile(
    r"\b(?:here|this (?:repo|repository|project|code ?base)|hier|aquí|ici)\b|这里|这个项目",
    re.IGNORECASE,
)
_CUT = re.compile(r"…\d+ (?:tokens|chars) truncated…")
# Words of a question that say nothing about its subject, beyond those that carry no meaning at all.
_ABOUT = frozenset(
    "habit habits know about me tell memory remember here project repo please style convention "
    "rule preference like kind sort anything something everything current question again usual "
    "repository codebase answer mind keep what who how choose".split()
)
GENERIC = frozenset(
    "run write work name add show start set put check build do go read file".split()
)
_WIDER_FORMS: Mapping[str, tuple[str, ...]] = {
    "english": ("british", "american", "spell", "australian"),
    "spell": ("british", "american", "english"),
    "language": ("english", "german", "french", "spanish", "chinese", "python", "typescript"),
    "temperature": ("celsius", "fahrenheit"),
    "unit": ("celsius", "fahrenheit", "metric", "imperial"),
    "weather": ("celsius", "fahrenheit", "live"),
    "home": ("live",),
    "city": ("live",),
    "country": ("live",),
    "location": ("live",),
    "indent": ("tab", "space"),
    "indentation": ("tab", "space"),
    "db": ("postgres", "mysql", "sqlite"),
    "install": ("npm", "pnpm", "yarn", "uv", "pip", "poetry"),
    "package": ("npm", "pnpm", "yarn", "uv", "pip", "poetry"),
    "length": ("line", "paragraph", "short", "long"),
    "long": ("line", "paragraph", "short", "shorter"),
    "type": ("hint",),
    "git": ("commit", "branch", "merge", "rebase"),
    "style": ("hint", "line", "paragraph"),
    "heading": ("title",),
    "name": ("call", "heiße"),
    "heiße": ("call", "name", "nenn", "nenne"),
    "heißt": ("call", "name"),
    "verzeichnis": ("ordner",),
}
_GERMAN_ABOUT = frozenset(
    "wie was wer wo wann warum welche welcher welches welchen soll sollen sollte wird werden muss "
    "kann den dem des es er sie mir mich dir dich bei aus du man hat habe mein meine mag".split()
)
_GERMAN_ENDINGS = ("ungen", "ung", "en", "er", "es", "st", "te", "e", "n", "s", "t")
_PART_CHARS_MIN = 4
# What these words mean is said by the word before them: an API key is no BibTeX key.
_HEADS = frozenset(map(stem, "key token secret password address id account code".split()))
_WIDER = {stem(word): tuple(map(stem, others)) for word, others in _WIDER_FORMS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One remembered statement and where it stands."""

    text: str
    path: str
    line: int
    cwd: str
    thread_ids: tuple[str, ...] = ()
    last_line: int | None = None
    """Where it stands over several lines."""
    stated: bool = True
    """Whether the user is known to have said it."""


def subject(question: str) -> frozenset[str]:
    """The words that a question is about; empty when it is about the user as a whole."""
    about = _ABOUT | _GERMAN_ABOUT if _is_german(question) else _ABOUT
    return frozenset(term for term in terms(question) if term not in about)


def _is_german(question: str) -> bool:
    return language(question).name == "german"


def _root(word: str) -> str:
    """A German word without its ending."""
    for ending in _GERMAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _PART_CHARS_MIN:
            return word.removesuffix(ending)
    return word


def _alike(term: str, said: Iterable[str]) -> str | None:
    """The said word that is a form of a German one, or a part of the same compound."""
    root = _root(term)
    for other in sorted(said):
        short, long = sorted((root, _root(other)), key=len)
        if short == long:
            return other
        if len(short) >= _PART_CHARS_MIN and (long.startswith(short) or long.endswith(short)):
            return other
    return None


def widened(term: str) -> frozenset[str]:
    """Other words that answer a question for this one."""
    return frozenset(_WIDER.get(term, ()))


def _without_foreign_heads(question: str, wanted: frozenset[str], said: frozenset[str]) -> set[str]:
    """The wanted words but for heads whose qualifier the statement does not have."""
    ordered = words(question)
    foreign = {
        head
        for qualifier, head in pairwise(ordered)
        if head in _HEADS and qualifier in wanted - GENERIC and qualifier not in said
    }
    return set(wanted - foreign)


def queries(question: str) -> tuple[str, ...]:
    """Texts to search for literally: stems, which find their longer forms, and what they widen to.

    A word is asked for as typed too where its stem is no beginning of it.
    """
    wanted = subject(question)
    typed = [word for word in shown_words(question, count_max=40) if stem(word) in wanted]
    odd = [word for word in typed if not word.startswith(stem(word))]
    wider = {other for term in wanted for other in _WIDER.get(term, ())}
    special = sorted(wanted - GENERIC, key=lambda term: (-len(term), term))
    parts: list[str] = []
    if _is_german(question):
        parts = [part for term in special for part in (_root(term), term[:_PART_CHARS_MIN])]
    every = (*special, *odd, *parts, *sorted(wanted & GENERIC), *sorted(wider - wanted))
    return tuple(dict.fromkeys(every))[:QUERIES_MAX]


def from_handbook(content: str, *, first_line: int) -> list[Recalled]:
    """The statements of a handbook, with the threads that their tasks cite."""
    found: list[Recalled] = []
    waiting: list[tuple[Recalled, str]] = []
    threads: dict[str, tuple[str, ...]] = {}
    cwd, section, task = "", "", ""
    for number, line in enumerate(content.split("\n"), first_line):
        if _CUT.search(line):
            break  # behind a cut the line numbers are not known
        if line.startswith("# "):
            found += [_cited(one, names, threads) for one, names in waiting]
            waiting, threads, cwd, section, task = [], {}, "", "", ""
        elif applies := _APPLIES.match(line):
            cwd = applies.group(1).strip()
        elif opened := _TASK.match(line):
            section, task = "task", opened.group(1)
        elif line.startswith("## "):
            section = "statements"
        elif section == "task" and line.startswith("- "):
            threads[task] = (*threads.get(task, ()), *_THREAD.findall(line))
        elif section == "statements" and line.startswith("- "):
            references = _REFERENCES.search(line)
            text = _REFERENCES.sub("", line)[2:].strip()
            if not text.startswith("removed by hand"):
                one = Recalled(text=text, path=HANDBOOK, line=number, cwd=cwd)
                waiting.append((one, references.group(1) if references else ""))
    return found + [_cited(one, names, threads) for one, names in waiting]


def _cited(one: Recalled, references: str, threads: Mapping[str, tuple[str, ...]]) -> Recalled:
    ids = [thread for task in re.findall(r"\d+", references) for thread in threads.get(task, ())]
    return replace(one, thread_ids=tuple(dict.fromkeys(ids)))


def is_cut(page: Mapping[str, Any]) -> bool:
    """Whether a page of the handbook lacks some of its lines."""
    return bool(page.get("truncated")) or bool(_CUT.search(str(page.get("content", ""))))


def window(search_result: Mapping[str, Any], question: str) -> int | None:
    """The first line to read of a handbook too long to be read whole: around its best hit."""
    wanted = subject(question)
    hits = [
        (len(wanted & terms(str(match.get("content", "")))), -int(match["match_line_number"]))
        for match in search_result.get("matches", ())
        if match.get("path") == HANDBOOK
        and isinstance(match.get("match_line_number"), int)
        and _REFERENCES.search(str(match.get("content", "")))
    ]
    return max(1, -max(hits)[1] - WINDOW_LINES // 2) if hits else None


def from_summary(lines: Sequence[str]) -> list[Recalled]:
    """The statements of the injected summary, without its index of topics."""
    found: list[Recalled] = []
    for number, line in enumerate(lines, 1):
        if line.strip() == "## What's in Memory":
            break
        if line.startswith("- "):
            found.append(Recalled(text=line[2:].strip(), path=SUMMARY, line=number, cwd=""))
    return found


def from_notes(search_result: Mapping[str, Any]) -> list[Recalled]:
    """Lines of notes that a search found; they are in force before they are worked in."""
    found: list[Recalled] = []
    for match in search_result.get("matches", ()):
        path, number = str(match.get("path", "")), match.get("match_line_number")
        text = str(match.get("content", "")).strip().removeprefix("- ")
        if path.startswith(NOTES) and isinstance(number, int) and not text.startswith("#"):
            found.append(Recalled(text=text, path=path, line=number, cwd=""))
    return found


def best(question: str, candidates: Iterable[Recalled], *, cwd: str) -> list[Recalled]:
    """The statements that answer the question best, the best first."""
    known = [(one, terms(one.text)) for one in candidates]
    wanted = subject(question)
    if not wanted:
        return [one for one, _ in known][:OVERVIEW_MAX]
    common = Counter(term for _, said in known for term in said)
    german = _is_german(question)
    scored = [
        (
            _score(
                frozenset(_without_foreign_heads(question, wanted, said)),
                said,
                common,
                one,
                cwd,
                german=german,
            ),
            one,
        )
        for one, said in known
    ]
    scored = [(score, one) for score, one in scored if score > 0]
    if _HERE.search(question) and any(_is_here(one, cwd) for _, one in scored):
        scored = [(score, one) for score, one in scored if _is_here(one, cwd)]
    scored.sort(key=lambda pair: (-pair[0], pair[1].path, pair[1].line))
    least = scored[0][0] * BEST_SHARE_MIN if scored else 0.0
    chosen: dict[str, Recalled] = {}
    for score, one in scored:
        if score >= least:
            chosen.setdefault(one.text.removesuffix("[ad-hoc note]").strip(), one)
    return list(chosen.values())[:ANSWERS_MAX]


def _is_here(one: Recalled, cwd: str) -> bool:
    """Whether a statement is of the project that is asked in; unplaced ones hold anywhere."""
    return one.cwd in ("", cwd) or cwd.startswith(f"{one.cwd.rstrip('/')}/")


def _score(
    wanted: frozenset[str],
    said: frozenset[str],
    common: Mapping[str, int],
    one: Recalled,
    cwd: str,
    *,
    german: bool,
) -> float:
    """Words in common, rare ones weighing more; only generic ones count for little."""
    specific = bool(wanted - GENERIC)
    score = 0.0
    hit = False
    for term in wanted:
        weight = GENERIC_WEIGHT if term in GENERIC else 1.0
        if term in said:
            score += weight * (1 + 1 / common[term])
            hit = hit or term not in GENERIC
            continue
        wider = [other for other in _WIDER.get(term, ()) if other in said]
        if wider:
            score += 0.7 * weight * (1 + 1 / common[wider[0]])
            hit = True
        elif german and (other := _alike(term, said)):
            score += 0.7 * weight * (1 + 1 / common[other])
            hit = True
    if specific and not hit:
        return 0.0
    if score and cwd and one.cwd:
        score += 0.5 if _is_here(one, cwd) else -0.2
    return score
