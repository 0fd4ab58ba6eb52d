"""Which statements of a message are the user's own: told by the sentences that stand around them.

Pure. A sentence may say of its neighbour that somebody else said it (`That's what the README
says`), and a message may carry an order to ignore instructions, which no user gives who means it.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re
from collections.abc import Sequence

_SAYS = (
    r"(?:says?|said|states?|stated|claims?|claimed|wrote|writes|reads|recommends?|recommended"
    r"|suggests?|suggested|tells?|told|demands?|demanded|thinks?|thought|believes?|contains?"
    r"|contained|shows?|showed|has|had|told me|wants?|wanted)"
)
_SAGT = (
    r"(?:sagte?|schreibt|schrieb|meinte?|behauptete?|empfiehlt|steht|stand|verlangte?|forderte?"
    r"|glaubte?|denkt)"
)
_OURS = r"(?!(?:i|we)\b|our (?:team|(?:style ?)?guide|rules?|conventions?|policy|handbook)\b)"
_LEAD = r"^[(\[–—-]*\s*(?:(?:well|or|at least|but|and|so|oh|also|ps|btw|ok|okay|nb)\b[\s,:]*)*"
_BACK = re.compile(
    rf"{_LEAD}(?:(?:all )?(?:of )?(?:that|this|it|these|those)(?:'s| is| was| are| were)"
    rf" (?:just |only |exactly |literally |at least )?(?:what|how) {_OURS}.{{1,50}}?\b{_SAYS}\b"
    rf"|(?:is|was|isn't|wasn't) (?:that|this|it) (?:really )?what {_OURS}.{{1,50}}?\b{_SAYS}\b"
    r"|(?:that|this|it|these|those)(?:'s| is| was| are| were) (?:just |only |all )?(?:(?:a |an )?"
    r"(?:quot\w+|copied|pasted|taken|lines?|text|excerpt) )?(?:from|by|in) (?:the|a|an|some|my"
    r"|your|his|her|their)\b.{0,20}\b(?:readme|docs?|page|blog\w*|wiki|file|post|article|mail"
    r"|email|e-mail|colleague|boss|log|issue|ticket|memory|notes?|website|site|comment|forum|pdf)"
    rf"|(?:so|thus) {_SAYS} (?:the|a|my|your|his)\b"
    rf"|{_SAYS} (?:the|my|his|her|their|a|some) [\w ]{{1,30}}[.!)]*$"
    r"|(?:according to|as per|per|source:?|laut|gemäß|quelle:?) (?:(?:the|a|my|your|our|dem|der|den"
    r"|meine[mr]) )?[\w.'/-]+(?: [\w.'/-]+){0,2}(?:, (?:anyway|at least|that is|jedenfalls))?"
    r"[.!)]*$"
    rf"|(?:das|so|dies) (?:ist|war)? ?(?:zumindest |jedenfalls |nur )?(?:das, )?(?:was )?"
    rf"(?!ich\b|wir\b).{{0,40}}?\b{_SAGT}\b(?! (?:ich|wir)\b))",
    re.IGNORECASE,
)
"""Says of what stands before it that somebody else said it."""
_AHEAD = re.compile(
    rf"{_LEAD}(?:(?:here(?:'s| is)|look (?:at )?what|see what|listen to what|guess what|get this"
    rf"|this is what|check out what) {_OURS}.{{0,60}}?\b{_SAYS}\b[^:]{{0,20}}[.!:]*$"
    rf"|(?:the|a|an|my|our|your|some|his|her|their)\b.{{1,40}} {_SAYS} (?:me |us )?(?:this|that"
    r"|the following|so|as follows|something like this|this gem)[.!:]*$"
    rf"|(?:folgendes|das hier|hier) {_SAGT} .{{1,40}}[.!:]*$"
    rf"|(?:der|die|das|im|in der|in dem|mein|meine) .{{1,40}} {_SAGT} (?:folgendes|das|dies|so)"
    r"[.!:]*$)",
    re.IGNORECASE,
)
"""Says the same of what stands behind it."""
_HELD = re.compile(
    rf"\b(?:memory|memories|readme|docs?|wiki|notes?|you|page|file|it|he|she|they)\b.{{0,20}}"
    rf"\b{_SAYS}\b|\b{_SAGT}\b|\b(?:remembered|saved|stored|noted)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"[,;:–—-]?\s*(?:\b(?:but|however|though|and|aber|doch|und)\b,? )?(?:\b(?:it|that|this|which"
    r"|das|es)(?:'s| is| was)?\b )?(?:ist )?\b(?:wrong|not true|untrue|false|outdated|incorrect"
    r"|stale|no longer true|not right|falsch|stimmt nicht|veraltet|nicht wahr)\b"
    r"\s*(?:[,;:.–—-]+|because|since)\s*(?P<own>.{4,})$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"^(?P<front>[^()]{4,}?)\s*\((?P<aside>[^()]{8,})\)[.!]*$")
_INJECTED = re.compile(
    r"(?<!never )(?<!don't )(?<!not )(?:\b(?:ignore|disregard|forget|override|bypass|discard)\b"
    r" (?:(?:[\w-]+ ){0,4}?(?:previous|prior|earlier|above|preceding|system|your|existing|former)"
    r" (?:[\w-]+ ){0,3}?(?:instructions?|prompts?|directives?|rules?|guidelines?|orders?|context)"
    r"|(?:(?:all|any|the|of|other|these|those|every|my) ){0,3}(?:instructions?|prompts?|directives"
    r"|guidelines))\b"
    r"|\b(?:ignoriere?|vergiss|missachte|verwirf)\b (?:[\w-]+ ){0,4}?(?:anweisung\w*|instruktion\w*"
    r"|vorgaben|vorherigen? regeln|systemprompt\w*)\b"
    r"|\b(?:ignorez?|oubliez?) (?:[\w-]+ ){0,3}(?:instructions|consignes)\b"
    r"|\b(?:ignora|olvida) (?:[\w-]+ ){0,3}(?:instrucciones|órdenes)\b"
    r"|(?:忽略|无视|忘记).{0,10}(?:指令|指示|提示词))",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i'd|i've|my|we|our|ich|mein\w*|wir)\b", re.IGNORECASE)


def own(said: Sequence[str]) -> list[str]:
    """The statements without those that a neighbour gives to somebody else."""
    kept: list[str] = []
    skip = False
    for statement in said:
        plain = statement.replace("’", "'")
        if _INJECTED.search(plain):
            break  # whatever stands behind it came with it
        if skip:
            skip = False
            continue
        if plain.startswith("(") or _BACK.match(plain):
            if _BACK.match(plain) and kept:
                _take_back(kept)
            elif _AHEAD.match(plain):
                skip = True
            kept.append(_corrected(plain) or statement)
        elif _AHEAD.match(plain):
            skip = True
        elif aside := _ASIDE.match(plain):
            back = _BACK.match(aside["aside"])
            corrected = _corrected(aside["aside"]) if back else None
            kept += [corrected] if corrected else [] if back else [statement]
        else:
            kept.append(_corrected(plain) or statement)
    return kept


def _take_back(kept: list[str]) -> None:
    """Let go of the last statement, and of those before it that do not speak of the user."""
    kept.pop()
    while kept and not _FIRST_PERSON.search(kept[-1]):
        kept.pop()


def _corrected(statement: str) -> str | None:
    """What the user says instead: `your memory says Rust, but that's wrong: I prefer Go`."""
    wrong = _WRONG.search(statement)
    if wrong is None or not _HELD.search(statement[: wrong.start()]):
        return None
    return wrong["own"].strip().strip("()").strip()
