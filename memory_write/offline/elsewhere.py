"""What speaks of other people's habits, of times past, of this once, or of a fault seen just now.

Pure. Such a statement may say `always` and `never` and still asks for nothing later. Looked for in
masked, lower-cased text without its openers.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

_FILLER = (
    r"^(?:(?:and|but|so|also|btw|by the way|oh|well|second|first|firstly|secondly|fun fact"
    r"|und|aber|also|übrigens|ach|naja|et|mais|bon|d'ailleurs|au fait|y|pero|por cierto|ah|eh"
    r"|另外|对了|哦|嗯|其实|不过|话说)\b[,，:\s]*){0,3}"
)
_SOMEBODY = re.compile(
    _FILLER + r"(?:"
    # English
    r"(?:the|my|his|her|their|those|these|some|other)(?: [\w-]+)?(?: of the)?"
    r" (?:(?<!the )(?<!my )team|departments?|guys?|folks|people|colleagues?|cow?orkers?|co-workers?"
    r"|flatmates?|roommates?|brother|sister|cousin|friends?|neighbou?rs?|interns?|predecessor"
    r"|professor|dad|mom|mum|wife|husband|uncle|aunt)\b(?!')|[a-z]+ team (?:use|do|want)s?\b"
    # German
    r"|(?:der|die|das|mein\w*|unser\w*|ein|eine|manche)(?: \w+)? (?:kolleg\w+|teamlead\w*|\w*leute"
    r"|nachbar\w*|mitbewohner\w*|freund\w*|bruder|schwester|praktikant\w*|vorgänger\w*|prof\w*"
    r"|schwager|onkel|cousin\w*)\b|(?:mein|meine|unser) \w*kolleg\w+|die (?:vom|von den|aus der"
    r"|aus dem|am zweiten) \w+|(?:im|in dem|in den) (?:forum|foren|tutorial|kurs)\b"
    # French
    r"|(?:les?|la|l'|mon|ma|mes|un|une|nos|certains)\s?(?:\w+ )?(?:collègues?|stagiaires?|gens"
    r"|gars|voisine?s?|coloc\w*|copains?|copines?|frères?|sœurs?|profs?|prédécesseur|cousine?s?"
    r"|beau-frère|mère|père)\b|les? services? (?:achats?|clients?|compta\w*|marketing|commercia\w+"
    r"|juridique|rh|paie|informatique|com\w*)\b|l'équipe d\w+|ceux d\w+|les \w+ disent\b"
    r"|sur (?:le|les) forums?\b"
    # Spanish
    r"|(?:el|la|los|las|mi|mis|un|una|unos)(?: \w+)? (?:compañer\w+|gente|chic[oa]s|tipo"
    r"|vecin[oa]s?"
    r"|cuñad[oa]|herman[oa]s?|amig[oa]s?|becari[oa]s?|profe\w*|colegas?|prim[oa]|novi[oa])\b"
    r"|(?:los|las) de(?:l| la| los)? \w+|el equipo de \w+|el departamento de \w+"
    r"|en (?:el|los) foros?\b|(?:el|la) de \w+ \w+[ae]\b|el ministerio \w+[ae]\b"
    r")"
)
_SOMEBODY_CHINESE = re.compile(
    _FILLER + r"(?:我?(?:妈|爸|同事|室友|师兄|师姐|朋友|老婆|老公|同学|哥|姐|弟|妹)"
    r"|[^，。我你]{0,4}(?:部|那边|那帮人|她们组|他们组|网友|隔壁.{0,2})|老[王李张刘陈周赵吴孙杨]|小[王李张刘陈周赵吴孙杨])"
    r".{0,10}(?:总是|总说|一向|从来|每次|习惯|都[是要爱用]|一直|老是)"
)
_BINDING = re.compile(
    r"\b(?:must|ha(?:s|ve) to|needs? to|should|may|can|can't|cannot|approves?|signs?"
    r"|reviews?|reads?"
    r"|opens?|so|therefore|wants? us|asked|requires?|insists?|decided|we|let|ask"
    r"|muss|müssen|darf|dürfen|deshalb|daher|darum|damit|wir|lesen|prüft|prüfen|braucht|brauchen"
    r"|doit|doivent|faut|peut|peuvent|donc|du coup|valide\w*|relit|relisent|qu'on|nous|pour que|lit"
    r"|lisent"
    r"|deben?|tienen? que|hay que|pueden?|así que|por eso|quieren? que|aprueban?|revisan?|leen?"
    r"|nosotros|para que)\b|所以|必须|我们|咱们|规定|要求我们"
)
_NAMED_HABIT = re.compile(
    r"^[A-ZÀ-Ý][\w'-]+ (?:used to|usually|tends? to|suele|solía"
    r"|avait l'habitude|met toujours|fait toujours|faisait|a toujours|macht (?:das )?immer"
    r"|hat (?:\w+ )?immer|nimmt immer|swears by)\b"
)
_NAMES_NOBODY = re.compile(
    r"^(?:I|We|You|The|They|It|He|She|This|That|Tests?|Commits?|PRs?|Please|And|But|Wir|Ich|Man"
    r"|On|Nous|Se|Yo|Bitte|Code|Names?|[A-Z]{2,})\b"
)
_PAST = re.compile(
    r"\b(?:last (?:year|summer|winter|spring|autumn|quarter)|in (?:19|20)\d\d"
    r"|(?:old|previous|former|last|ex) (?:job|company|employer|gig|workplace|system|firm)"
    r"|letztes (?:jahr|mal)|letzten (?:sommer|winter|herbst)|voriges jahr|im vorjahr"
    r"|(?:alte|frühere|vorige|letzte)[nrms]? (?:firma|job|system|stelle|arbeit\w*|betrieb)"
    r"|l'an (?:dernier|passé)|l'année dernière|(?:ancien|ancienne|précédent|précédente)"
    r" (?:travail|boîte|boulot|poste|équipe|entreprise|système|job|employeur)|avai(?:t|ent)"
    r" l'habitude"
    r"|el año pasado|(?:anterior|antiguo|antigua|viejo) (?:trabajo|empresa|curro|sistema)"
    r"|(?:trabajo|empresa|curro|sistema) (?:anterior|antiguo|antigua|viejo)|solía\w*)\b"
    r"|^i did this before\b|^(?:(?!you\b)\S+ ){1,3}(?<!is )(?<!are )used to (?!be able)"
    r"|去年|前年|上家|前公司|那会儿|那时候|以前(?:公司|那家|在)"
)
_SINCE = re.compile(
    r"\bi(?:'ve| have)? (?:moved|joined|married|retired|graduated)\b"
    r"|\b(?:now|but|since|therefore|so we|never again|here|jetzt|heute|hier|seitdem"
    r"|seither|deshalb|aber"
    r"|maintenant|désormais|ici|je confonds|depuis|donc|mais|ahora|aquí|desde|por eso"
    r"|así que|pero)\b"
    r"|现在|后来|所以|之后|以后|但"
)
_HEAD_CHARS = 45
_DENIES = re.compile(
    r"^(?:\w+[, ]+){0,2}?(?:it(?:'s| is) not (?:like|that)\b|(?:i'?m |i am )?not saying\b"
    r"|es ist (?:\w+ )?nicht so,? dass|(?:das )?(?:heißt|soll) (?:\w+ )?nicht,? dass|no es que\b"
    r"|no (?:digo|estoy diciendo) que|(?:ce n'est|c'est) pas (?:que|comme si)\b"
    r"|(?:je )?(?:ne )?dis pas qu)|^.{0,4}(?:不是说|没说|并非说|不是要)"
)
_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|montag|dienstag|mittwoch"
    r"|donnerstag|freitag|samstag|sonntag|morgen|lundi|mardi|mercredi|jeudi|vendredi|samedi"
    r"|dimanche|demain|lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana)"
)
_ONCE = re.compile(
    rf"\b(?:until|till|before|by|bis|d'ici|jusqu'à|hasta(?: el)?) {_DAY}\b"
    r"|\ble temps d(?:u|e la|e l')\s?\w+|, only (?:there|this one|this time)\b"
    r"|^only (?:for|in|on) (?:this|that|\w+-?\d+)\b|\bfor \w+-\d+ only\b"
    r"|^(?:solo|sólo|nur|seulement|juste) (?:en|para|in|für|bei|dans|pour|sur) (?:est[ea]|diese\w*"
    r"|ce|cette|(?:la |der |die )?(?:tabla|tabelle|figura|abbildung|figure|tableau|table) \d+)"
    r"|本周|这周|今晚|今天(?!起)|周[一二三四五六日天](?:之?前|以前)|只(?:有|在|给)?这[一个张次]"
)
_THING = re.compile(
    _FILLER + r"(?:(?:in particular|en concreto|首先|it's just that|ich finde|i think),? )?"
    r"(?:the|der|die|das|le|la|l'|el|los|las|les|each|every|me gustaría que"
    r"|what i want is|\S*[一-鿿])"
)
_SEEN_NOW = re.compile(
    r"[,，;。.:！!-]\s*(?:(?:but|and|because|weil|aber|denn|porque|pero|parce qu[e']|car|et|mais"
    r"|因为|但) ?)?"
    r"(?:(?:right )?now (?:it|they|the|you|i)\b|it (?:does|doesn't|did|currently)\b|currently\b"
    r"|at the moment|tut (?:er|sie|es)\b|macht (?:er|sie|es)\b|im moment|momentan"
    r"|aktuell\b|gerade\b"
    r"|jetzt (?:ist|steht|springt|verschwindet|sieht|wird|kommt|geht|fehlt|sind)\b|là (?:il|elle|ça"
    r"|ils)\b|actuellement|en ce moment|pour l'instant|maintenant (?:il|elle|ça)\b"
    r"|ahora (?:lo|la|los|las|sale|salen|se|está|mismo|tapa|aparece|queda)\b|actualmente"
    r"|(?:现在|目前)(?:是|会|翻|看|就|点|一|.{0,12}会|.{0,10}不))"
)
_THEN_DO = re.compile(
    r"[,，;]\s*(?:please )?(?:add (?:it|that)|fix (?:it|that|this)|change (?:it|that|ça)"
    r"|corrige\w*(?:-le)?|mach das mal"
    r"|änder\w* das|échale|arregla\w*|改一下|加上|修一下|看一下)\s*$"
)
_SETS = re.compile(
    r"^(?:please |bitte )?(?:make|mach\w*|pon|haz|mets|mettez|poné) (?:the|die|den|das"
    r"|los|las|el|la"
    r"|les|le|l')\s?(?!commit|test|antwort|answer|response|réponse|respuesta)\w+ \S+"
    r".{0,12}(?:and|und|y|et) (?:always|immer|siempre|toujours)\b"
)
_EVER = re.compile(
    r"\b(?:from now on|whenever|every time|in future|ab jetzt|künftig|in zukunft|désormais"
    r"|dorénavant|a partir de ahora|de ahora en adelante|as a rule|rule|regel|règle|regla)\b"
    r"|以后|今后|一律|规矩|规定|记住"
)


def elsewhere(core: str, text: str) -> bool:
    """Whether a statement is about others, the past, this once, or what is wrong right now."""
    head = core[:_HEAD_CHARS]
    first = re.split(r"[,，;；:：。]", core, maxsplit=1)[0]
    if len(first) < 14:
        first = head
    told = _SOMEBODY.match(core) or _SOMEBODY_CHINESE.match(core)
    named = _NAMED_HABIT.match(text) and not _NAMES_NOBODY.match(text)
    if (told or named) and not _BINDING.search(core):
        return True
    if _PAST.search(first[:_HEAD_CHARS]) and not _SINCE.search(core):
        return True
    if _DENIES.search(core) or _ONCE.search(core):
        return True
    if _EVER.search(core):
        return False
    faulty = _SEEN_NOW.search(core) or _THEN_DO.search(core)
    return bool(_SETS.match(core) or (faulty and _THING.match(core)))
