"""German: the common forms."""

from memory_write.offline.lexicon import Lexicon, pattern

_MADE = (
    r"(?:funktion(?:en)?|methoden?|klassen?|tests?|commits?|commit-nachrichten|titel|überschriften?"
    r"|einleitung(?:en)?|antwort(?:en)?|erklärung(?:en)?|kommentare?|variablen?|namen?|dateien?"
    r"|zeilen?|texte?|absätze|zusammenfassung(?:en)?|mails?|e-mails?|berichte?|listen?)"
)
_VERBS = (
    r"(?:nutze|benutze|verwende|schreib|schreibe|halte|führe|lass|lasse|mach|mache|antworte|nimm"
    r"|vermeide|formatiere|teste|prüfe|frag|frage|committe|starte|gib|zeige|zeig|füge|setze|lösche)"
)

GERMAN = Lexicon(
    name="german",
    common_words=frozenset(
        "der die das ich wir und ist nicht ein eine in im bitte immer nie auf mit für zu den "
        "dem kein keine sollen soll müssen muss ab jetzt du dir dich wenn aber wie war bei "
        "aus dass mal noch nur auch so wird werden hat wir uns als an es er sie mir am zum "
        "zur mein meine unsere vor nach von".split()
    ),
    opener=pattern(
        r"(?:ach(?: so)?|guten (?:morgen|tag|abend)|servus|ah|genau|stimmt|im übrigen|okay"
        r"|alles klar|moin|halt|ok(?:ay)?|gut|danke|super|prima|ja|also|und|aber|bitte|übrigens"
        r"|hallo|noch etwas"
        r"|außerdem|wichtig|hinweis)\b[\s,.!:;-]*"
    ),
    correction=pattern(
        r"(?:nein|nee|ne|nö|falsch|nicht so|eigentlich|stattdessen|lieber|ich sagte(?: doch)?"
        r"|ich habe (?:doch )?gesagt,?(?: dass)?)\b[\s,.!:;-]*"
    ),
    remember=pattern(
        r"(?:bitte )?(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht)(?: bitte)?[,:]? (?:dass )?"
    ),
    question=pattern(
        r"^(?:wäre|könnte|würde|hättest|gibt|gäbe|sollten|warum|weißt|kennst|meinst|geht|lohnt"
        r"|spricht|braucht|macht|muss|müssen) (?:das|man|wir|es|du|ich|da|sich|den|die|eine?)\b",
        r"^(?:was|wie|warum|wieso|weshalb|welche[rsn]?|wer|wem|wen|wann|wo|woher|wohin|ist|sind|war"
        r"|hat|haben|kann|kannst|können|könntest|soll|sollen|sollte|sollten|würdest|willst|darf) ",
    ),
    hypothetical=pattern(
        r"^ich hatte (?:überlegt|gedacht|vor)\b",
        r"^(?:falls|wenn|sollte) .*\b(?:mal|würde|irgendwann|nächstes jahr|reicht|reichen)\b"
        r"|\b(?:müsste|müssten|irgendwann|eines tages|gesetzt den fall|theoretisch)\b",
        r"^ich (?:glaube|vermute)\b|^ich denke,? (?:dass|der|die|das|es)\b",
        r"^(?:angenommen|stell dir vor|was wäre wenn|falls|nehmen wir an|zum beispiel)\b",
        r"\b(?:vielleicht|eventuell|womöglich|wäre|hätte(?! (?:ich )?gern)|könnte|könnten"
        r"|wahrscheinlich|überlege)\b",
        r"^wenn (?:ich|wir) .*(?:würde|hätte|wäre)",
    ),
    once=pattern(
        r"\berst ?mal\b",
        r"\b(?:für|in|während) (?:die|den|der|das) (?:nächsten?|kommenden?|restlichen?|rest)\b"
        r"|\b(?:die|den) nächsten? (?:\w+ )?(?:minuten?|stunden?|tage?|wochen?)\b"
        r"|\b(?:für|in|während) diese[nmrs]? (?:pr|branch|sitzung|ticket|chat|gespräch)\b"
        r"|\bbis (?:zum? |nach |heute |morgen|zur )?(?:mittag\w*|pause|feierabend|abend|morgen"
        r"|montag|dienstag|mittwoch|donnerstag|freitag|ende der woche)\b",
        r"\b(?:nur|mal) (?:für|in) (?:diese[nrsm]?|den|die|das|dem) \w+|\btestweise|\bprobeweise"
        r"|\bkurz (?:auf|mal|in|an)\b|\bich (?:schau|teste|probiere|stelle"
        r"|mach\w*) (?:es )?(?:nur|mal|nachher|gleich|danach)\b|\bfür den (?:test|moment"
        r"|augenblick)\b|\bdieses eine mal\b|\bnur für\b|\bfürs erste\b"
        r"|\bzum testen\b|\bhinterher\b|\bmal nur\b",
        r"\b(?:diesmal|dieses mal|nur (?:heute|jetzt|dieses mal|hier)|heute|vorerst|ausnahmsweise"
        r"|im moment|momentan|(?<!ich[ ])gerade|vorübergehend|einmalig|für jetzt)\b",
    ),
    others=pattern(
        r"^(?:der|die|das|mein|meine|unser|unsere|ein|eine) \w+ (?:findet|sagt|glaubt|denkt),",
        r"^(?:der|die|das|ein|eine|mein|meine|unser|unsere) \w+(?: (?:aus|von|vom|im"
        r"|in) \w+)? (?:möchte|will|wollen|wünscht|hätte gern|fordert|verlangt|bevorzugt|meint)\b",
        r"^(?:mein|meine|unser|unsere|der|die|ein|eine|dein|deine|alle) (?:\w+e[rn]? )?(?:mann"
        r"|frau|betreuer(?:in)?|chef(?:in)?|kunden?|kundin|nutzer(?:innen)?|kolleg(?:e|in|en)"
        r"|vertrieb|lieferant|freund(?:in)?|vermieter|dozent|professor(?:in)?|leute|team"
        r"|marketing|support|redaktion|tester|lektor(?:in)?|designer(?:in)?"
        r"|nachbar) [a-zäöü]+t\b|^(?:mein|meine|unser|unsere|der|die) (?:mann|frau"
        r"|betreuer(?:in)?|chef(?:in)?|kunden?|kundin|nutzer(?:innen)?|kolleg(?:e|in|en)"
        r"|vertrieb|lieferant|freund(?:in)?|vermieter|dozent|professor(?:in)?|leute|team"
        r"|marketing|support|redaktion|tester|lektor(?:in)?|designer(?:in)?|nachbar) (?:wollen"
        r"|will|kann|können|mögen|mag|haben|finden|hat)\b",
        r"^(?!(?:wie |was |dass )?(?:ich|wir)\b)(?:[\wäöüß.-]+,? ){1,5}(?:meinte?|sagte?"
        r"|schreibt|schrieb|behauptet|empfiehlt|fordert|glaubt|rät)\b",
        r"^(?:der|die|das|mein|unser|ein)\w* \w+ hat (?:\w+ ){0,2}(?:gesagt|gemeint|geschrieben"
        r"|erzählt|empfohlen|vorgeschlagen)\b",
        r"\b(?:solle|sei|möge|müsse|dürfe)\b|\bveraltet\b",
        r"\b(?:readme|doku(?:mentation)?|handbuch|log|fehler|ausgabe|datei|seite|artikel|er|sie|man"
        r"|kollegin?|chef|kunde|tool|assistent|du|es) (?:sagt|sagte|sagst|schreibt|empfiehlt|meint"
        r"|meinte|behauptet|will|steht|zeigt|schlägst)\b",
        r"\b(?:steht|stand|heißt es),? qq",
        r"\b(?:laut|angeblich|im readme steht|dort steht|da steht)\b",
        r"^(?:mein|meine|unser|unsere) (?:kollege|kollegin|chef|chefin|freund|freundin|kunde)\b",
    ),
    denied=pattern(
        r"\b(?:egal(?! (?:wie|was|wo|in|ob|welch\w*|für|bei|auf)\b)|muss(?:t)? nicht|müssen nicht"
        r"|brauchst nicht|nicht nötig"
        r"|noch nicht entschieden"
        r"|nicht entschieden|hab\w* (?:ich )?nie (?:gesagt|erwähnt|verlangt|gewollt|behauptet)"
        r"|keine präferenz|schon gut|vergiss es)\b"
    ),
    deictic=pattern(
        r"\b(?:diese[rsmn]?|dieses|jene[rsmn]?|den (?:ersten|zweiten|letzten)|die (?:erste|zweite"
        r"|letzte|obige|folgende))\b"
    ),
    decision=pattern(
        r"\b(?:csv|xml|json|schnittstelle|\w*exporte?|\w*dateien|preise|beträge|\w*daten"
        r"|spalten)\b.*"
        r" (?:ist|sind|kommt|kommen|wird|werden) (?:jetzt|nun|ab sofort|neuerdings"
        r"|inzwischen) (?!da|weg"
        r"|fertig|kaputt|leer|falsch)\w",
        r"^zurück (?:zu|auf) [\w.]+ \d",
        r"\b(?:wir|ich) haben? (?:uns|mich) .*(?:entschieden|geeinigt|festgelegt)\b",
        r"\b(?:wir sind|ich bin) von \S+ (?:auf|zu) \S+ (?:umgestiegen|gewechselt|migriert)\b",
        r"\b(?:wir|ich) haben? (?:entschieden|beschlossen|vereinbart)\b",
        r"\b(?:wir|ich) (?:nehmen|nehme|bleiben bei|bleibe bei|steigen auf|wechseln zu) ",
    ),
    profile=pattern(
        r"^ich bin (?:selbst |von beruf |gelernte[rn]? )?\w+(?:berater|lehrer|arzt|ärzt"
        r"|ingenieur|techniker"
        r"|forscher|anwält|anwalt|pfleger|buchhalter|meister|ökonom|biolog|chemiker"
        r"|physiker)(?:in)?\b",
        r"\bich (?:wohne|lebe|arbeite|spreche|komme aus|heiße|bin (?:\w+ )?\w*(?:entwickler\w*"
        r"|ingenieur\w*|student\w*|lehrer\w*|forscher\w*|designer\w*))\b",
        r"\bmein(?:e)? (?:name|zeitzone|muttersprache|editor|betriebssystem|firma|beruf) ist\b",
        r"^nenn(?:e)? mich ",
    ),
    preference=pattern(
        r"\bich (?:bevorzuge|mag (?:keine?n?|lieber|nur)|hasse|verwende (?:immer|nie|kein)"
        r"|benutze (?:immer|nie|kein)|nutze (?:immer|nie|kein)|schreibe (?:immer|nie|auf|in)"
        r"|möchte (?:immer|nie|keine)|will (?:immer|nie|keine))",
        r"\bich .* lieber\b",
        r"\bmir sind? .* lieber\b",
    ),
    desire=pattern(r"\bich (?:möchte|will|hätte gern(?:e)?|mag|brauche) "),
    generic=pattern(
        r"\b(?:jede[rsmn]?|alle[rsn]?|immer|nie|niemals|überall|nur|höchstens|maximal)\b"
    ),
    rule=pattern(
        rf"\b(?:jede[rs]?|alle|unsere|keine?)? ?(?:\w+ )?{_MADE} (?:\w+ )?(?:müssen|muss|sollen"
        rf"|soll"
        r"|dürfen|darf|sind|ist|haben) .*(?:höchstens|maximal|nicht|nie|kein|immer|unter|kurz|auf"
        r"|in|nur)\b",
        rf"^(?:keine|höchstens|maximal|nur) .*{_MADE}",
    ),
    standing=pattern(
        r"\b(?:ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|in zukunft|künftig|zukünftig|immer"
        r"|nie|niemals|grundsätzlich|standardmäßig|jedes mal|generell)\b"
    ),
    imperative=pattern(rf"^(?:{_VERBS}|keine?) "),
    standing_order=pattern(
        rf"^{_VERBS} .*\b(?:vor|nach|bei) (?:jedem|einem|dem) (?:commit|push|merge|release)\b",
        rf"^{_VERBS} .*\b(?:statt|anstatt|anstelle von)\b",
        rf"^(?:halte|schreib|schreibe) (?:alle )?(?:\w+ )?{_MADE} (?:\w+ )?(?:kurz|klein|unter|auf"
        rf"|in"
        r"|höchstens|maximal)",
        r"^vermeide (?!das |den |die )",
    ),
    corrected=pattern(
        rf"^{_VERBS} (?!das\b|den |die |es\b)\S+", r"^(?:wir|ich) (?:nutzen|verwenden|benutzen) "
    ),
    fact=pattern(
        r"\b(?:veröffentlicht|ausgeliefert|gebaut|deployt|getestet) wird (?:mit|über|per) ",
        r"\b(?:tests?|testsuite|build|linter|deployments?|paketmanager|standard-?branch|datenbank)"
        r" (?:laufen|läuft|ist|werden|wird|heißt|starten|startet) .*(?:mit|über|per|durch|auf|\w)",
        r"^wir (?:verwenden|nutzen|benutzen|testen mit|bauen mit|deployen) (?!das |es |den )",
    ),
    status=pattern(
        r"\b(?:ist|sind|läuft|laufen) (?:\w+ )?(?:kaputt|rot|grün|langsam|fertig|nicht|noch|gerade"
        r"|schon|wieder|da|weg|falsch)\b"
    ),
    project=pattern(
        r"\b(?:in|für) (?:diese[mrs]?) (?:projekt|repo|repository|codebasis|dienst|app|anwendung"
        r"|paket)\b"
    ),
    everywhere=pattern(
        r"\b(?:überall(?! (?:in|auf|im) )|in allen (?:meinen )?projekten|generell)\b"
    ),
)
