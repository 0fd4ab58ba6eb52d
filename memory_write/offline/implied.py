"""Corrections that only point: `No, shorter!` after a draft says how the next draft should be.

They are kept in the narrowest form that the words carry: the thing that was asked for, and the one
quality that was missed.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re

_LEAD = re.compile(
    r"^(?:(?:no|nope|hm+|ugh|please|still|way|much|even|a (?:bit|lot)|bit|try|make|it|that|this"
    r"|needs to be|should be|is|that's|it's|far|too|but|nein|bitte|non|plus|más|mais|"
    r"viel|etwas|un peu|不对|太|再)\b[\s,.!]*)*",
)
_QUALITY = re.compile(
    r"^(?P<quality>half (?:as long|the length)|twice as long|warmer|kinder|drier|blunter|shorter"
    r"|longer|simpler|briefer|clearer|smaller|tighter|plainer|friendlier"
    r"|more (?:concise|detail(?:ed)?|formal|casual|precise|direct|technical|specific|readable)"
    r"|less (?:verbose|formal|technical|wordy|detail(?:ed)?|chatty|text)"
    r"|fewer (?:words|emojis|bullets|bullet points|headings|comments)"
    r"|in (?:english|german|french|spanish))"
    r"(?:,? (?:please|and (?:shorter|warmer|simpler|clearer|friendlier|half as long|less \w+))"
    r"| this time| next time)?[.!。！]*$"
)
_TOO = re.compile(
    r"^(?:no,? |nope,? |still )?(?:(?:that|it|this)(?:'s| is| was)|way|far|much|the \w+ is) ?"
    r"(?:still |way |far |much )*too (?P<fault>long|short|wordy|verbose|complicated|complex|formal"
    r"|technical|vague|detailed|casual)[.!]*$"
)
_CURES = {
    "long": "shorter",
    "wordy": "shorter",
    "verbose": "shorter",
    "short": "longer",
    "complicated": "simpler",
    "complex": "simpler",
    "formal": "less formal",
    "casual": "more formal",
    "technical": "less technical",
    "vague": "more specific",
    "detailed": "less detailed",
}
# The same in other languages: what was missed, by the word that says it.
_LEAD_ELSEWHERE = re.compile(
    r"^(?:(?:no|non|nein|nee|bitte|immer noch|noch|viel|etwas|das ist|c'est|encore|toujours|mais"
    r"|un peu"
    r"|es|está|sigue siendo|todavía|por favor|s'il te plaît|muy|beaucoup)(?!\w)[\s,.!]*"
    r"|(?:不行|不对|不|还是|再|请|有点)[\s,，.!。]*)*"
)
_QUALITY_ELSEWHERE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?:{form})(?:[\s,.!。!了]|bitte|por favor|s'il te plaît|请)*$"), quality)
    for form, quality in (
        (
            r"kürzer|knapper|zu (?:lang|ausführlich|viel text)|más (?:corto|corta|breve)"
            r"|demasiado (?:largo|larga|texto)|larg[oa]|plus (?:court|courte|bref|concis)"
            r"|trop (?:long|longue|verbeux|de texte)|(?:简)?短(?:一)?(?:点|些)|精简(?:一)?(?:点|些)"
            r"|简洁(?:一)?(?:点|些)|太(?:长|啰嗦|多)",
            "shorter",
        ),
        (
            r"einfacher|zu kompliziert|más (?:simple|sencillo|sencilla)|demasiado complicad[oa]"
            r"|plus simple|trop (?:compliqué|complexe)|简单(?:一)?(?:点|些)|太复杂",
            "simpler",
        ),
        (
            r"länger|ausführlicher|zu (?:kurz|knapp)|más (?:largo|larga|detallado|detallada)"
            r"|demasiado cort[oa]|plus (?:long|longue|détaillé|détaillée)|trop (?:court|courte)"
            r"|详细(?:一)?(?:点|些)|太短",
            "longer",
        ),
        (
            r"weniger förmlich|lockerer|zu förmlich|menos formal|demasiado formal|moins formel"
            r"|trop formel|太正式|随意(?:一)?(?:点|些)",
            "less formal",
        ),
        (
            r"weniger technisch|zu technisch|menos técnic[oa]|demasiado técnic[oa]|moins technique"
            r"|trop technique|太专业",
            "less technical",
        ),
    )
)
_GERMAN = re.compile(
    r"\b(?:kürzer|knapper|zu (?:lang|ausführlich|viel text|kompliziert|kurz|knapp|förmlich"
    r"|technisch)|einfacher|länger|ausführlicher|weniger (?:förmlich|technisch)|lockerer)\b"
)
# A German correction is kept in German, not as an English sentence with a German half.
_IN_GERMAN = {
    "shorter": "kürzer",
    "simpler": "einfacher",
    "longer": "ausführlicher",
    "less formal": "weniger förmlich",
    "less technical": "weniger technisch",
}
_ENDS = ".!。 "
_ASKED_FOR = re.compile(
    r"\b(?:draft|write|summari[sz]e|describe|explain|compose|prepare|answer|document|translate"
    r"|outline|sketch|word|phrase|rephrase|rewrite|give|make|create|show)\b (?:me )?"
    r"(?:(?:the|a|an|my|our|your|this|that) )?(?P<thing>[\w-]+(?: (?:message|description|summary"
    r"|text|paragraph|notes|title|mail|page))?)"
)


def implied(statement: str, *, asked: str | None) -> str | None:
    """What a pointing correction says about the next time, or None.

    `asked` is what the user typed before the answer that is being corrected; without an answer
    there is nothing to correct.
    """
    if asked is None or len(statement) > 60:
        return None
    core = statement.lower().replace("’", "'").strip()
    quality = _quality(core)
    if quality is None:
        return None
    said = statement.strip().rstrip(_ENDS).replace('"', "")
    if _GERMAN.search(core):
        wanted = _IN_GERMAN.get(quality, quality)
        return f'Bei einer Antwort wie dieser gleich von Anfang an {wanted} ("{said}").'
    return f'When asked for {_thing(asked)}, make it {quality} from the start ("{said}").'


def _quality(core: str) -> str | None:
    too = _TOO.match(core)
    if too:
        return _CURES[too.group("fault")]
    lead = _LEAD.match(core)
    rest = core[lead.end() :] if lead else core
    if not lead or not lead.group():
        # A bare comparative may name anything; `shorter!` alone after an answer is a correction.
        rest = core
    found = _QUALITY.match(rest)
    if found:
        return found.group("quality")
    elsewhere = _LEAD_ELSEWHERE.match(core)
    rest = core[elsewhere.end() :] if elsewhere else core
    return next((word for form, word in _QUALITY_ELSEWHERE if form.match(rest)), None)


def _thing(asked: str) -> str:
    found = _ASKED_FOR.search(asked.lower())
    if found is None or found.group("thing") in {"it", "this", "that", "me", "sure", "up", "how"}:
        return "an answer like that"
    thing = found.group("thing")
    return f"the {thing}"
