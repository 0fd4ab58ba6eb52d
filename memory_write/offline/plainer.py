"""Takes turns of speech out of a statement that look like a question, a guess or a refusal.

Pure. `I would be grateful if you could` supposes nothing, `do cite` asks nothing. Works on masked,
lower-cased text.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

_TURNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"\b(?:i(?:'d| would) (?:be (?:very )?grateful|appreciate it|like it|be glad) if you"
            r" (?:could|would)?|je vous serais reconnaissante? de|te agradecería que"
            r"|ich wäre (?:dir|ihnen) dankbar,? wenn (?:du|sie))\s?"
        ),
        "please ",
    ),
    (
        re.compile(
            r"^(?:right, |so, )?(?:after thinking (?:about|it over)\b(?: it)?|i'd forgotten"
            r"|on a more general note|nach kurzem nachdenken|après réflexion)\s?[:,]?\s?"
        ),
        "",
    ),
    (re.compile(r"^(?:(?:and|but|so),? )?do (?!you|we|i|they|not|these|those|the|it)(?=\w+ )"), ""),
    (re.compile(r"^were (?=\w+ing\b)"), "we're "),
    (
        re.compile(
            r"^was (?:mich (?:\w+ ){0,2}(?:nervt|stört)|ich (?:dir |ihnen )?noch sagen"
            r" wollte|mir wichtig ist)\s?:?\s?"
        ),
        "",
    ),
    (re.compile(r"\bich sehe gerade\b"), "ich sehe"),
    (re.compile(r"\bkurz (?=in klammern|und knapp|erklär)"), ""),
    (re.compile(r"\bhay (?:una?|otra) (?=cuestión|cosa|regla|norma)"), "una "),
    (re.compile(r"^(?:y |pero )?no hace falta que (?=\w+s\b)"), "no "),
    (re.compile(r"\b(?:or|otherwise|else) it says\b"), "or it fails with"),
    (
        re.compile(
            r"[,，]\s?(?:no need (?:for|to)|i don't care about|j'ai pas besoin d|pas besoin d"
            r"|no hace falta|brauch ich nicht)\b.*$"
        ),
        "",
    ),
)


def plainer(core: str) -> str:
    """The statement without such turns, or as it was where nothing would be left."""
    for turn, instead in _TURNS:
        core = turn.sub(instead, core)
    return core
