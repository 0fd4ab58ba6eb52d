"""Small words that say what a statement is good for, in all languages at once.

Each is one mark of a statement; what it counts for is learned. All are searched in masked,
lower-cased text.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

CUES: dict[str, re.Pattern[str]] = {
    "past": re.compile(
        r"\b(?:used to|back then|in the old days|years ago|early on|at first i|früher|damals"
        r"|vor \w+ jahren|ursprünglich|avant on|autrefois|à l'époque|il y a \w+ ans|au début"
        r"|antes (?:us|ten|hac|lo)\w+|hace \w+ años|al principio|en su día|anterior)\b"
        r"|以前我?们?|早就|当年|原来是|过去"
    ),
    "final": re.compile(
        r"\b(?:final|settled|for good|period|full stop|end of story|that's decided|stays that way"
        r"|endgültig|bleibt so|steht fest|fix|beschlossene sache|définitif|définitivement|acté"
        r"|c'est décidé|décidé|point final|définitivement|definitivo|decidido|queda así|fijo"
        r"|quedó así)\b|定了|不再|就这么|说定|别的都不|不改了"
    ),
    "accepts": re.compile(
        r"^(?:ok[, ]+)?(?:fair (?:point|enough)|good point|you're right|you are right|makes sense"
        r"|true|agreed|convinced|sold|das überzeugt|stimmt|da haben sie recht|da hast du recht"
        r"|einverstanden|überzeugt|leuchtet ein|guter punkt|vous avez raison|tu as raison|d'accord"
        r"|pas faux|c'est vrai|convaincu\w*|cierto|tienes razón|tiene razón|de acuerdo|me convence"
        r"|convencid\w+|buen punto)\b|^(?:也是|有道理|说得对|你说得对|行|那就|确实|同意)"
    ),
    "then": re.compile(
        r"\b(?:then|so we|so it's|let's|dann nehmen|also nehmen|nehmen wir|dann bleib\w+|machen wir"
        r"|alors on|donc on|on part|on prend|va pour|allez|entonces|pues|nos quedamos|vamos con"
        r"|nous retenons|on retient|cogemos|wir nehmen)\b|那就|就用|就放|就按"
    ),
    "otherwise": re.compile(
        r"\b(?:otherwise|or else|or it|or you(?:'ll)? get|or the|else it|without (?:it|that|them"
        r"|the)"
        r"|sonst|ansonsten|andernfalls|sinon|autrement|sans quoi|sans ça|si no|sino|de lo contrario"
        r"|que si no|fails? with|complains?|dies|breaks?|crash\w*|times? out|errors? out|blows up"
        r"|scheitert|bricht|kracht|plante|échoue|casse|falla|revienta|da error|peta)\b"
        r"|不然|否则|要不|报错|就报|会报|找不到|失败"
    ),
    "needs": re.compile(
        r"\b(?:needs?|requires?|have to|has to|must|only works|works with|goes with|braucht"
        r"|benötigt|muss|müssen|nur mit|il faut|faut|nécessite|se lancent?|avec|hace falta"
        r"|hay que|necesita|tienes? que|van? con)\b|必须|需要|得先|要先|要带|要加"
    ),
    "intends": re.compile(
        r"\b(?:i was (?:going|thinking|planning)|i(?:'d| had)? planned|i thought|thinking of"
        r"|i might"
        r"|i may|i intend|i plan|tempted|ich (?:wollte|dachte|überlege|plane)|ich würde|würde ich"
        r"|zunächst|je (?:pensais|comptais|songe|voulais)|je pense|pensaba|pienso|quería"
        r"|tenía pensado|estoy pensando|iba a)\b|我打算|我想|我准备|考虑"
    ),
    "joke": re.compile(
        r"\b(?:lol|haha\w*|hehe\w*|lmao|rofl|jaja\w*|jeje\w*|mdr|ptdr|hihi|xd|no joke"
        r"|just kidding)\b"
        r"|[😀-😂😄😅🤣😉😜]|;\)|哈哈|呵呵|笑死"
    ),
    "approves": re.compile(
        r"^(?:ok(?:ay)?|great|good|nice|perfect|super|cool|sweet|done|works?|looks (?:good|right)"
        r"|yep"
        r"|thanks|prima|passt|läuft|top|gut|danke|parfait|nickel|impeccable|super|merci|ça marche"
        r"|genial|perfecto|vale|gracias|bien|guay)\b|^(?:好|可以|不错|行|对|嗯|方案可以|跑通|谢)"
    ),
    "limit": re.compile(
        r"\b(?:max(?:imum)?|min(?:imum)?|at (?:most|least)|up to|no more than|höchstens|maximal"
        r"|mindestens|au (?:plus|moins|maximum)|como (?:mucho|máximo)|al menos|mínimo|máximo)\b"
        r"|最多|至少|不超过|以内"
    ),
    "all of mine": re.compile(
        r"\b(?:all|any|every|each|whatever|whichever) (?:of )?(?:my|repo|project|script)\w*"
        r"|\b(?:every|all|any|each)\w* (?:\w+ ){0,2}?i (?:have|write|make|own|publish|run"
        r"|maintain)\b"
        r"|\banything (?:you|i) (?:write|make|do|send)|\b(?:for|with) me\b|\bwhen i (?:ask|read)"
        r"|\balle[nrs]? meine|\bin (?:welchem|jedem|allen) (?:repo|projekt)\w*|\bbei mir\b"
        r"|\bmeine\w* \w+ (?:sind|haben)|\btou(?:s|tes) mes\b|\btout ce que je\b|\bchez moi\b"
        r"|\btod[oa]s mis\b|\btodo lo que\b|\bcualquier (?:proyecto|informe|repo)|\ba mí\b"
        r"|我(?:的|所有)[^，。]{0,6}都|我所有|给我的"
    ),
    "asks me": re.compile(
        r"\b(?:ask|tell|show|give|warn|check with|explain|write|answer|talk)(?: to)? (?:me|us)\b"
        r"|\b(?:frag|sag|zeig|gib|erklär|schreib|antwort)\w* (?:sie )?(?:mir|mich)\b|-moi\b"
        r"|\bme (?:demand|mont|expli|propos|répond|parl)\w+|\b(?:dime|dame|muéstrame|explícame"
        r"|respóndeme|háblame|pregúntame|me (?:expliques|propongas|entregue|preguntes|pongas))\b"
        r"|(?:给|问|告诉|跟|对|回答)我"
    ),
    "your words": re.compile(
        r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|explain\w*|summar\w+|messages?|prose"
        r"|intro\w*|apologi\w+|sorry|thank\w*|antwort\w*|erklär\w*|zusammenfass\w*|einleitung\w*"
        r"|floskel\w*|réponses?|explications?|explique\w*|résum\w+|excuse\w*|politesse|respuestas?"
        r"|expli\w+|resum\w+|disculp\w*|texto|bullet\w*|stichpunkt\w*|puces)\b|回答|回复|解释|说明|总结|废话"
    ),
    "talk": re.compile(
        r"\b(?:lectures?|recaps?|jargon|acronyms?|abbreviations|small ?talk|pleasantries|flattery"
        r"|filler|plain (?:words|paragraphs|language|english)|simple (?:words|english)"
        r"|layman\w*|tl;?dr|bluntly|straight (?:out|up)|praise|fachbegriff\w*|fachchinesisch"
        r"|höflichkeit\w*|gerede|sie-form|duz\w*|siez\w*|beim (?:sie|du)"
        r"|récaps?|blabla|tutoi\w*|tutoye\w*|vouvo\w+|droit au but|langage"
        r"|termes? techniques?|rodeos|jerga|tecnicismos|cháchara|tuté\w+|tute\w+|de usted"
        r"|al grano|palabras (?:sencillas|técnicas)|en cristiano)\b"
        r"|原理|结论|客套|啰嗦|术语|黑话|大白话|讲细|语气|称呼|一句话|重点|直说"
    ),
    "asks first": re.compile(
        r"\b(?:plan|proposal|propose|diagnosis|diff|options?|outline) first\b|\bdon't guess\b"
        r"|\bask(?:ing)? (?:me )?(?:first|before)\b|\b(?:before|until|unless|after) (?:you|i)"
        r"(?:'ve)? (?:\w+ )?(?:touch|change|edit|code|start|write|run|do|say|said|ok|approve|nod"
        r"|ask|add|show)\w*|\b(?:wait for|without) (?:my|me|asking)\b|\bmy (?:go|ok|yes|approval)\b"
        r"|\b(?:erst|zuerst|vorher) (?:\w+ ){0,3}(?:plan|vorschl\w+|frag\w*|zeig\w*|tipp)\b"
        r"|\bbevor du\b|\bfrag (?:mich )?(?:vorher|erst|lieber)\b|\bohne (?:mich )?(?:zu )?frag\w*"
        r"|\bavant (?:de|que tu|que vous)\b|\bsans (?:que je|me|mon)\b|\bj'approuve\b"
        r"|\bdemande\w*(?:-moi)? (?:d'abord|avant)\b|\b(?:plan|diff) d'abord\b"
        r"|\bantes de (?:tocar|cambiar|editar|escribir|borrar|ejecutar|que|decir\w*|hacer)\b"
        r"|\bsin (?:preguntar\w*|consultar\w*|que (?:te )?lo pida)\b|\bpregúntame\b"
        r"|先问|先说|先跟我|先给我|再动手|别猜|等我|不要自己|别自己|没说的"
    ),
    "unasked": re.compile(
        r"\b(?:unasked|unprompted|(?:didn't|did not|haven't|not) ask(?:ed)? (?:for|you)|nobody"
        r" asked|on your own|by yourself|only what(?:'s| is| i)|nothing else|leave (?:\w+ )?alone"
        r"|ungefragt|von (?:dir )?allein|von selbst|keiner gefragt|im auftrag|sonst nichts"
        r"|rien d'autre|pas demandé|de toi-même|touche pas|touchez pas|sans qu'on"
        r"|no (?:te )?(?:lo )?pedí|por tu cuenta|no toques|nada más|solo lo que)\b"
        r"|没让你|没说的|多余|自作主张|顺手"
    ),
    "wherever": re.compile(
        r"\b(?:here as (?:elsewhere|anywhere)|here and (?:elsewhere|anywhere)|not just here"
        r"|whatever (?:we|i|you)(?:'re)?|wherever|any (?:job|work|repo|language|project)"
        r"|every job|in everything|all the (?:answers|work)|everything you (?:send|write|give|do)"
        r"|how i work|the way i work|for me|my (?:eyes|taste|habit)|hier wie (?:anderswo|überall)"
        r"|egal (?:wo|was|welch\w+|woran)|bei allem|für alles|grundsätzlich|so arbeite ich"
        r"|ici comme ailleurs|partout où|pour tout|valable (?:pour tout|partout)|où que"
        r"|quoi qu'on|ni aquí ni|en ningún sitio|en todos lados|para todo|sea lo que sea"
        r"|como siempre conmigo)\b|我在哪|哪个项目|不管哪|不管什么|一直这个习惯|我的习惯"
    ),
    "yourself": re.compile(
        r"\byourself\b|\bon your own\b|\b(?:i|we)(?:'ll)? (?:do|run|push|merge|apply|deploy)\b"
        r"|\b(?:mache?|pushe|deploye) ich\b|\bselbst\b|\btoi-même\b|\bde ton côté\b|\btú solo\b"
        r"|\blos? \w+ (?:los? )?hago yo\b|我(?:自己)?来|你别自己"
    ),
}
"""By their name."""
_STARTS_WITH_A_NAME = re.compile(
    r"^(?!I\b|We\b|The\b|You\b|My\b|Our\b|Never\b|Always\b|Ich\b|Wir\b|On\b|Je\b|Nous\b|Yo\b)"
    r"[A-ZÀ-Ý][a-zà-ÿ]+ (?:wants?|keeps|would|asked|told|quiere|will|möchte|veut|aime|pidió)\b"
)
_FLAG = re.compile(r"(?:^|\s)--?[a-z][\w-]*|\b[A-Z][A-Z_]{3,}=")
_PATH = re.compile(
    r"\b[\w.-]+/[\w./<>-]*|\b\w+\.(?:py|ts|js|rs|go|toml|json|ya?ml|md|env|tex|csv)\b"
)


def cues(statement: str, core: str) -> list[str]:
    """The names of the cues in a statement; `core` is the same masked."""
    found = [name for name, form in CUES.items() if form.search(core)]
    if _STARTS_WITH_A_NAME.match(statement):
        found.append("somebody")
    if _FLAG.search(statement):
        found.append("flag")
    if _PATH.search(statement):
        found.append("path")
    return found
