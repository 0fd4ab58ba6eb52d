"""What speaks of the work at hand, in each language: a bound, a trouble, a story, a wish.

Longer than the habit: lists of words, read from top to bottom like a table.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re
from dataclasses import dataclass

from memory_write.offline.lexicon import pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class AtHandWords:
    """The words of one language, searched in a masked statement without its openers."""

    stands: re.Pattern[str]
    """Says that it holds on, whatever else it speaks of."""
    bounded: re.Pattern[str]
    """Holds until something near: yet, until I have looked, while I test, first this."""
    trouble: re.Pattern[str]
    """Tells what does not work."""
    told: re.Pattern[str]
    """Tells what happened."""
    wants: re.Pattern[str]
    """Asks for this piece of work, or says what it has to come to."""
    spec: re.Pattern[str]
    """Says in an opening message what one thing has to do, or how it fails, even with `all`."""
    lasts: re.Pattern[str]
    """What makes a wish in an opening message a lasting one."""


_ENGLISH = AtHandWords(
    stands=pattern(
        r"^(?!it\b|that\b|this\b|everything\b)[\w.+#]+(?: [\w.+#]+)? stays(?:,|$)",
        r"\b(?:from (?:now|here|today) on|going forward|in future|as a rule|in this"
        r" (?:repo|repository|project|code ?base|service|app)|until further notice|i (?:always"
        r" )?prefer)\b",
    ),
    bounded=pattern(
        r"\b(?:don't|do not|not|nothing|no \w+)\b.*\byet\b|\b(?:until|till|before) i(?:'ve| have|'m"
        r"| am)? (?:say|said|seen|see|looked|look|checked|check|reviewed|review|know|tested|get"
        r" back|back|had a look|okay|ok)\b",
        r"^(?:please )?(?:first(?: of all)?,? )?(?:tell|show|give|send|list|sketch|explain"
        r"|suggest|propose)"
        r" (?:me |us )?(?:which|what|where|how|two|three|a few|some|your|the|an?)\b.*\b(?:before"
        r" you"
        r" (?:touch|change|start|edit|write)|first)\b",
        r"\bfirst (?:tell|show|give|send) (?:me|us)\b|^(?:please )?(?:start|begin) (?:with|by)\b",
        r"\b(?:while|as long as) i(?:'m| am) (?:on|in|at|still|away|here)\b|\b(?:while|as long"
        r" as) i(?:'m| am)? (?:test|try|look|debug|wait|check|film|record|demo"
        r"|show|sleep)\w*\b|\buntil (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday"
        r"|next week|the (?:demo|meeting|release|weekend))\b",
        r"\bso (?:that )?i (?:can|could) (?:see|look|test|check|compare|try|run|tell)\b",
    ),
    trouble=pattern(
        r"^(?!(?:if|when|whenever|unless|otherwise|never|always|no|don't|do not|without|use|every"
        r"|all|any|we|i)\b)(?:[\w'/.%-]+ ){1,7}?(?:hangs?|dies|crash(?:es)?|stalls?|freezes?"
        r"|jitters?|leaks?|flickers?|loses?|skips?|times out|explodes?|chokes|overshoots?|lags?"
        r"|stutters?|never (?:comes?|returns?|finish\w*|ends?|loads?|arrives?)|gets? stuck)\b",
        r"^(?:the|my|our|some|all|a few) (?:[\w-]+ ){1,4}(?:is|are) (?:\w+ )?(?:off|unreadable"
        r"|wrong|broken|missing|unusable|slow|too \w+|twice|doubled|garbled|blurry|huge)\b",
        r"\b(?:takes?|took) (?:about |roughly |over )?(?:\d[\d.]*|ten|twenty|thirty|forty|fifty)"
        r" ?(?:m?s|sec\w*|min\w*|hours?)\b|\bit fails\b|\bnobody (?:finds|knows|can find)\b",
        r"^(?:it|now it) (?:always|never|keeps|now) \w+|\btwice now\b",
        r"\b(?:get|gets|receive|receives|see|sees) .*\btwice\b|\bright now it \w+s\b",
    ),
    told=pattern(
        r"^(?:i|we)(?:'ve| have| had)? (?:just |already |also |both )*(?:spent|lost|tried|compared"
        r"|rewrote|searched|looked|noticed|wasted|fought|started|been|never got|upgraded|ran into"
        r"|got bitten|reverted|deployed|debugged)\b",
        r"\b(?:has|have) (?:\w+ )?(?:grown|become|gotten|started|begun|stopped|gone|called|doubled"
        r"|complained|been (?:down|slow|red|\w+ing))\b|\bwe spent\b",
        r"\b(?:last (?:night|week|weekend|month)|yesterday|since (?:the (?:last )?(?:upgrade|update"
        r"|release|deploy|weekend|move)|yesterday|last \w+|monday|tuesday|wednesday|thursday"
        r"|friday))\b",
        r"^the (?:old|last|previous) \w+(?: \w+)? (?:always |never |only )*(?:\w+ed|took|was|were"
        r"|had|kept|went|came|got|broke)\b",
    ),
    wants=pattern(
        r"^(?:(?:i|we)(?:'d| would)? (?:need|want|like|love)|i'm looking for|we're looking for)\b",
        r"^(?:can|could|would) you\b|^(?:build|add|make|create|write|implement|rename|drop|review"
        r"|find|fix|look|try|prepare|split|move|port|draft|refactor|update|only look|apply) ",
        r"^must (?:be|also|still|not)\b|^page size\b|\bshould be (?:\d|done|ready)",
        r"^(?:today|this (?:week|sprint)|three|two|four) things\b",
        r"^(?:don't|do not) \w+ (?:the|that|this|any|anything|my)\b",
        r"^give me (?:two|three|four|\d|some|a few|a list|an? \w+)\b",
    ),
    spec=pattern(
        r"^(?:it|they|that|this|esc|enter|the (?:[\w'-]+ ){0,3}[\w-]*[^s\W]) (?:should|must|has to"
        r"|needs to|ought to|may not|can't|cannot)\b",
        r"^there(?:'s| is| are) (?:a|an|some|two|no)\b|^(?:when|whenever|if|every time) i (?!ask"
        r"|say"
        r"|write|tell|paste|send|want)\w+ .*\b(?:goes|gets|is|are|jumps|shows|turns|returns|stays"
        r"|disappears|opens|closes)\b(?!.*\b(?:please|you)\b)",
        r"^(?:users|customers|people|visitors) (?:complain|report|say|see|get)\b|^every (?:second"
        r"|third|other|fifth|tenth) \w+",
    ),
    lasts=pattern(
        r"\b(?:always|never|every|each|all|any|everywhere|whenever|only ever|throughout|stays?"
        r"|by default|keep|we use|we don't|in general|no \w+s|rather than you|per)\b"
        r"|\bi (?:would |'d )?(?:rather|prefer|like|don't|hate)\b|\byour (?:answers|replies)\b",
    ),
)

_GERMAN = AtHandWords(
    stands=pattern(
        r"^(?!es\b|das\b|er\b|sie\b|alles\b)[\w.+#]+(?: [\w.+#]+)? bleibt(?:,|$)",
        r"\b(?:ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|künftig|in zukunft|grundsätzlich"
        r"|in diese[mr] (?:projekt|repo|dienst|app)|bei uns|ich bevorzuge)\b",
    ),
    bounded=pattern(
        r"\b(?:noch (?:nichts?|keine?n?)|erst ?mal|zunächst|vorerst|fürs erste)\b",
        r"\b(?:bis|bevor|solange|während) ich (?:[\wäöüß]+ )*(?:teste|prüfe|schaue?|probiere"
        r"|geschaut|gesehen|drübergeschaut|filme|zeige|warte|weg bin|fertig bin|sage|ok sage"
        r"|melde|da bin)\b|\bbis (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
        r"|nächste woche|zum \w+)\b|\bsolange (?:ich|wir)\b|\bsolange (?:der|die|das)\b.*\bläuft\b",
        r"^(?:bitte )?(?:sag|zeig|gib|nenn|mach|schick|schlag)\w*(?: \w+)? (?:zuerst|erst"
        r"|vorher)\b",
        r"\bbevor du (?:\w+ ){0,3}(?:\w+\.\w+|den code|die datei|etwas|irgendwas|was) (?:anfasst"
        r"|änderst|umbaust)\b|^(?:fang|beginn)\w* \w*\b.*\b(?:mit|an|bei)\b",
        r"\bdamit ich (?:es |das |sehe|sehen|testen|vergleichen|nicht so lange)",
    ),
    trouble=pattern(
        r"^(?!(?:wenn|falls|sonst|nie|immer|keine?|ohne|nutze|jede\w*|alle|wir|ich)\b)"
        r"(?:[\wäöüß'/.%-]+ ){1,6}?(?:hängt|bleibt (?:\S+ ){0,4}?hängen|stürzt|klemmt|ruckelt"
        r"|flackert|verliert|überspringt|friert|platzt|verschluckt|fällt (?:\w+ ){0,5}?(?:um|aus)"
        r"|kommt nie|meldet (?:\w+ ){0,3}doppelt|lässt sich nicht|wird heiß|bricht ab)\b",
        r"\b(?:stimmen|stimmt|geht|gehen|laden|lädt|funktionier\w+|reagiert|startet)\b.{0,40}"
        r"\bnicht(?: mehr)?\b(?!,)|^(?:die|der|das) \w+ kann man .*\bnicht (?:lesen|sehen)\b",
        r"\b(?:bekommen|kriegen|sehen|erscheint|erscheinen|kommen) .*\b(?:doppelt|zweimal)\b"
        r"|\b(?:keiner|niemand) (?:weiß|findet|versteht)\b"
        r"|\bbraucht (?:\w+ ){0,4}(?:sekunden|minuten|stunden)\b|\b(?:ein|zwei) \w+ zu (?:viel"
        r"|wenig)\b",
    ),
    told=pattern(
        r"^(?:ich|wir) (?:habe?n?|hab|bin|sind) (?!uns\b|entschieden|beschlossen|vereinbart)"
        r"(?:[\wäöüß]+ )+(?:ge\w+t|ge\w+en|ver\w+t|probiert|versucht|umgeschrieben|gebaut"
        r"|verglichen)\b(?!.*\b(?:entschieden|beschlossen|vereinbart|geeinigt|festgelegt)\b)",
        r"\b(?:seit (?:dem|der) (?:letzten )?(?:update|upgrade|release|umzug|deployment"
        r"|wochenende|\w+update)|seit (?:gestern|montag|dienstag|mittwoch|donnerstag|freitag)"
        r"|gestern|vorgestern|letzte (?:woche|nacht))\b",
        r"^(?:der|die|das) (?:alte|letzte|vorige)\w* \w+ (?:ist|hat|war|wurde)\b"
        r"|\bhat (?:uns|schon|sich|nichts|drei|zwei) .*\b(?:gekostet|gedauert|angerufen|beschwert"
        r"|gebracht)\b",
    ),
    wants=pattern(
        r"^(?:ich|wir) (?:brauche?n?|will|wollen|möchten?|hätten? gern\w*|bräuchten?)\b",
        r"^(?:kannst|könntest|magst) du\b|^(?:bau|füg|mach|erstell|schreib|benenn|räum|schau|geh"
        r"|finde|such|versuch|stell|ergänz|übersetz|behebe?|repariere?)\w*\b",
        r"^(?:heute )?(?:zwei|drei|vier) (?:sachen|dinge|punkte)\b",
        r"\b(?:soll|sollte|muss) (?:[\wäöüß-]+ ){0,6}?(?:\w+en|sein|können)$",
    ),
    spec=pattern(
        r"^(?:er|sie|es|der|die|das|dem|esc) (?:[\wäöüß-]+ ){0,3}?(?:soll|sollte|muss|müsste"
        r"|darf)\b"
        r"|^(?:auf|in|im|unter) (?:der|dem|die|den)? ?[\wäöüß]+ (?:soll|sollen|muss|müssen)\b",
        r"^wenn ich .*, (?:wird|ist|geht|kommt|bleibt|zeigt|springt|verschwindet|öffnet|lädt)\b"
        r"|^(?:da|es) (?:gibt|ist|sind) (?:eine?n?|irgendwo|zwei)\b|^jede[rs]? (?:zweite|dritte)"
        r"|^(?:die )?(?:nutzer|kunden|leute) (?:beschweren|melden|sagen|sehen|bekommen)\b",
    ),
    lasts=pattern(
        r"\b(?:immer|nie|niemals|stets|jede[rsmn]?|alle[rsnm]?|überall|nur|keine?|bleibt|bleiben"
        r"|wir (?:nutzen|verwenden|nehmen)|lieber|pro|durchgehend|ausschließlich|antwort\w*)\b",
    ),
)

_FRENCH = AtHandWords(
    stands=pattern(
        r"^(?!ça\b|il\b|elle\b|tout\b)[\w.+#]+(?: [\w.+#]+)? reste(?:,|$)",
        r"\b(?:à partir de maintenant|désormais|dorénavant|à l'avenir|dans ce (?:projet|dépôt"
        r"|repo|service)"
        r"|chez nous|je préfère)\b",
    ),
    bounded=pattern(
        r"\b(?:pas|rien) encore\b|\bpas (?:tout de suite|maintenant)\b|\ble temps (?:que|qu'|de)\b"
        r"|\b(?:avant|jusqu'à ce|pendant|tant) que? j(?:e |'(?:aie?|ai) )(?:\w+ )?\w+",
        r"\bpour que je (?:teste|voie|regarde|compare|vérifie|puisse)\b|\bjusqu'(?:à|au) (?:lundi"
        r"|mardi|mercredi|jeudi|vendredi|samedi|dimanche|la semaine|mon retour)\b|\bsans rien"
        r" (?:modifier|changer|toucher)\b",
        r"^[\wé]+(?:-moi|-nous)? d'abord\b|^commence[zr]? (?:par|avec)\b|, commence[zr]? par\b"
        r"|\bavant de (?:toucher|changer|modifier) (?:au code|à \w+|le code|[\w.]+\.\w+|quoi)",
    ),
    trouble=pattern(
        r"^(?!(?:si|quand|sinon|jamais|toujours|pas|sans|chaque|tous|toutes|on|je|nous)\b)"
        r"(?:[\w'/.%-]+ ){0,6}?(?:(?:plante|se bloque|se fige|échoue|rame|saccade|clignote|saute"
        r"|s'arrête|se coupe|crashe|bugue?|chauffe)(?:nt)?|perd(?:ent)?|meurt|meurent"
        r"|ne (?:revient|répond|charge|démarre|s'affiche|finit) (?:jamais|plus|pas)"
        r"|fuit)\b",
        r"^l(?:es|e |a |')[\w' ]{2,40} (?:est|sont) (?:\w+ )?(?:illisibles?|cassée?s?|fausses?"
        r"|faux|lente?s?|vides?|doublée?s?|énormes?|floue?s?|décalée?s?)\b",
        r"\b(?:de trop|une fois sur (?:deux|trois|dix))\b|\b(?:reçoivent|voient|apparaît|arrive"
        r"|reçoit) .*\b(?:deux fois|en double)\b|\bpersonne ne (?:sait|trouve|comprend)\b"
        r"|\b(?:met|prend|prennent) (?:\w+ ){0,3}(?:secondes|minutes|heures|go|mo)\b",
    ),
    told=pattern(
        r"^(?:j'ai|on (?:l')?a|nous avons|ça a|on les a) (?!décidé|choisi|convenu|opté|tranché)"
        r"(?:\w+ )?(?:passé|perdu|essayé|comparé|réécrit|cherché|regardé|testé|commencé|migré"
        r"|déployé|jamais|remarqué)\b",
        r"\b(?:depuis (?:la (?:mise à jour|migration|release)|le (?:week-end|déménagement|dernier)"
        r"|lundi|mardi|mercredi|jeudi|vendredi|hier)|hier|cette nuit|la semaine dernière"
        r"|avant-hier)\b",
        r"^(?:l'ancien\w*|la dernière|le dernier) \w+ (?:[\w']+ )?(?:\w+ait|a|est|avait)\b"
        r"|\bça (?:énervait|n'a rien)\b",
    ),
    wants=pattern(
        r"^(?:je (?:voudrais|veux|souhaite)|j'(?:ai besoin|aimerais)|il (?:me|nous) fau\w+|on"
        r" (?:veut|voudrait|a besoin|passe de)|nous (?:voulons|voudrions|avons besoin))\b",
        r"^(?:tu peux|vous pouvez|peux-tu|pouvez-vous)\b|^(?:ajoute|fais|crée|écris|renomme|vire"
        r"|relis|trouve|corrige|regarde|essaie|essaye|prépare|refais|saute|construis)"
        r"[zr]?(?:-moi|-nous|-l[ea]s?)?\b",
        r", (?:il|elle|ça|échap) (?:doit|devrait)\b|, il faut (?:que|qu')\b",
        r"^(?:deux|trois|quatre) choses\b|^ne \w+ rien\b",
    ),
    spec=pattern(
        r"^(?:il|elle|ça|cela|échap|l[ea] [\w'-]+|l'[\w-]+)(?: [\w'-]+){0,3}? (?:ne )?(?:doit"
        r"|devrait)\b|^(?:quand|si) je (?!t'|te |demande|pose|dis|colle|vous)\w+ .*\b(?:est"
        r"|devient|saute|reste|disparaît|s'\w+|se \w+)\b",
        r"^il y a (?:une?|des|deux)\b|^une? \w+ sur (?:deux|trois|dix)\b|^(?:les )?(?:utilisateurs"
        r"|clients|gens) (?:se plaignent|signalent|disent|voient|reçoivent)\b",
    ),
    lasts=pattern(
        r"\b(?:toujours|jamais|chaque|tous|toutes|partout|uniquement|reste|restent|gardez?"
        r"|on utilise|pas de|par défaut|je préfère|j'aime|réponds|réponses|systématiquement)\b",
    ),
)

_SPANISH = AtHandWords(
    stands=pattern(
        r"^(?!eso\b|todo\b)[\w.+#]+(?: [\w.+#]+)? se queda(?:,|$)",
        r"\b(?:a partir de ahora|(?:de|desde) ahora en adelante|en adelante|en este (?:proyecto"
        r"|repo|repositorio|servicio)|por norma|prefiero)\b",
    ),
    bounded=pattern(
        r"\b(?:no|nada) .*\b(?:todavía|aún)\b|\b(?:todavía|aún) (?:no|nada)\b"
        r"|\bmientras (?:pruebo|miro|depuro|reviso|testeo|grabo|espero|lo \w+)\b"
        r"|\bhasta (?:que (?:yo )?(?:lo |la |los |las |te )?(?:vea|mire|revise|pruebe|diga|avise"
        r"|vuelva|apruebe)|el (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo))\b",
        r"^(?:dame|enséñame|muéstrame|mostrame|dime|decime|pásame|proponme) primero\b|^primero"
        r" (?:dame|enséñame|muéstrame|mostrame|dime|decime|pásame|proponme)\b|^(?:empieza|empezá"
        r"|comienza|arranca) (?:por|con)\b|\bantes de (?:tocar|cambiar|modificar) (?:el código"
        r"|nada|algo|[\w.]+\.\w+)",
        r"\b(?:que|para que|así) (?:lo |la )?(?:veo|quiero ver|pueda (?:ver|probar)|estoy"
        r" mostrando)\b",
    ),
    trouble=pattern(
        r"^(?!(?:si|cuando|nunca|siempre|sin|cada|tod[oa]s?|nada|usa\w*|yo)\b)"
        r"(?:[\wáéíóúñ'/.%-]+ ){1,6}?(?:se (?:cuelga|cae|queda|congela|cierra|rompe|atasca|traba"
        r"|salta|pierde|calienta|reinicia|bloquea)n?|fallan?|revientan?|parpadean?|pierden?"
        r"|mueren?|tardan?|nunca (?:vuelve|termina|carga|responde|llega)|salen? (?:con|mal"
        r"|doble))\b",
        r"^(?:el|la|los|las) [\w ]{2,40} (?:no se (?:leen?|ven?|abren?|cargan?)|está[n]? (?:mal"
        r"|rot[oa]s?|lent[oa]s?)|es (?:enorme|lent[oa])|son ilegibles)\b|^falla\b",
        r"^ahora (?:siempre|nunca|cada vez)\b",
        r"\b(?:recib\w+|ven|aparece[n]?|llega[n]?) .*\b(?:dos veces|doble|duplicad\w+)\b"
        r"|\bnadie (?:sabe|encuentra|entiende)\b|\bde más\b",
    ),
    told=pattern(
        r"^(?:ayer|anoche|anteayer)\b|^(?:me |nos |l[oa]s? )?(?:estuv\w+|pasé|pasamos|probé"
        r"|probamos|perdí|perdimos|intenté|comparé|reescrib\w+|empecé|empezamos|busqué|hice|vi"
        r"|dejé|llevo|llevamos (?!el|la|los))\b",
        r"\b(?:desde (?:la (?:actualización|última|migración)|el (?:lunes|martes|miércoles|jueves"
        r"|viernes|cambio|último)|ayer)|la semana pasada|el mes pasado|en (?:enero|febrero|marzo"
        r"|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre))\b",
        r"^(?:el|la) \w+ (?:viej[oa]|anterior|antigu[oa]) (?:siempre |nunca )?\w+(?:aba|ía|ó)\b"
        r"|^(?:el|la) (?:últim[oa]|antigu[oa]|viej[oa]) \w+ \w+\b",
    ),
    wants=pattern(
        r"^(?:che,? )?(?:quiero|queremos|necesito|necesitamos|me gustaría|quisiera)\b",
        r"^(?:puedes|podrías|podés)\b|^(?:agrega|agregá|añade|haz|hazme|haceme|crea|creá|escribe"
        r"|renombra|quita|mira|mirá|revisa|revisá|busca|averigua|intenta|intentá|arregla|prepara"
        r"|pon|poné|cambia|cambiá|aplica)\b",
        r", (?:\w+ )?(?:tiene que|debe|debería)\b",
        r"^(?:hoy )?(?:dos|tres|cuatro) cosas\b|^no hagas (?:commit|nada)\b",
    ),
    spec=pattern(
        r"^(?:el|la|esc|él|ella|eso|esto)(?: [\wáéíóúñ-]+){0,3}? (?:no )?(?:tiene que|debe|debería"
        r"|ha de)\b|^(?:no )?(?:tiene que|debería|debe)\b",
        r"^cuando (?:yo )?(?!te )\w+o (?:el|la|los|las|un|una) .*\b(?:queda|es|está|se \w+|tapa"
        r"|salta|desaparece|muestra)\b|^hay (?:un|una|dos|algo)\b|^una? de cada\b|^(?:los )?"
        r"(?:usuarios|clientes) (?:se quejan|dicen|ven|reciben|reportan)\b",
    ),
    lasts=pattern(
        r"\b(?:siempre|nunca|jamás|cada|tod[oa]s|nada de|solo|usamos|sigue|queda|por defecto"
        r"|prefiero|me gusta|respóndeme|en todas partes|ningún|ninguna)\b",
    ),
)

_CHINESE = AtHandWords(
    stands=pattern(
        r"以后|今后|从现在|一律|这个(?:仓库|项目|代码库)里|我们(?:组|团队)?(?:都|统一|一直)?用|规矩|我(?:更)?喜欢|不换"
    ),
    bounded=pattern(
        r"暂时|先(?:别|不要|不用)|(?:我|等我).{0,4}(?:没|看|确认|测)(?:过|完|好)?.{0,3}(?:之前|以前|前)"
        r"|^先(?:告诉|给|说|列|看|从|复现|把)(?!出?结论)|(?:动|改|碰).{0,12}(?:之前|前)先(?:给我|告诉我|说|复现|列)"
        r"|等我.{1,10}(?:再|后)|到周[一二三四五六日]"
    ),
    trouble=pattern(
        r"卡住|卡死|挂(?:了|掉|一次|在)|崩(?:了|溃)|死机|闪退|再也不|跳回|发烫|看不清|打不开|起不来|乱跳"
        r"|^现在(?:总是|老是|每次)|(?:总|总是|老是|老)(?:多|少|挂|错|跳|丢|卡|崩|超时)|(?:收到|出现|显示).{0,4}(?:两次|重复)|没人知道"
        r"|要(?:跑|等|花).{0,4}(?:秒|分钟|小时)|(?:会|偶尔)跳过"
    ),
    told=pattern(
        r"^(?:昨[天晚]|前天|上周|上个月|刚才|[一二三四五六七八九十]+月份?).{0,30}(?:了|过|退出|没)|一直没(?:写|做|弄|修)完"
        r"|^我(?:对|看|查|试|调|找|做)了|^上次.{0,12}(?:了|扔|白)|打了.{1,3}次"
    ),
    wants=pattern(
        r"^(?:我|我们)?(?:想要|想|需要|要)(?!求)|^(?:帮我|给|把|能不能|能看|麻烦)|^(?:加|做|改|写|查|看)(?:一下|个|一个)"
        r"|^[^，。]{1,8}(?:必须|要|得|应该)(?:还能|在|能|带|显示|放|让|边)|，(?:要|得)(?:让|边|能|在|放)"
        r"|返回里要|^今天|[两三四]件事|跳过吧"
    ),
    spec=pattern(
        r"^[^，。]{0,8}一.{1,8}就.{0,12}(?:变|跳|没|空|错|白|黑)|^(?:用户|客户|大家)(?:都)?(?:反映|说|抱怨|看到)"
        r"|^(?:它|这个功能|这个页面)(?:必须|要|得|不能)|每[两二三]次"
    ),
    lasts=pattern(
        r"总是|永远|每次|所有|全部|统一|都(?:要|用|放|按|得|以)|别引|不用|不许|不准|不得|只用|不换|还是|绝对"
    ),
)

AT_HAND: dict[str, AtHandWords] = {
    "english": _ENGLISH,
    "german": _GERMAN,
    "french": _FRENCH,
    "spanish": _SPANISH,
    "chinese": _CHINESE,
}
"""The words by the name of the language."""
