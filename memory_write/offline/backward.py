"""Statements that only point at the one before: `Goes for all my repos`, `In Zukunft immer so`.

Pure. Such a statement says nothing new by itself; it says that what stands before it lasts, and
sometimes where.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

from memory_write.offline.judge import masked
from memory_write.offline.sentences import bare

WORDS_MAX = 10
SIGNS_MAX = 14
CONTENT_MAX = 1
_POINTS = re.compile(
    r"^(?:(?:and|so|und|also|bitte|y|et|please|like i said|again|generally|in general|btw)[\s,]+)*"
    r"(?:that|that's|thats|this|it|it's|same|goes|applies|holds|those|these|always like that"
    r"|das|dies|gilt|so|immer so|in zukunft|künftig|genauso|gleiches|dasselbe|überall"
    r"|ça|c'est|cela|pareil|idem|valable|ainsi|on l'a|on fait|vaut|toujours comme ça|même chose"
    r"|partout"
    r"|eso|esto|lo|así|vale|igual|siempre así|lo mismo|es)\b"
    r"|^(?:这|都|以后都|以后也|同样|一样|所有项目|其他)"
)
_EMPTY = re.compile(
    r"\b(?:that'?s?|this|it'?s?|is|are|was|the|a|an|my|our|your|i|we|you|me|us|for|in|on|of|with|to"
    r"|and|so|also|as|how|what|goes?|applies|holds?|counts?|true|same|like|liked?|want|do|does|work"
    r"|works|agreed|decided|settled|talked|rule|rules|policy|habit|convention|standard|way|general"
    r"|generally|always|everywhere|every|each|all|any|other|others|project|projects|repo|repos"
    r"|repository|repositories|code|codebase|team|everyone|everything|things?|future|from|now|on"
    r"|here|too|well|just|please|by|at|not|only|one|ones|script|scripts|file|files|time|else|once"
    r"|anything|write|own|publish|maintain|keep|let's|have|has|been|prefer|need|expect"
    r"|das|dies|gilt|so|für|alle[nrs]?|meine?[nrs]?|unsere?[nrs]?|immer|bitte|in|zukunft|künftig"
    r"|überall|genauso|gleiche[sn]?|ist|hier|auch|projekte?n?|repos?|bei|mir|uns|und|wie|ich|es"
    r"|mag|haben|wir|besprochen|vereinbart|abgesprochen|beschlossen|ausgemacht|im|team|mit|dem"
    r"|der|den|die|jede[smnr]?|übrigens|generell|ganz|allgemein|sonst|gewohnt|will|möchte"
    r"|qu'on|ça|c'est|cela|est|ce|pareil|vaut|pour|ainsi|ce|que|publie|écris|fais|suite"
    r"|tout le temps|temps|tous|toutes|tout|mes|mon|ma|nos|notre|toujours|comme"
    r"|partout|projets?|dépôts?|je|on|a|l'a|le|la|les|de|du|des|décidé|convenu|dit|règle|habitude"
    r"|avec|l'équipe|équipe|aime|préfère|veux|général|dans|et|ici|valable|aussi|même|chose|fait"
    r"|eso|esto|es|lo|así|vale|para|todos?|todas?|mis?|nuestr[oa]s?|siempre|en|el|los|las"
    r"|proyectos?"
    r"|repos|y|con|acordamos|acordado|decidimos|hablamos|hemos|quedamos|equipo|norma|regla|igual"
    r"|que|me|gusta|quiero|mismo|general|aquí|hacemos|por|favor|del?)\b"
)
_NOTHING_MORE = re.compile(r"^(?:no|not|nicht|pas|sin|sans|ohne)\b")
_WIDE = re.compile(
    r"\b(?:all (?:of )?my|(?:every|any|each|all) (?:\w+ )?(?:that )?i (?:have|write|own|make|run)"
    r"|tout ce que je"
    r"|todo lo que (?:yo )?\w+o|in welchem repo|in jedem (?:repo|projekt)|alles,? was ich"
    r"|every (?:repo|project)|(?:any|all) (?:other )?(?:repos|projects)"
    r"|in general|generally|everywhere|anywhere i|alle[nr]? meine\w*|bei all meinen|generell"
    r"|grundsätzlich|in allen (?:projekten|repos)|für alle (?:projekte|repos)|tous mes|en général"
    r"|tous les (?:projets|dépôts)|todos mis|en general|todos los (?:proyectos|repos))\b"
    r"|所有(?:的)?(?:项目|仓库)|我的项目都"
)
_LASTS = re.compile(
    r"\b(?:always|everywhere|all|every|each|general|generally|rules?|policy|convention|habit"
    r"|standard|agreed|decided|settled|goes|applies|holds?|counts|future|now on|how (?:i|we)"
    r"|what (?:i|we)|what's|same|immer|überall|gilt|zukunft|künftig|jede\w*|alle\w*|regel"
    r"|vereinbart|besprochen|abgesprochen|beschlossen|generell|grundsätzlich|allgemein|wir|mag"
    r"|genauso|toujours|partout|tous|toutes|vaut|valable|règle|habitude|décidé|convenu|pareil"
    r"|général|j'aime|je préfère|on fait|siempre|todos|todas|vale|acordamos|acordado|decidimos"
    r"|quedamos|norma|regla|hacemos|igual|general|me gusta)\b"
    r"|以后|都|一样|同样|规矩|规定|约定|习惯|所有"
)
_AGREED = re.compile(
    r"\b(?:agreed|decided|settled|vereinbart|abgesprochen|beschlossen|besprochen|décidé|convenu"
    r"|acordamos|acordado|decidimos|quedamos|hablamos)\b"
)
_OF_MINE = re.compile(
    r"\b(?:all (?:of )?my (?:repos|projects|scripts|code|work)|(?:any|every|all) (?:repos?"
    r"|projects?)"
    r"(?: of mine| i \w+)|(?:every|any|each) (?:\w+ )?i (?:have|write|own|make|run)"
    r"|(?:anything|everything) (?:you|i) (?:write|make|do)|whatever (?:the )?(?:repo|project)"
    r"|in welchem (?:repo|projekt)\w*|in (?:allen|all) meinen \w+|alle[nr]? meine\w* \w+"
    r"|bei allem,? was ich|tous mes (?:projets|dépôts|scripts)|toutes mes \w+|tout ce que j\w+"
    r"|tod[oa]s mis (?:proyectos|repos|scripts)|todo lo que (?:hago|escribo|publico)"
    r"|cualquier (?:proyecto|informe|repo))\b"
    r"|我(?:的)?所有(?:的)?(?:项目|仓库|脚本)|我的[^，。]{1,5}都"
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CHINESE_EMPTY = re.compile(
    r"这|那|都|以后|也|同样|一样|所有|项目|其他|其它|仓库|是|我|们|的|规矩|规定|习惯|约定|这样|如此|来|做|照"
    r"|适用|一直|里|上|就|对|在|团队|组|大家|说好|定|了|统一|按|条|个|样|吧|要|请|和|跟|商量|好"
)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+")


def points_back(statement: str) -> bool:
    """Whether a statement only speaks of the one before it."""
    core = masked(bare(statement)).strip(" .!。！…")
    if not _POINTS.match(core) or _NOTHING_MORE.match(core) or core.endswith(("?", "？")):
        return False
    if _CHINESE.search(core):
        rest = re.sub(r"[\s,，、]", "", _CHINESE_EMPTY.sub("", core))
        return len(core) <= SIGNS_MAX and len(rest) <= 1 and bool(_LASTS.search(core))
    words = _TOKEN.findall(core)
    content = [word for word in words if not _EMPTY.fullmatch(word)]
    most = CONTENT_MAX + bool(_AGREED.search(core))
    return 2 <= len(words) <= WORDS_MAX and len(content) <= most and bool(_LASTS.search(core))


def holds_for_all(statement: str) -> bool:
    """Whether a statement says of itself that it holds for all that its user does."""
    return bool(_OF_MINE.search(masked(statement)))


def widens(statement: str) -> bool:
    """Whether it says that what stands before it holds for all projects."""
    return bool(_WIDE.search(masked(statement)))
