"""Typed text cut into statements, without what the user only showed: code, quotes, logs, markup.

Invariant: every statement is a contiguous piece of the typed text, so that it can be quoted as
evidence. Work is linear in the text, and both the text and the number of statements are bounded.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from itertools import pairwise

from memory_write.offline.asked_again import kept

TEXT_CHARS_MAX = 20_000
STATEMENTS_MAX = 200
STATEMENT_CHARS_MAX = 400
WIDTH_MIN = 60
"""In characters; what is shorter was not broken to a width."""

_FENCE = re.compile(r"^\s*(```|~~~)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]{0,60})(?:\s[^<>]{0,200})?>")
_ANNOUNCES_PASTE = re.compile(
    r"(?:\b(?:here(?:'s| is| are)|this is|see|got|get|gives?|says?|said|shows?|prints?|output|logs?"
    r"|error|trace\w*|stack|events?|console|readme|contents?|file|config|snippet|below|following"
    r"|past(?:e|es|ed|ing)|copied|quot(?:e|es|ed|ing)|wrote|writes|reads?|states?|runbook|wiki"
    r"|datasheet|manual|docs?|e-?mail|mail|message|report(?:ed|s)?|context|dump"
    r"|hier (?:ist|sind|kommt)|sagt|schreibt|schrieb|steht|stand|lautet|handbuch|anleitung|auszug"
    r"|ausgabe|protokoll|fehlermeldung|rückmeldung|aus de[mr]|meldung|zitat"
    r"|aquí está|dice|dijo|escribió|escribe|pone|ponía|correo|guía|extracto|salida|registro"
    r"|mensaje|pego|pega|documentación"
    r"|voici|dit|écrit|extrait|notice|journal|sortie|courriel|doc|consigne|message d'erreur)\b"
    r"[^:\n]{0,80}|(?:写|说|贴|粘贴|日志|文档|说明书|备注|报错|内容|如下|输出|原文|转发"
    r"|一行)[^::\n]{0,20})"
    r"[:：]\s*$",
    re.IGNORECASE,
)
_SHOWN_LINE = re.compile(
    r"""^\s*(?:
        >                                     # a quoted line
      | (?:\$|%|>>>|\.\.\.|PS>|C:\\.*>)\s       # a shell or interpreter prompt
      | \#{1,6}\s                             # a heading
      | \|.*\|\s*$                            # a table row
      | [-+]{3}\s | @@\s | diff\s--git\b       # a diff
      | \[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d       # a log line with its date
      | \[?\d\d:\d\d:\d\d[\s,.\]]              # a log line with its time
      | [VDIWEF]\s\(\d+\)\s | [VDIWEF]/[\w.-]+[(:]  # a log line of a device
      | \[[A-Z][A-Z_ -]{3,30}\]:?\s            # a log line with its level in brackets
      | \w{3}\s+\d+\s\d\d:\d\d:\d\d\s
      | (?:HINT|DETAIL|CONTEXT|STATEMENT|FEHLER|WARNUNG|ERREUR|AVERTISSEMENT|ADVERTENCIA|AVISO
        |DEPRECATED|DEPRECATION|SEVERE|ALERT|EMERG|PANIC|FAIL)\b[:\s]
      | \[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b[\s:\]|-]
      | \w*(?:Error|Exception|Warning):\s      # the last line of a traceback
      | Traceback\s\(most | File\s".*",\sline | \s+at\s.+\(.+\)\s*$
      | [{}\[\]();]+,?\s*$ | "[^"]*"\s*:\s      # JSON and braces
      | (?:def|class|import|from|return|function|const|let|var|public|private|if|for|while)\b
        .*[:;{)]\s*$                          # code without a fence
      | npm\s(?:ERR|WARN) | error\[E\d+\] | =+\s.*\s=+\s*$ | FAILED\s | PASSED\s | E\s{3}
    )""",
    re.VERBOSE,
)
_SHOWN_REST = re.compile(
    r"(?<=\s)(?:HINT|DETAIL|ERROR|WARN|WARNING|FATAL|NOTICE|DEPRECATED|FEHLER|WARNUNG|ERREUR"
    r"|ADVERTENCIA|AVISO):\s.*$"
)
"""What a log said, told in the same line as the user's own words."""
_QUOTES = {"«": "»", "“": "”", "„": "“”", "「": "」", "『": "』"}
_INDENTED = re.compile(r"^(?: {4,}|\t)\S")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# A word that announces, or any word with a number or index, up to a colon.
_LABEL = re.compile(
    r"^(?:(?:note|nb|ps|fyi|rule|fact|hint|tip|todo|reminder|preference|correction|decision|info"
    r"|important|update|hinweis|regel|nota|regla|règle|remarque|注意|备注)"
    r"|[^\W\d_]+(?:\s?[\[(#]\w{1,8}[\])]?|\s\d{1,3}))\s?[:：]\s*",
    re.IGNORECASE,
)
_TRAILING_ASIDE = re.compile(r"\s*(?:\[[^\]]*\]+|\{\{[^}]*\}+)\s*$")
_ENDS = ".!?…"
_WIDE_ENDS = "。！？；"
_ABBREVIATIONS = frozenset(
    {"e.g", "i.e", "etc", "vs", "cf", "mr", "mrs", "ms", "dr", "z.b", "bzw", "ca", "approx"}
)
_OF_SOMEBODY = re.compile(
    r"(?:\w+, )?(?:the|my|our|his|her|their|she|he|they|it|that|this|some|one|nobody)\b",
    re.IGNORECASE,
)
_COMPANY = re.compile(r"\b(?:my|our|the) \w+$", re.IGNORECASE)
_ME = re.compile(r"i\b", re.IGNORECASE)
_SUBJECTLESS = re.compile(r"(?:also|never|always|please|don't|do not)\b", re.IGNORECASE)
# A clause that could stand alone begins after these; the other half may hold a secret or a request.
_CLAUSE = re.compile(
    r"(?:(?:;\s+|\s+[–—]\s+)"
    r"(?!(?:so|therefore|hence|thus|that's why|also (?=nie|immer|bitte|muss)|deshalb|daher|darum"
    r"|donc|du coup|il faut donc|c'est pourquoi|por eso|así que|por lo tanto)\b)|,?\s+(?:and|but"
    r"|und|aber|et|mais|y"
    r"|pero)\s+"
    r"(?=(?:i|i'm|we|my|our|the(?= [\w-]+(?: [\w-]+){0,3} (?:is|are|must|should|may|goes?|has"
    r"|have)\b)|everything else\b|lass\b|lasst\b|please|also|never|always|don't|do not"
    r"|ich|wir|mein|meine|bitte|je|nous|mon|ma|yo|mi|nosotros|usa)\b)"
    r"|,\s+(?=(?:i'm|i am) (?:an? \w+(?:ist|er|ian)\b|not a)|ich bin (?:\w+in\b|keine?\b)"
    r"|je suis (?!sûr|d'accord|en|à)\w+iste|soy \w+[oa]l?[oa]?g[oa])"
    r"|,\s+(?:and|but)\s+(?=[\w-]+(?:\s[\w-]+){0,2}\s(?:must|should|may|are|is)\b))",
    re.IGNORECASE,
)


def statements(text: str) -> tuple[str, ...]:
    """The statements that the user made in their own words, in order."""
    found: list[str] = []
    for paragraph in _own_paragraphs(text[:TEXT_CHARS_MAX]):
        for sentence in _sentences(paragraph):
            for clause in _clauses(sentence):
                if 2 <= len(clause) <= STATEMENT_CHARS_MAX:
                    found.append(clause)
                if len(found) >= STATEMENTS_MAX:
                    return tuple(found)
    return tuple(found)


@kept
def bare(statement: str) -> str:
    """The statement without its label (`Note: …`) and without a bracketed aside at its end."""
    before = None
    while before != statement:
        before = statement
        statement = _TRAILING_ASIDE.sub("", statement).strip()
    label = _LABEL.match(statement)
    if label and label.end() < len(statement) and "//" not in label.group():
        statement = statement[label.end() :].strip()
    return statement


def _own_paragraphs(text: str) -> list[str]:
    """Runs of lines that are the user's own; what was fenced, quoted or pasted ends a run."""
    text = _without_elements(text)
    runs: list[list[str]] = [[]]
    fence: str | None = None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence is not None:
            fence = None if mark and mark.group(1) == fence else fence
            continue
        if mark:
            fence = mark.group(1)
            runs.append([])
        elif not line.strip() or _SHOWN_LINE.match(line) or _INDENTED.match(line):
            runs.append([])
        elif _BULLET.match(line):
            runs.append([_BULLET.sub("", line)])
        else:
            runs[-1].append(_SHOWN_REST.sub("", line).strip())
            if _ANNOUNCES_PASTE.search(line) and not _fence_follows(lines, number):
                break  # what follows was shown, not said, and nothing marks where it ends
    return [piece for run in runs if run for piece in _unwrapped(run)]


def _unwrapped(run: list[str]) -> list[str]:
    """One text of lines that were broken to a width, else each line by itself.

    A line is broken to a width when the next word had not fitted into it.
    """
    width = max(len(line) for line in run)
    broken = width >= WIDTH_MIN and all(
        len(line) + 1 + len(after.split(" ", 1)[0]) > width for line, after in pairwise(run)
    )
    return [" ".join(run)] if broken else run


def _without_elements(text: str) -> str:
    """Leave out each range from `<name>` to the last `</name>` of that name."""
    tags = list(_TAG.finditer(text))
    closes = {tag.group(2): tag.end() for tag in tags if tag.group(1)}
    kept: list[str] = []
    done = 0
    for tag in tags:
        end = closes.get(tag.group(2), 0)
        if not tag.group(1) and tag.start() >= done and end > tag.end():
            kept.append(text[done : tag.start()])
            done = end
    kept.append(text[done:])
    return "\n\n".join(kept)


def _fence_follows(lines: list[str], number: int) -> bool:
    following = next((line for line in lines[number + 1 :] if line.strip()), "")
    return bool(_FENCE.match(following)) or following.lstrip().startswith(">")


def _sentences(paragraph: str) -> list[str]:
    """Cut at sentence ends outside brackets, quotes and code spans."""
    pieces: list[str] = []
    start = depth = 0
    span: str | None = None
    for position, sign in enumerate(paragraph):
        if span is not None:
            span = None if sign == span else span
        elif sign in '`"':
            span = sign if sign in paragraph[position + 1 :] else None
        elif sign in _QUOTES:
            ahead = paragraph[position + 1 :]
            span = next((close for close in _QUOTES[sign] if close in ahead), None)
        elif sign in "[({":
            depth += 1
        elif sign in "])}":
            depth = max(0, depth - 1)
        if span is not None or depth:
            continue
        after = paragraph[position + 1 : position + 2]
        if sign in _WIDE_ENDS or (
            sign in _ENDS
            and (not after or after.isspace())
            and not _abbreviates(paragraph, position)
        ):
            pieces.append(paragraph[start : position + 1].strip())
            start = position + 1
    pieces.append(paragraph[start:].strip())
    return [piece for piece in pieces if piece]


def _abbreviates(paragraph: str, position: int) -> bool:
    word = paragraph[max(0, position - 12) : position].rsplit(None, 1)[-1:]
    return bool(word) and word[0].lower().strip("(") in _ABBREVIATIONS


def _clauses(sentence: str) -> list[str]:
    """The halves of a sentence that joins two that could stand alone."""
    pieces: list[str] = []
    start = 0
    told = _OF_SOMEBODY.match(sentence)
    for cut in _CLAUSE.finditer(sentence):
        if _COMPANY.search(sentence[: cut.start()]) and _ME.match(sentence[cut.end() :]):
            continue  # `how my supervisor and I work`
        if told and _SUBJECTLESS.match(sentence[cut.end() :]):
            continue  # `she hates it and never says why`: the second half has the same subject
        if _balanced(sentence[: cut.start()]):
            pieces.append(sentence[start : cut.start()].strip())
            start = cut.end()
    pieces.append(sentence[start:].strip())
    return [piece for piece in pieces if piece]


def _balanced(text: str) -> bool:
    return (
        text.count('"') % 2 == 0
        and text.count("`") % 2 == 0
        and text.count("[") == text.count("]")
        and text.count("(") <= text.count(")")
    )
