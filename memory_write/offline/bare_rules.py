"""Conventions told without a verb: `SQL: lower case, one column per line`, `Redis stays`.

Pure. Looks only at what is plain by its shape in any of the languages.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

from memory_write.offline.judge import Judged, hearing, masked
from memory_write.offline.lexicon import Lexicon
from memory_write.offline.sentences import bare

_ITEM = r"[^,，、;:.。!?]{2,40}"
_LISTED = re.compile(
    rf"^(?P<label>[^:：,，]{{2,40}})\s?[:：] ?{_ITEM}(?:[,，、;] ?{_ITEM}){{1,6}}$"
)
_AS_EVER = re.compile(
    r"\b(?:wie gehabt|wie immer|wie üblich|as (?:usual|always|ever|before)|comme (?:d'habitude"
    r"|toujours|avant)|como (?:siempre|de costumbre)|house style|hausstil|conventions?"
    r"|konventionen|convenciones|tech stack|stack)\b|照旧|老规矩|技术栈|规范"
)
_STYLE = re.compile(
    r"\b(?:lower-?case|upper-?case|snake_case|camelcase|kebab-case|trailing commas?|tabs|spaces"
    r"|(?:single|double) quotes|one \w+ per \w+|eine? \w+ pro \w+|une? \w+ par \w+"
    r"|una? \w+ por \w+|kleingeschrieben|großgeschrieben|minuscules?|majuscules?|minúsculas?"
    r"|mayúsculas?|no \w+|keine? \w+|pas de \w+|nada de \w+|sin \w+|sans \w+|ohne \w+)\b"
    r"|不用|不要|小写|大写|缩进|每行"
)
_NEWS = re.compile(
    r"\b(?:today|things?|heute|sachen|dinge|aujourd'hui|choses?|hoy|cosas|bug|errors?|fehler|erreur"
    r"|steps|ideas?|todo|options|problem\w*|results?|found|missing|log|output|ticket)\b|今天|件事"
    r"|问题"
)
_STAYS = re.compile(
    r"^(?!(?:it|that|this|he|she|everything|nothing|das|es|er|sie|alles|nichts|ça|il|elle|tout|rien"
    r"|eso|esto|todo|nada|the \w+ tests?|was)\b)"
    r"(?:(?:and|the|our|die|der|das|den|le|la|les|el|los|las|unsere?|notre|nuestr[ao]) )?"
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,3}? (?:stays?(?:,|$)|reste(?:nt)?(?:,|$)|se quedan?(?:,|$)"
    r"|stays? (?:on|at|with|in|where|as|(?!up|tuned|here|red|green"
    r"|stuck|slow|open|empty|blank|the same)[\w.+#-]+$)"
    r"|bleib(?:t|en)(?: (?:für|bei|als|wie|dabei|drin|bestehen|erhalten|unverändert)\b|,|$)"
    r"|reste(?:nt)? (?!bloqué|roug|vert|vide|coincé|ouvert|fermé|affiché|à faire|gris|noir|blanc"
    r"|du|des|encore|un|une)[\w.+#-]+(?:$|,)"
    r"|siguen? siendo (?!lent|rar|mal|un problema)[\w.+#-]+)"
    r"|^[^，。]{1,12}(?:还是|仍然?用?|继续用) ?[\w.+#-]+[，,] ?不换|^[\w.+# -]{2,20}不换(?:$"
    r"|[，,])|^[^，。了]{1,12}(?:必须|要)保留(?:$|[，,])",
)
_ONLY = re.compile(
    r"^(?:only|nur|uniquement|seulement|solo|sólo|只用|只能用) ?[\w.+-]+(?: [\w.+-]+)?"
    r"[,，] ?(?:or else|otherwise|sonst|sinon|si no|不然|否则)"
    r"|^[\w.+-]+ (?:only|uniquement|exclusivement)(?:$|,)"
)
_REPEATED = re.compile(r"^(?:\w+,? )?(?:i said|ich sagte|j'ai dit|dije|我说)")
"""What the task was limited to is said again."""
_MEANS = re.compile(
    r"^(?:qq|cc)(?: [\w.-]+){0,4} (?:means|heißt|bedeutet|veut dire|signifie|significa|quiere"
    r" decir)\b"
    r"|^(?:报)?(?:qq|cc) ?(?:说明|表示|就是)"
)
_CASE = r"(?:snake_case|camelcase|kebab-case|pascalcase|screaming_snake_case)"
_CASES = re.compile(
    rf"^(?!(?:rename|convert|change|turn|benenn\w*|wandle|renomme|convertis|cambia|renombra"
    rf"|convierte)\b|把)(?!.*(?:\b(?:to|zu|into|a|vers)|成) ?{_CASE}).*{_CASE}.*{_CASE}"
)
_ASKED_ALWAYS = re.compile(
    r"^(?:bitte )?(?:kannst|könntest|würdest) du\b.*\b(?:immer|künftig|ab jetzt|jedes mal|nie)\b"
    r"|^(?:est-ce que )?(?:tu (?:peux|pourrais)|peux-tu|pourrais-tu|pouvez-vous|vous pouvez)\b.*"
    r"\b(?:toujours|désormais|à chaque fois)\b"
    r"|^¿?(?:puedes|podrías|podés)\b.*\b(?:siempre|cada vez|de ahora en adelante)\b"
    r"|^(?:能不能|可不可以|能否|可以)(?:以后|每次|总是)"
)
"""Asks for something each time; a question by its form only."""


def bare_rule(statement: str, hint: Lexicon) -> list[Judged]:
    """The convention that a statement tells by its shape, if any."""
    typed = bare(statement)
    if _ASKED_ALWAYS.match(masked(typed)):
        return [
            Judged(
                text=typed.rstrip(" ?？"),
                kind="preference",
                scope="as stated",
                correction=False,
                explicit=False,
            )
        ]
    heard = hearing(statement, hint)
    if heard is None:
        return []
    core = heard.core
    listed = bool(_LISTED.match(core)) and not _NEWS.search(core)
    styled = listed and bool(_AS_EVER.search(core) or _STYLE.search(core))
    means = bool(_MEANS.search(core))
    only = bool(_ONLY.search(core)) and not _REPEATED.match(masked(typed))
    if not (styled or means or _STAYS.search(core) or only or _CASES.search(core)):
        return []
    return [
        Judged(
            text=heard.text,
            kind="pitfall" if means else "decision",
            scope="project",
            correction=heard.correction,
            explicit=heard.explicit,
        )
    ]
