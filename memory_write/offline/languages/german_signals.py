"""German: the signs that a statement is meant for later."""

from memory_write.offline.lexicon import pattern
from memory_write.offline.signals import Signals

_DU = r"(?:du|dir|dich|ihnen|sie)"

GERMAN_SIGNALS = Signals(
    lasting=pattern(
        r"\b(?:ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|in zukunft|künftig|zukünftig|immer"
        r"|stets|nie|niemals|nie wieder|nie mehr|nicht mehr|grundsätzlich|standardmäßig"
        r"|jedes mal|jedesmal|generell|dauerhaft|prinzipiell|überall|durchgehend|durchgängig"
        r"|ausnahmslos|auf keinen fall|unter keinen umständen|nächstes mal|nächsten male?"
        r"|bis auf weiteres|in jedem fall|weiterhin|normalerweise)\b"
    ),
    bans=pattern(
        r"(?:^|[,;:.!] |\b(?:und|aber|bitte|also|mit) )(?:bitte )?(?:keine?n?|nichts|niemals|nie"
        r"|vermeide|verzichte|ohne|hör auf|lass) \w",
        r"\b(?:verboten|tabu|nicht erlaubt|untersagt|unerwünscht|raus|gestrichen)\b",
        r"\b(?:darf|dürfen|darfst|sollst|sollen|soll|kann|können|will|wollen|möchte|brauche"
        r"|brauchst|solltest|werden|wird|nutzen|verwenden|benutzen|mag|fass|ändere|mach|erkläre"
        r"|schreib|lösche|füge|änder|fasse|rühr|nenn) (?:[\wäöüß.-]+,? ){0,5}?(?:nicht|keine?n?"
        r"|nichts|nie|niemals)\b",
        r"\bkeine?n? [\wäöüß-]+ mehr\b|\b\w+en sie (?:[\wäöüß-]+ ){0,4}(?:nicht|keine?n?|nie)\b"
        r"|\bfinger weg\b",
        r"\bnicht (?:anfassen|anzufassen|verwenden|ändern|löschen|überschreiben|committen|pushen)"
        r"\b",
    ),
    ruling=pattern(
        r"\b(?:ist|sind|kommt|kommen) (?:ab sofort|jetzt (?:durch|mit|in|als|nach))\b"
        r"|^zurück (?:zu|auf) \w",
        r"\b(?:drucken|zeigen|nennen|nehmen|speichern|veröffentlichen|verwenden|schreiben"
        r"|bringen|geben) wir (?:nur|nie|keine?n?|immer|nicht)\b",
        r"\bhei(?:ß|ss)(?:en|t) (?:\w+ )?wie\b|\bdie einzige (?:quelle|stelle)\b",
        r"\bgeh(?:t|en) (?:\w+ ){0,3}über\b|\bnur \w+(?:en|n) wir\b",
        r"\bentscheide[nt] (?:das team|wir|ich)\b|\bwir (?:unterstützen|liefern|rechnen|zählen"
        r"|loggen|testen|runden|bauen|deployen|benennen|trennen|nummerieren)\b"
        r"|\bbraucht einen?\b|\bist verboten\b",
        r"\bwird (?:\w+ )?(?:nach|in|mit|auf|als|per|über|im)\b|\bwerden (?:\w+ )?(?:nach|in|mit"
        r"|auf|als|per|über|im)\b|\bso (?:verlangt|will|steht|fordert|möchte)\b"
        r"|\b(?:ausschließlich|zugesagt)\b|\bbleiben (?:un\w+|wie)\b",
        r"\b(?:regel\w*|konvention\w*|richtlinie\w*|vorgabe\w*|standard|pflicht|vorschrift\w*"
        r"|beschluss|entscheidung|vereinbar\w+|abgemacht|abgesprochen|beschlossen|entschieden"
        r"|festgelegt|geeinigt|verbindlich|vorgeschrieben|hausstil|stilguide)\b",
        r"\b(?:wir|ich|das team) (?:[\wäöüß]+ ){0,2}?(?:bleiben?|nehmen?|setzen?|wechseln?"
        r"|verwenden?|nutzen?|benutzen?|schreiben|arbeiten|halten|speichern|führen)\b",
        r"\bbleib(?:t|en) (?:\w+ )?(?:auf|bei|dabei|deutsch|englisch|wie)\b"
        r"|\b(?:ist|sind|bleibt|bleiben) (?:raus|deutsch|englisch|gesetzt|fix)\b",
        r"\balso (?:nehmen|nutzen|verwenden|immer)\b|\bnur,? wenn(?:s|'s| es| ein)?\b"
        r"|\b(?:dann erst|erst dann|erst danach)\b",
    ),
    ours=pattern(r"\b(?:wir|uns|unsere?[rsmn]?|bei uns|im team|hausintern)\b"),
    self=pattern(r"\b(?:ich|mir|mich|meine?[rsmn]?)\b"),
    likes=pattern(
        r"\bfinde ich (?:furchtbar|schrecklich|gut|besser|schlimm|hässlich|unnötig|wichtig"
        r"|angenehm)\b|\bwie (?:mit )?(?:einem|einer) (?:anfänger|laien|kollegen)\w*\b",
        r"\b(?:duz|siez)\w* (?:mich|wir uns)\b|\bmit (?:du|sie) an\b|\bper du\b",
        r"\bsag das\b|\bstatt zu (?:raten|\w+en)\b",
        r"\b(?:genügt|reichen|reicht|nervt|stört)\b|\bgern(?:e)?\b.*\b(?:einzeilig|kurz|ohne|mit"
        r"|immer|als|in)\b|\bmacht mich wahnsinnig\b",
        r"\bich (?:\w+ )?(?:bevorzuge|mag|hasse|liebe|schätze|hätte gerne?|möchte keine?n?|will"
        r" (?:keine?n?|nur|immer)|brauche keine?n?|ziehe|lege wert|arbeite lieber|lese lieber)\b",
        r"\b(?:lieber|am liebsten)\b|\bmir (?:ist|sind|reicht|reichen|gefällt|gefallen)\b"
        r"|\bgefällt mir (?:nicht|besser)\b|\bhätte ich gern\w*\b|\bstört mich\b|\bnervt\b"
        r"|\bwünsche ich mir\b|\bist mir wichtig\b|\breicht mir\b|\breichen mir\b"
        r"|\bkann ich nichts anfangen\b|\bbin ich (?:pingelig|eigen|kleinlich)\b",
    ),
    contrast=pattern(
        r", nicht \w|\b(?:statt|anstatt|anstelle|sondern|nicht \w+ sondern|und nicht|außer)\b"
        r"|\bnicht (?:mit|in|im|auf|über|als) \w"
    ),
    every=pattern(
        r"\bohne (?:zwei|drei|ein\w*) \w+|\b\w+ im \w+, \w+ im \w+|\bnur,? was\b",
        r"\b(?:jede[rsmn]?|alle[rsnm]?|nur|höchstens|maximal|mindestens|ausschließlich|pro"
        r"|sämtliche"
        r"|alles|reines?|reine[rn]?|einzeln|jeweils|beide|immer nur|erst)\b",
    ),
    reason=pattern(
        r"\b(?:weil|denn|da (?:wir|ich|es|der|die|das)|sonst|damit|deshalb|daher|darum|nämlich"
        r"|ansonsten|andernfalls)\b",
        r", (?:das|die|der|sie|es|wir|ich|unser\w*|mehr) (?!habe|hab|hast|sagt|meinte)"
        r"[\wäöüß-]+(?: |$)",
    ),
    manner=pattern(
        r"\b(?:smileys?|emojis?|duzen|siezen|anglizism\w+)\b|\b(?:vorher|zuerst) gefragt werden\b"
        r"|\b(?:in|aus) deinen (?:antworten|texten|nachrichten)\b",
        r"\b(?:in|mit) (?:einem|zwei|drei) (?:satz|sätzen|worten)\b|\b(?:du darfst"
        r"|sie dürfen)\b.*\b(?:ruhig|gern|mir|meine?[nrsm]?)\b|\bzusammen, was\b",
        r"\b(?:spar|erspar)\w* (?:dir|mir)\b|\b(?:rede|sprich|red) mit mir\b|\bdas warum\b"
        r"|\b(?:selbst|selber) aus\b|\bführe (?:ihn|es|sie) (?:selbst|selber)\b|\bbegrüßung\b",
        r"\b(?:beispiel\w*|immer so|einzeilig|blabla|gerede)\b",
        r"\b(?:antwort\w*|erklär\w*|zusammenfass\w*|sprich|rede|formulier\w*|ausführlich\w*"
        r"|fachbegriff\w*|höflichkeit\w*|floskel\w*|ein satz|zwei sätze|kürzer|kurz fassen"
        r"|fasse? dich kurz|duz\w*|siez\w*|ansprech\w*|rückfrage\w*|vorschläge?|vorschlag"
        r"|begründ\w*)\b",
        r"\b(?:frag|frage|zeig|zeige|sag|sage|gib|nenn|nenne|warne?|erkläre?n?) (?:\w+ )?mich\b"
        r"|\b(?:zeig|zeige|sag|sage|gib|nenn|nenne|erkläre?n?)(?: sie)? mir\b",
        r"\bohne (?:rückfrage|mein \w+|meine \w+|zu fragen|zu testen|absprache|sie auszuführen)\b"
        r"|\bworum ich (?:dich )?bitte\b|\bwas ich (?:sage|verlange|will)\b|\bum was ich\b",
        r"\b(?:wenn|bevor|ehe|sobald) (?:du|sie) \w+",
        r"\bauf (?:deutsch|englisch|französisch)\b",
        r"\bdass du (?:[\wäöüß-]+ ){0,6}\w+st\b",
    ),
    blame=pattern(r"\bdu hast .*\b(?:ge\w+(?:t|en)|ver\w+t|um\w+t)\b|\bhast du .*\bge\w+(?:t|en)$"),
    complaint=pattern(
        r"^(?:deine?|ihre) \w+ (?:ist|sind|war|waren|klingt|klingen) ",
        r"(?:^|\b(?:das|du|antwort\w*|noch|viel|mir|text|erklärung\w*) (?:ist |sind |war "
        r"|bist )?(?:\w+ )?)zu (?:lang|viel|ausführlich|geschwätzig|wortreich|kompliziert"
        r"|förmlich|technisch"
        r"|umständlich|kurz|knapp)\b",
        r"\b(?:solltest|sollst|solltest du) (?:\w+ )?nicht\b|\bich hab(?:e)? (?:dir )?(?:doch )?"
        r"(?:schon )?(?:gesagt|gebeten)\b|\bhör auf\b|\bnicht jedes mal\b|\bschon wieder\b"
        r"|\b(?:nie|niemals) (?:wieder|mehr|erwähnt)?\b.*\bohne\b|\bdu (?:hast|machst|schreibst"
        r"|änderst|löschst|fragst) (?:\w+ )?(?:schon wieder|immer|ständig|ungefragt)\b"
        r"|\b(?:kürzer|knapper|einfacher)\b.*\b(?:bitte|antwort\w*|sätze)\b",
    ),
    must=pattern(
        r"\bnie(?:mals)? (?:kleiner|größer|länger|kürzer|mehr|weniger|höher) als\b",
        r"(?<!ich[ ])\b(?:muss|müssen|gehör(?:t|en)|sind zu|ist zu|hat zu|haben zu)\b",
    ),
    modal=pattern(
        r"\b(?:beginnen|enden|tragen|enthalten|bleibt|bleiben|beginnt|endet)\b",
        r"\b(?:muss|müssen|soll|sollen|hat zu|haben zu|gehör(?:t|en)|kommt|kommen|steh(?:t|en)"
        r"|lieg(?:t|en)|läuft|laufen|heiß(?:t|en)|ist|sind|wird|werden|bitte|gilt)\b",
    ),
    general=pattern(
        r"^(?:die|alle) \w+ werden (?:vor|nach|beim|vorher) ",
        r"^(?!danke|alles|dateien fehlen)[a-zäöüß-]{2,}(?:en|er|s|namen|te"
        r"|zeiten)(?: \w+)? (?:im|in|nach|auf|mit|ohne|neben|unter|als|liegen|kommen|gehören"
        r"|stehen|heißen|bleiben|brauchen|werden|nie|immer|nur|sind immer|sind nie|über)\b",
        r"^(?:jede[rs]?|alle) (?!zweite|dritte)\w+ (?:braucht|hat|bekommt|muss|kommt|kriegt"
        r"|trägt|heißt|beginnt|endet|bekommen|brauchen|heißen|liegen|gehören)\b",
        r"^(?:montags|dienstags|mittwochs|donnerstags|freitags|nachts|am wochenende|auf main"
        r"|auf master|über \w+ \w+ entscheidet)\b",
        r"^eine? [\w-]+ (?:pro|je) \w+|\bhei(?:ß|ss)(?:en|t) (?:\w+ )?wie\b|\bdie einzigen?"
        r" (?:quelle|stelle)\b",
        r"\b(?:wird|werden) (?:nicht|nie|erst|immer|nur|grundsätzlich|ausschließlich)\b"
        r"|\bkommt nichts\b|\b(?:darf|kommt|geht) (?:nur|nichts) \w+",
        r"^(?:wenn|sobald) (?:etwas|ein\w*|jemand|nichts)\b.*,|^im zweifel\b",
    ),
    things=pattern(
        r"\b(?:zeitstempel|koordinaten|mengen|maße|entfernungen|testdaten|branchnamen)\b",
        r"\b\w*(?:namen|nummern|dateien|grafiken|abbildungen|tabellen|preise|klammern"
        r"|kommentare)\b",
        r"\b(?:funktionen|methoden|klassen|tests?|commits?|commit-\w+|nachrichten|titel"
        r"|überschriften|antworten|kommentare|variablen?|variablennamen|namen|dateien|zeilen|texte"
        r"|absätze|zusammenfassungen|mails?|berichte|listen|migrationen|abhängigkeiten|pakete"
        r"|bibliotheken|farben|einheiten|beträge|daten|datumsangaben|zeiten|preise|bilder|fotos"
        r"|skripte|befehle[n]?|optionen|zugangsdaten|passwörter|schlüssel|konstanten|module|seiten"
        r"|originale?|ordner|logs|fehlermeldungen|versionen|branches|releases|werkzeuge|code"
        r"|design|dokumentation|zahlen|tabellen|diagramme|javascript|css|html)\b",
    ),
    here=pattern(
        r"^(?:das|der|die) (?:ganze|gesamte|komplette) \w+ (?:ist|läuft|nutzt)\b",
        r"\b(?:in|im|für|auf) (?:diesem|dieses|diese|dem|der|unserem|unserer) (?:projekt|repo"
        r"|repository|codebasis|seite|website|webseite|app|dienst|firmware|vereinsseite|paket)\b"
        r"|\bauf der \w+seite\b|\b(?:bei uns|hier bei|hier im|im projekt|in der app|hier nur)\b"
        r"|\b(?:wir|verwenden|nutzen) (?:\w+ )?hier\b",
    ),
    recurs=pattern(
        r"\b(?:vor|nach|bei|zu) (?:jede[mrn]|allen|dem (?:commit|push|merge|release|deploy))\b"
        r"|\b(?:wenn|bevor|sobald|sooft|falls) (?:du|wir|man|ich|etwas|ein\w*)\b|\bvor den tests\b"
        r"|\bbei (?:\w+en|befehlen|änderungen|fehlern)\b"
    ),
    imperative=pattern(
        r"\b(?:nie|niemals|immer|bitte|nur) \w+en\b",
        r"^(?:nutze?|benutze?|verwende|schreib\w*|halte?|führe?|lass\w*|mach\w*|antworte?|nimm|gib"
        r"|vermeide|teste?|prüfe?|frage?|zeige?|setze?|erkläre?n?|nenn\w*|sprich|behalte|ändere?"
        r"|immer|stets|nur|sag\w*|achte|trenne|speicher\w*|behaupte|bau\w*)\b"
        r"|\b(?:kopieren|verwenden|speichern|schreiben|halten|laufen lassen|nutzen|nehmen|fragen"
        r"|angeben|lassen|antworten|einbauen|ausführen)[.!]?$|\bbau das\b|\bsetzen$",
    ),
    asks=pattern(
        r"\b(?:finde ich|ist) (?:furchtbar|schrecklich|grauenhaft|unerträglich)\b",
        r"\b(?:das|so) ist (?:mein|unser|bei uns|so)\w* (?:\w+ )?(?:regel|standard|stil"
        r"|gewohnheit|konvention|minimum|maximum|reihenfolge|üblich)\b|\bist (?:mit absicht"
        r"|absicht) so\b|\bdas (?:entscheide|mache|erledige|übernehme) ich (?:selbst|selber)\b"
        r"|\bkein zurück\b|\bso bleibt (?:es|das)\b|\blass (?:es|das) so\b",
        r"\b(?:merk\w* dir|merken wir uns|denk\w* daran|vergiss nicht|notier\w*|behalte"
        r"|gilt auch|gilt für|gilt immer|das gilt|fürs nächste mal|für die nächsten)\b",
    ),
    endorses=pattern(
        r"^so (?:heißen|läuft|wollen|verlangt|steht)\b",
        r"^so (?:steht|will|verlangt|machen|haben|ist|halten|wünscht|möchte)\b|^bitte immer so\b"
        r"|^das ist (?:unser|mein|so|bei uns)\w*\b",
        r"^(?:und )?(?:das|so|dies|es)(?: \w+)? (?:gilt|ist (?:so )?(?:entschieden|beschlossen"
        r"|vereinbart|abgesprochen|unsere|die regel|bei uns|pflicht|regel)|haben wir|machen wir"
        r"|handhaben wir|halten wir|bleibt)\b",
        r"^(?:bitte )?(?:merk\w* dir das|das merken wir uns|denk daran|bitte merken|merken)[.!]*$",
        r"^(?:immer|überall|jedes mal|auch künftig|auch in zukunft|ausnahmslos"
        r"|grundsätzlich)[.!]*$",
    ),
    because=pattern(
        r"^mehr (?:lese|brauche|will|verstehe) ich nicht\b|^dafür bist du\b",
        r"^(?:ich (?:bin|lese|lerne|arbeite|verstehe|kann|habe|will|finde|brauche|mag|nutze)"
        r"|sonst|mit \w+ kann ich|das (?:liest|macht|hilft|verwirrt|muss|bricht)|wir (?:haben|sind)"
        r"|der \w+ (?:kann|prüft|liest))\b",
    ),
    passing=pattern(
        r"\b(?:wird|werden) (?:\w+ )*(?:falsch|doppelt)\b",
        r"^ich (?:möchte|will|würde gern) .*\w+en$",
        r"\bbetroffen\b|^nie gesehen\b|\bwenn du hängst\b|^(?:nur|bloß) (?:der|die|das)\b",
        r"\b(?:hat|haben|ist|sind|heißt|kommt|kommen) jetzt\b(?!.*\b(?:also|deshalb|daher)\b)"
        r"|\berst (?:noch )?(?:\w+ )?(?:bewerten|klären|prüfen|besprechen|abstimmen)\b",
        r"^ich (?:muss|habe nur|hab nur|brauche nur|schlafe|lache|kann nur)\b|^(?:der|die"
        r"|das) \w+ (?:muss|soll|kann|darf) (?:\w+ ){0,4}sein$|^\w+ \d+ ist\b|\bist heute\b"
        r"|^bei uns ist\b",
        r"\b(?:ist|sind|war|waren|läuft|laufen) (?:\w+ )?(?:kaputt|rot|grün|langsam|fertig|noch"
        r"|gerade|schon|wieder|da|weg|falsch|zu viel|veraltet|gut|okay|super|durch)\b",
        r"\b(?:fehlgeschlagen|gescheitert|gefunden|funktioniert|es geht|geht (?:wieder|nicht"
        r"|noch)|klappt|hat (?:sich|geklappt)"
        r"|hast du|zeigt|scheint|sieht|dauert|landen|sendet)\b",
        r"^(?:ich (?:habe|hab|möchte|will|würde|werde|brauche|sehe|schau\w*|teste|bekomme)"
        r"(?! (?:keine?n?|nur|immer|nie|gern|lieber|dass))|wir (?:wollen|haben (?!uns))|hier ist"
        r"|das (?:klappt|geht|war|hat|wäre|passt|design)|danke|stimmt|super)\b",
        r"\bveraltet\b|\bklären wir\b|\bvon mir aus\b|\bmuss aber nicht\b|\bna ja\b",
    ),
    task=pattern(
        r"^(?:bitte )?(?:schau|sieh|such\w*|finde?|behebe?|lösch\w*|entferne?|ergänze?|füge?"
        r"|erstell\w*|zeig\w*|mach\w*|setz\w*|stell\w*|starte?|öffne|nimm|baue?|prüfe?|schreib\w*"
        r"|gib|kannst|könntest|leg\w*|dann|übersetze?|fasse?) (?:mir |mal |bitte |jetzt |doch )*"
        r"(?:den|die|das|dem|der|diese\w*|es|ihn|sie|ein\w*|in|nach|\d|es)\b",
        r"\b(?:diese[rsmn]?|dieses|jene[rsmn]?) (?!projekt|repo|verzeichnis|dienst|app"
        r"|service)\w+|\bbin mir\b"
        r"|\bschau(?:e|st)? \b|\b(?:kannst|könntest|magst) du\b|\bden (?:termin|titel|fehler)\b",
        r"\bich will (?:doppelte|eine?n?)\b|\bich schau\b|\bteste gleich\b",
    ),
    retracts=pattern(r"\b(?:doch|stattdessen|zurück|bleib\w*|jetzt)\b"),
    reverses=pattern(
        r"^(?:\w+[,.!]* ){0,2}?(?:korrektur|kommando zurück|doch nicht|moment|halt|stopp|warte"
        r"|vergiss (?!nicht)|nein,? doch|ich nehme .* zurück|anders|planänderung|neue entscheidung"
        r"|streich|ich hab(?:e)? (?:es )?mir anders überlegt|entschuldigung|sorry)\b"
    ),
    purpose=pattern(
        r"\b(?:schritt \w+|als nächstes|zuletzt|zum schluss|der reihe nach)\b",
        r"\b(?:um .* zu|zum \w+en|zuerst|erst|danach|dann|anschließend|vor jedem|nach jedem|vor den"
        r"|wird (?:also )?(?:mit|über|per)|werden (?:mit|über|per)|also mit|läuft (?:mit|über)"
        r"|reihenfolge|lässt sich|man nimmt|geht (?:mit|über|so))\b"
        r"|\b(?:ge|hoch|aus|ver|be|er)\w+t wird\b|^\w*(?:hochgeladen|gebaut|getestet"
        r"|veröffentlicht)",
    ),
    cause=pattern(
        r"\b(?:sonst|ohne|erst|vor|vorher|nur|immer|muss|braucht|brauchen|weil|wenn|nämlich|genau"
        r"|statt|findet|scheitert|fehlt|fehlte|lag|also|damit|zuerst|mit)\b"
    ),
)
