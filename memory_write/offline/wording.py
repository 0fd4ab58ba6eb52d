"""How a kept statement is worded in memory: about the user, in one line, with its own words.

Only the front of an English sentence is turned from `I` to `the user`, and what people put around
a statement while they talk (`wait,`, `one thing:`, `btw`, `lol`) goes; the rest stays as typed, so
that it can be searched for by the words that were used.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re

_IRREGULAR = {
    "am": "is", "'m": "is", "have": "has", "'ve": "has", "do": "does", "don't": "doesn't",
    "do not": "does not", "go": "goes", "can't": "cannot", "cannot": "cannot", "would": "would",
    "'d": "would", "can": "can", "never": "never", "always": "always", "will": "will",
    "'ll": "will", "chose": "chose", "grew": "grew", "went": "went", "was": "was",
    "got": "got", "had": "had", "saw": "saw", "did": "did", "found": "found", "made": "made",
    "understood": "understood", "thought": "thought", "knew": "knew", "heard": "heard",
    "wrote": "wrote", "said": "said", "told": "told", "took": "took", "came": "came",
    "gave": "gave", "kept": "kept", "left": "left", "lost": "lost", "ran": "ran", "sent": "sent",
}  # fmt: skip
_ADVERBS = (
    "really strongly usually generally normally mostly mainly typically also still always never "
    "definitely personally only just currently ever"
).split()
_FIRST = re.compile(
    r"^(?P<front>(?:[^,]{1,40}, )?)(?:i|I)(?P<rest>'m|'ve|'d|'ll| )(?P<more>.*)$", re.DOTALL
)
_OPENERS = re.compile(
    r"^(?:(?:oh|ah|uh|um|hm+)(?:,? no)?|ok(?:ay)?|well|wait|btw|by the way|one (?:more )?thing"
    r"|another thing|in general|also|ach(?: ja)?|übrigens|noch (?:et)?was(?: grundsätzliches)?"
    r"|eins noch|eso|(?:una|otra) cosa|por cierto|oye|bueno|vale|(?:une|autre) chose|au fait|bon"
    r"|euh|对了?|嗯|哦|好的?|还有)\s?[,:，：]\s*(?=\S+\s+\S|[^\x00-\x7f]{4})",
    re.IGNORECASE,
)
_ASIDES = re.compile(
    r",?\s(?:btw|lol|ha(?:ha)+|ja(?:ja)+|mdr|xd|[:;]-?[)DP])(?=\s*[,;.!?。，]|\s*$)", re.IGNORECASE
)
_CJK_END = re.compile(r"[\u3040-\u30ff\u3400-\u9fff][\"'`”’)）]*$")
_JOINED = re.compile(r"\b(and|or|but) (use|live|write|prefer|work|like|want|speak|hate|think)\b")
_VERB = re.compile(r"^(do not|[a-z]+(?:'t)?)\b(.*)$", re.DOTALL)


def worded(text: str) -> str:
    """The line that memory shows for a statement."""
    line = re.sub(r"\s+", " ", text.replace("’", "'")).strip().strip("\"'")
    line = _ASIDES.sub("", _OPENERS.sub("", line)) or line
    first = _FIRST.match(line)
    if first:
        line = first.group("front") + _third_person(
            first.group("rest").strip(), first.group("more")
        )
    line = re.sub(r"\b[Mm]y\b", "the user's", line)
    line = line[:1].upper() + line[1:]
    if line[-1:] in ".!?…。！？":
        return line
    return f"{line}。" if _CJK_END.search(line) else f"{line}."


def _third_person(contracted: str, more: str) -> str:
    subject = "the user"
    if contracted:
        return f"{subject} {_IRREGULAR[contracted]} {more.strip()}"
    adverbs: list[str] = []
    rest = more.strip()
    while (head := rest.split(" ", 1))[0] in _ADVERBS and len(head) == 2:
        adverbs.append(head[0])
        rest = head[1]
    verb = _VERB.match(rest)
    if verb is None:
        return f"{subject} {more.strip()}"
    tail = _JOINED.sub(lambda found: f"{found.group(1)} {_s(found.group(2))}", verb.group(2))
    return " ".join([subject, *adverbs, _s(verb.group(1))]) + tail


def _s(verb: str) -> str:
    """The third person of a verb in the present."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ed") and verb not in ("need", "feed", "heed", "speed"):
        return verb
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
