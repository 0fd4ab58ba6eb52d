"""Corrections that only point: `No, shorter!` after a draft says how the next draft should be.

They are kept in the narrowest form that the words carry: the thing that was asked for, and the one
quality that was missed.
"""

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

# ruff: noqa: RUF001  quotes, dashes and marks of other scripts are meant

import re

_LEAD = re.compile(
    r"^(?:(?:no|nope|hm+|ugh|please|still|way|much|even|a (?:bit|lot)|bit|try|make|it|that|this"
    r"|needs to be|should be|is|that's|it's|far|too|but|nein|bitte|non|plus|más|mais|"
    r"viel|etwas|un peu|不对|太|再)\b[\s,.!]*)*",
)
_QUALITY = re.compile(
    r"^(?P<quality>shorter|longer|simpler|briefer|clearer|smaller|tighter|plainer|friendlier"
    r"|more (?:concise|detail(?:ed)?|formal|casual|precise|direct|technical|specific|readable)"
    r"|less (?:verbose|formal|technical|wordy|detail(?:ed)?|chatty|text)"
    r"|fewer (?:words|emojis|bullets|bullet points|headings|comments)"
    r"|kürzer|länger|einfacher|más corto|más corta|court|courte|simple|短一点|简单一点"
    r"|in (?:english|german|french|spanish))"
    r"(?:,? please| this time| next time)?[.!。！]*$"
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
    return f"When asked for {_thing(asked)}, make it {quality} from the start."


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
    return found.group("quality") if found else None


def _thing(asked: str) -> str:
    found = _ASKED_FOR.search(asked.lower())
    if found is None or found.group("thing") in {"it", "this", "that", "me", "sure", "up", "how"}:
        return "an answer like that"
    thing = found.group("thing")
    return f"the {thing}"
