"""French: the common forms."""

from memory_write.offline.lexicon import Lexicon, pattern

_MADE = (
    r"(?:fonctions?|méthodes?|classes?|tests?|commits?|messages?|titres?|introductions?|réponses?"
    r"|explications?|commentaires?|variables?|noms?|fichiers?|lignes?|textes?|paragraphes?"
    r"|résumés?|courriels?|e-mails?|rapports?|listes?)"
)
_VERBS = (
    r"(?:utilise[zr]?|emploie|écris|écrivez|garde[zr]?|lance[zr]?|exécute[zr]?|fais|faites"
    r"|réponds|répondez|évite[zr]?|formate[zr]?|teste[zr]?|vérifie[zr]?|demande[zr]?|ajoute[zr]?"
    r"|mets|mettez|laisse[zr]?|n'(?:utilise|ajoute|écris)[zr]? (?:pas|jamais|plus)"
    r"|ne (?:fais|mets|touche|lance|pousse)[zr]? (?:pas|jamais|plus))"
)

FRENCH = Lexicon(
    name="french",
    common_words=frozenset(
        "le la les l d j n qu s à un une je nous est sont ne pas dans de des du et en pour "
        "avec mon ma mes notre toujours jamais avant chaque il faut doivent doit plaît au aux "
        "que on tu vous quand si plus moins mais puis donc cette ce ces sur par qui ton tes "
        "sans même tout c très ici fait être il elle ils à a as ai où ou moi".split()
    ),
    opener=pattern(
        r"(?:c'était (?:bien )?ça(?=,)|nickel|ah|impeccable|en revanche|par contre|au passage"
        r"|du coup|attention|d'ailleurs|ok|bien|merci"
        r"|parfait|super|oui|et|mais|s'il te plaît|s'il vous plaît|au fait|aussi"
        r"|bonjour|salut|d'accord|note|important)\b[\s,.!:;-]*"
    ),
    correction=pattern(
        r"j'avais dit [^,]{1,60}, (?:oublie|laisse)[^,]{0,20}, ",
        r"(?:non|faux|pas comme ça|en fait|plutôt|à la place"
        r"|j'ai (?:déjà )?dit (?:que )?)\b[\s,.!:;-]*",
    ),
    remember=pattern(
        r"(?:s'il te plaît )?(?:souviens-toi|rappelle-toi|retiens|n'oublie pas"
        r"|note)(?: bien)?(?: que| de)?[,:]? "
    ),
    question=pattern(
        r"^(?:tu (?:crois|connais|penses|sais)|vous (?:pensez|savez)|est-ce|faut-il|y a-t-il"
        r"|a-t-on|doit-on|ça (?:vaut|change)|c'est quoi)\b",
        r"^(?:que|quoi|comment|pourquoi|quel(?:le)?s?|qui|quand(?= (?:est|sont|faut|va|vas|as"
        r"|a-t|dois))|où|est-ce que|peux-tu|pouvez-vous"
        r"|pourrais-tu|faut-il|devrait-on|as-tu|y a-t-il|combien|qu'est-ce) ",
    ),
    hypothetical=pattern(
        r"^j'avais (?:pensé|imaginé|envisagé)\b",
        r"^(?:et )?si (?!.*\b(?:dis|demande|préviens|signale|propose)\b)(?:on|un|une|le|la|l'"
        r"|jamais|je|nous|tu|les) ?\w+|\b(?:supposons|admettons"
        r"|imaginons|un jour|il faudrait|on irait|hypothétiquement|en théorie|au cas où)\b",
        r"^je (?:crois|soupçonne)\b|^je pense qu",
        r"\bauraient\b|\baurait\b",
        r"^(?:supposons|imagine|imaginons|disons|admettons|par exemple|et si)\b",
        r"\b(?:peut-être|pourrait|pourrions|serait|probablement|éventuellement|je pense à)\b",
        r"^si (?:je|j'|nous|on) ?(?:utilisai|avai|étai|préférai|vivai|habitai)",
    ),
    once=pattern(
        r"\b(?:juste (?:un essai|pour|cette)|(?!^)pour (?:voir|tester|essayer"
        r"|ce (?:\w+-là|ticket|test|commit|fichier|tableau|graphique|message|mail|run|essai"
        r"|coup|sprint|mois|jour|build|lot|rapport|correctif|merge|push|déploiement|poster)"
        r"|cette \w+-(?:là|ci)|la (?:capture|démo|réunion))|un instant|(?:deux|cinq"
        r"|quelques) (?:minutes|secondes)|c'est (?:juste )?(?:un essai|pour (?:voir|aujourd'hui"
        r"|tester))|provisoire\w*|temporaire\w*|je (?:remettrai|remets|changerai|l'enlèverai)"
        r"|le temps de|une seule fois)\b",
        r"\b(?:cette fois|pour l'instant|pour le moment|aujourd'hui|juste (?:maintenant|ici)"
        r"|exceptionnellement|temporairement|pour cette fois|en ce moment)\b",
    ),
    others=pattern(
        r"^(?:le|la|les|un|une|mon|ma|notre|l') ?\w+ (?:voudrait|aimerait|souhaiterait|souhaite"
        r"|réclame|exige|préfère|demande|trouve)\b",
        r"^(?:mon|ma|notre|nos|mes|le|la|les|un|une) (?:\w+ )?(?:mari|femme|chef|cheffe|clients?"
        r"|utilisateurs?|designer|fournisseur|prof|professeur|tuteur|collègues?|ami|amie|sœur"
        r"|frère|prestataire|graphiste|marketing) (?:ne |n'|me |m'|se |s'|toujours "
        r"|veut )*\w+e?(?:nt|t|s)?\b",
        r"^(?!(?:comme |que )?(?:je|j'|nous|on)\b)(?:[\w'àâéèêëîïôûùüç.-]+,? ){1,6}(?:dit|disait"
        r"|écrit|pense|recommande|prétend|conseille|affirme|raconte|croit|propose de|a lu)\b",
        r"\bj'ai lu\b",
        r"\b(?:readme|documentation|manuel|log|erreur|sortie|fichier|page|article|il|elle"
        r"|quelqu'un|collègue|chef|client|outil|assistant|tu) (?:dit|disait|as dit|recommande"
        r"|préfère|veut|suggère|indique|affiche|écrit)\b",
        r"\b(?:selon|d'après|apparemment|paraît-il)\b",
        r"^(?:mon|ma|notre) (?:collègue|chef|cheffe|ami|amie|client|cliente)\b",
    ),
    denied=pattern(
        r"\b(?:peu importe|pas besoin(?! du? (?:récap\w*|résumé|préambule|détail\w*))(?! (?:de "
        r"|d')(?:me|récap|introduction|politesse|résumé|demander"
        r"|saluer))"
        r"|pas nécessaire|n'avons pas décidé|pas encore décidé"
        r"|n'ai (?:pas|jamais) dit|tu n'as pas à|aucune préférence|laisse tomber|ça m'est égal)\b"
    ),
    deictic=pattern(
        r"\b(?:ce|cet|cette|ces|ceci|cela|ça|celui-ci|celle-ci|la (?:première|deuxième|dernière)"
        r"|le (?:premier|deuxième|dernier))\b"
    ),
    decision=pattern(
        r"\b(?:csv|xml|json|exports?|fichiers?|prix|montants|dates|données|colonnes)\b.* (?:est"
        r"|sont)"
        r" (?:maintenant|désormais|dorénavant) (?!cassé|vide|prêt|là)\w",
        r"^retour à [\w.]+ \d",
        r"\b(?:nous avons (?:décidé|choisi|convenu|opté)|on a (?:décidé|choisi|opté)"
        r"|j'ai (?:décidé|choisi)|nous partons sur|on part sur|nous passons à|on passe à)\b",
    ),
    profile=pattern(
        r"^je suis (?:une? )?[\wéè]*(?:onome|icien(?:ne)?|ogiste|ologue|écaire|mptable|édecin"
        r"|avocate?"
        r"|firmière?|rchitecte|libraire|graphiste|juriste)\b",
        r"\b(?:j'habite|je vis (?:à|en|au)|je travaille (?:chez|comme|pour|à|en)|je parle"
        r" (?!de|à|avec)|je m'appelle|mon nom est|mon fuseau horaire est|mon éditeur est"
        r"|ma langue maternelle est|appelle-moi)\b",
        r"\bje suis (?:une? )?(?:\w+ )?\w*(?:développeu\w+|ingénieur\w*|étudiante?|enseignante?"
        r"|designer|chercheu\w+)\b",
    ),
    preference=pattern(
        r"\bje (?:préfère|déteste|n'aime pas|n'utilise (?:pas|jamais)|veux toujours|ne veux (?:pas"
        r"|jamais|plus) de)\b",
        r"\b(?:j'utilise toujours|j'écris toujours|ma (?:règle|préférence) est|mon style est"
        r"|je n'aime pas|je préfère)\b",
    ),
    desire=pattern(r"\b(?:je veux|j'aime(?:rais)?|je voudrais|j'ai besoin) "),
    generic=pattern(
        r"\b(?:chaque|toute?s?|tous|toujours|jamais|au plus|maximum|seulement|en général|aucune?)\b"
    ),
    rule=pattern(
        r"^laisse[zr]? .* tel(?:le)?s? quel(?:le)?s?\b",
        rf"^(?:dans \S+,? )?(?:toutes les|tous les|chaque|les|la|le|nos|notre"
        rf"|l')? ?(?:\w+ )?{_MADE}"
        r" (?:\w+ )?(?:ne )?(?:doivent|doit|peuvent|sont|font|restent|ont) ",
        rf"^(?:aucune?|pas de|jamais de|maximum|au plus|pas plus d).*{_MADE}",
    ),
    standing=pattern(
        r"\b(?:à partir de maintenant|désormais|dorénavant|à l'avenir|toujours|jamais|par défaut"
        r"|chaque fois|systématiquement)\b"
    ),
    imperative=pattern(rf"^(?:{_VERBS}) "),
    standing_order=pattern(
        rf"^{_VERBS} .*\b(?:avant|après) (?:chaque |de )?(?:commit\w*|push\w*|fusionner|pousser)",
        rf"^{_VERBS} .*\b(?:au lieu d|plutôt qu)",
        rf"^(?:garde[zr]?|écris|fais) (?:des |les |toutes les |tous les )?{_MADE} ",
        r"^évite[zr]? (?!le |la |ce)",
    ),
    corrected=pattern(rf"^{_VERBS} (?!ce|ça|le |la )\S+", r"^(?:on|nous) utilis(?:e|ons) "),
    fact=pattern(
        r"^on (?:publie|déploie|livre|compile|teste|construit) (?:avec|par|via) ",
        r"\b(?:les tests|le build|le linter|le déploiement|la base de données|la branche"
        r" principale|le gestionnaire de paquets) (?:se lancent?|s'exécutent?|est|sont|passent? par"
        r"|tournent?|utilise) ",
        r"^(?:pour (?:tester|lancer|compiler|déployer).*(?:utilise|lance)|on utilise"
        r"|nous utilisons) ",
    ),
    status=pattern(r"\b(?:échouent?|cassée?s?|encore|déjà|en panne|lente?s?|passent tous)\b"),
    project=pattern(
        r"\b(?:dans|pour) ce(?:tte)? (?:projet|dépôt|repo|code|service|appli\w*|paquet)\b"
    ),
    everywhere=pattern(
        r"\bdans (?:aucun|chacun|tous) de mes\b|\bdans (?:aucun|chacun)e? de mes \w+",
        r"\b(?:partout(?! (?:dans|sur))|dans tous mes projets|en général)\b",
    ),
)
