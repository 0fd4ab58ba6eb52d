"""French: the signs that a statement is meant for later."""

from memory_write.offline.lexicon import pattern
from memory_write.offline.signals import Signals

FRENCH_SIGNALS = Signals(
    lasting=pattern(
        r"\bpour chaque\b|\bquoi qu'il arrive\b",
        r"\b(?:à partir de maintenant|désormais|dorénavant|à l'avenir|toujours|jamais|par défaut"
        r"|(?:à )?chaque fois|systématiquement|en général|d'habitude|partout|la prochaine fois"
        r"|les prochaines fois|en toutes circonstances|sans exception|ne .* plus|d'une manière"
        r" générale|en aucun cas|jusqu'à nouvel ordre|comme d'habitude|dans toute?s? l[ae]s?)\b",
    ),
    bans=pattern(
        r"\bnulle part ailleurs\b|^(?:il )?faut pas \w|\bet c'est tout$",
        r"\brien d'autre\b|\bne bouge(?:nt)? pas\b",
        r"\bne \w+ que ce qui\b|^rien n'\w+|\bépargne\w*\b",
        r"\bn'y \w+ (?:plus|pas|jamais)\b|, jamais \w+|\bpas de \w+",
        r"(?:^|[,;:.!] |\b(?:et|mais|donc|surtout|attention) )(?:pas (?:de|d')|jamais (?:de|d')"
        r"|aucune?|sans|zéro|plus (?:de|d')|évite[zr]?|arrête[zr]?|interdit|rien de) ?\w",
        r"\b(?:interdite?s?|proscrite?s?|bannie?s?|pas autorisée?s?|hors de question|exclue?s?)\b",
        r"\b(?:ne|n') ?(?:me |le |la |les |l')?\w+(?:'?\w+)? (?:jamais|pas|plus|aucune?|rien)\b"
        r"|\b(?:on|nous|je) n(?:e |')\w+ (?:jamais|pas|plus|aucune?)\b|\bnon plus\b"
        r"|\bn'en (?:veux|voulons|faut)\b",
    ),
    ruling=pattern(
        r"^on a une? \w+ par \w+",
        r"\bn'\w+ pas .*, (?:il )?faut (?!que je)",
        r"\bcomme (?:le reste|partout|ailleurs|les autres)\b",
        r"\b(?:est|sont) (?:maintenant|désormais) \w+é\w*\b|^retour à \w|\bcommencent par\b",
        r"\bportent (?:le|un) (?:nom|préfixe)\b|\bs'appellent comme\b|\bla seule source\b",
        r"\bne (?:fait|font|contient|contiennent|touche|touchent) que\b|\bpassent? par\b"
        r"|\bseulement (?:si|quand)\b",
        r"\bon ne \w+ que\b|\bnous ne \w+ que\b|\bc'est l'équipe qui\b|\bon (?:arrondit|compte"
        r"|nomme|numérote|trie|sépare|supporte|documente)\b|\bsans (?:deux|une?"
        r"|trois) (?:relectures?|revues?|tests?|validations?)\b",
        r"\b(?:règles?|convention\w*|norme|politique|standard|obligat\w+|contrainte|décision"
        r"|décidé|convenu|acté|exigence|consigne|imposée?s?|charte|règlement)\b",
        r"\b(?:on|nous|je) (?:a |avons |ai )?(?:rest\w+|gard\w+|utilis\w+|pass\w+|pren\w+|part\w+"
        r"|travaill\w+|écri\w+|stock\w+|fait|faisons|choisi|opté|retenu|retiré|met|mettons)\b",
        r"\b(?:l'équipe|on) a (?:décidé|choisi|opté|tranché|adopté)\b|\bon s'en tient\b",
        r"\b(?:va|vont|sont|est|reste|restent|passe|passent) (?:dans|en|au|par|sur|notée?s?"
        r"|sans)\b",
    ),
    ours=pattern(
        r"\b(?:nous|nos|notre|chez nous|l'équipe|on (?!dirait|peut|pourrait|avait un)\w+)\b"
    ),
    self=pattern(r"\b(?:je|j'\w+|moi|mon|ma|mes|me|m'\w+)\b"),
    likes=pattern(
        r"^je (?:relis|lis|travaille|écris|teste) .*, donc\b",
        r"\bpas (?:besoin|la peine) (?:de |d\')(?:me )?(?:demander|prévenir|expliquer|saluer"
        r"|introduction"
        r"|politesse|résumé)|\bme suffit\b|\bme suffisent\b|\binutile de m\'expliquer\b",
        r"\b(?:vouvoie|vouvoyez|tutoie|tutoyez)-moi\b|\bon se (?:tutoie|vouvoie)\b",
        r"\b(?:suffit|suffisent|suffira|m'énerve|m'agace|me rend fou|m'insupporte|me méfie)\b",
        r"\b(?:je (?:préfère|déteste|n'aime pas|ne veux (?:pas|plus|jamais)|veux (?:que|toujours"
        r"|seulement)|tiens à|comprends mieux|lis mieux|n'en veux pas|supporte pas)|j'aime"
        r"|j'aimerais que|j'essaie de|je n'en veux|ça me (?:gêne|dérange|va mieux)"
        r"|je suis (?:maniaque|pointilleu\w+|strict\w*))\b",
    ),
    contrast=pattern(
        r", (?:l[ea] )?(?!(?:le )?reste\b|ça\b|il\b|elle\b|on\b)[\w-]+ (?:reste|va|c'est) \w",
        r", (?:et )?pas \w|\b(?:plutôt que|au lieu d[e']|et non|mais pas|sauf|excepté|et pas"
        r"|à la place d[e'])\b",
    ),
    every=pattern(
        r"\b(?:chaque|tous|toutes?|tout|uniquement|seulement|juste|au (?:plus|moins|maximum)"
        r"|maximum|minimum|une? seule?|par \w+|rien que|même quand|quoi que ce soit)\b"
    ),
    reason=pattern(
        r"\b(?:alors|du coup)\b",
        r"\b(?:parce qu\w*|car|sinon|puisque|afin|pour que|pour (?:éviter|garder)|donc|c'est pour"
        r"|de sorte|du coup|exprès|après tout)\b",
        r", (?:c'est|ils?|elles?|on|je|j'\w+|nous|ça|comme) ",
    ),
    manner=pattern(
        r"\b(?:émojis?|smileys?|anglicismes?|inventer|dis-le|pas la peine|tutoie\w*)\b|\b(?:dans"
        r"|de) tes"
        r" (?:réponses|messages|textes)\b",
        r"^[\w'éèêàâîôûç]+-moi\b|\bmontre-moi\b|\b(?:le pourquoi|salutations|moi-même"
        r"|débutante?)\b",
        r"\bquand (?:tu|vous) \w+|\b(?:blabla|dis|dites) \w+",
        r"\b(?:réponses?|réponds|répondez|expli\w+|résum\w+|phrases?|formules?|politesse|direct"
        r"|tutoie\w*|vouvoie\w*|vouvoyez|concis\w*|bref|brève|essentiel|parle-moi|parlez-moi"
        r"|confirmation|permission|jargon|proposer|propositions?|exemples?)\b",
        r"\b(?:demande|montre|dis|donne|explique|préviens|parle|propose|demandez|montrez|dites"
        r"|donnez|expliquez|prévenez)-(?:moi|le-moi)\b|\bsois\b|\bsoyez\b|\bavec moi\b",
        r"\ben (?:français|anglais|allemand)\b",
        r"\bsans (?:me |mon |ma |demander|permission)\w*|\bavant de (?:le |la |les )?(?:faire"
        r"|modifier|changer|supprimer|commencer)\b|\bce que (?:tu|vous) (?:changes?|fai\w+)\b",
    ),
    complaint=pattern(
        r"^(?:tes|ton|ta|vos|votre) \w+ (?:est|sont|fait|font) ",
        r"\bmoins de (?:blabla|texte|mots|bavardage|phrases|détails)\b|\btu as encore\b"
        r"|\bvous avez encore\b|\bn'y touche[zr]? plus\b",
        r"\b(?:trop (?:longue?s?|verbeux|bavarde?|formel|compliqué|technique|courte?s?|de texte)"
        r"|plus (?:courte?|simple|bref|direct|concis)|arrête[zr]? de|tu as (?:encore|remis|ajouté"
        r"|changé|modifié)|je t(?:e l)?'ai (?:déjà )?dit|on avait dit|va à l'essentiel"
        r"|tes réponses|vos réponses|ne me \w+ pas|cesse[zr]?)\b",
    ),
    blame=pattern(
        r"\b(?:t'as|tu as|vous avez) (?:\w+ )?(?!raison)\w*(?:é|mis|fait|écrit|repris)s?\b",
    ),
    must=pattern(r"\b(?:doit|doivent|(?:il )?faut(?! que je)|devra|devront)\b"),
    modal=pattern(
        r"\b(?:doit|doivent|il faut|faut|faudra|est|sont|c'est|va|vont|reste|restent|s'écri\w+"
        r"|se \w+nt?)\b"
    ),
    general=pattern(
        r"^pour (?:les|la|le) \w+(?: \w+){0,2},? c'est \w",
        r"^(?:les|nos) [\w'-]+(?: [\w'-]+){0,4}? c'est (?!bon|bien|mieux|faux|cassé|lent|pas|trop"
        r"|fini|ok|nul|chiant|mort)",
        r"\bportent (?:le nom|le préfixe|un préfixe)\b|\bs'appellent comme\b|\bla seule source\b",
        r"^(?:une?|\d+) [\wéè-]+ (?:par|au|maximum)\b",
        r"^(?:les|nos|chaque|toutes? les?|tous les|le code) [\w'-]+(?: [\w'-]+){0,4}?,? (?:sont"
        r"|sans|avec"
        r"|vivent|vont|au|aux|en|dans|à côté|n'\w+|ne \w+|s'\w+|se \w+|doivent|doit|restent"
        r"|portent|commencent|passent|prennent|on)\b",
        r"^(?:rien|personne|aucune?) (?:n'|ne )|^pas d(?:e |')\w+|^(?:quand|si) (?:c'est|un|une"
        r"|quelque chose|tu (?:doutes|hésites))\b.*,|^au moindre doute\b",
        r"\b(?:le (?:lundi|mardi|mercredi|jeudi|vendredi|week-end)|la nuit)\b.*$",
    ),
    things=pattern(
        r"\b(?:tables|colonnes|branches|coordonnées|distances|couvertures|horodatages)\b",
        r"\b(?:fonctions|méthodes|classes|tests?|commits?|messages|titres|réponses|commentaires"
        r"|variables?|noms|fichiers|lignes|textes?|paragraphes|résumés|courriels|mails|rapports"
        r"|listes|dépendances?|bibliothèques?|paquets|couleurs|unités|montants|prix|dates|images"
        r"|journaux|logs|erreurs|composants|modules|scripts|liens|types|contrôleurs|services"
        r"|données|clés?|secrets?|migrations|versions|graphiques|températures|singletons|signaux"
        r"|vecteurs|exports|tableaux|chiffres|pages|threads|code|documentation|fixtures)\b",
    ),
    here=pattern(
        r"^(?:tout l[ea]|toute la|l\'ensemble du) \w+ (?:est|utilise|tourne)\b",
        r"\b(?:dans|sur|pour|de) (?:ce|cette|le|la|notre|toute la|tout le|mes) (?:projet|dépôt|repo"
        r"|code|site|appli\w*|service|paquet|jeu|base de code|thèse|paie|blog|librairie|cours)\b"
        r"|\b(?:ici|chez nous)(?:,| (?:on|nous|c'est|il))|\bc'est un \w+ (?:français|interne)\b"
        r"|\bsur (?:ce|le) projet\b|\bdans le dépôt\b",
    ),
    recurs=pattern(
        r"\b(?:quand|lorsqu\w*|avant|après|dès que|à chaque|chaque fois)"
        r" (?:qu\w*|de|d'|tu|vous|on|un\w*|chaque|toute?|\w+ation|\w+er)\b"
    ),
    imperative=pattern(
        r"^(?:utilise[zr]?|écri\w+|garde[zr]?|lance[zr]?|fais|faites|réponds|répondez|évite[zr]?"
        r"|teste[zr]?|vérifie[zr]?|demande[zr]?|ajoute[zr]?|mets|mettez|laisse[zr]?|rédige[zr]?"
        r"|explique\S*|montre\S*|parle\S*|donne\S*|passe[zr]?|prends|prenez|sois|soyez|nomme[zr]?"
        r"|n'\w+|ne \w+|jamais|toujours|arrête[zr]?|vouvoyez\S*|tutoie\S*|vouvoie\S*)\b"
    ),
    asks=pattern(
        r"\bc'est (?:notre|ma|mon|la) (?:\w+ )?(?:convention|règle|habitude|norme|style|ordre"
        r"|standard|minimum|façon)\b|\bchez nous\b",
        r"\b(?:souviens-toi|rappelle-toi|retiens|retenez|n'oublie\w*|note[zr]? (?:que|bien|ça)"
        r"|garde[zr]? (?:ça|cela) en tête|c'est la règle|fais-le à chaque|pour la prochaine"
        r"|c'est acté|à chaque fois|laisse comme ça|garde-le comme ça|on reste comme ça)\b",
    ),
    endorses=pattern(
        r"^(?:pareil|idem|même chose) (?:pour|dans|sur|avec)\b",
        r"^(?:et )?(?:c'est|ça|cela|ceci) (?:la règle|notre|acté|décidé|une règle|comme ça|vaut"
        r"|ainsi|valable|une? (?:obligation|contrainte)|s'applique|toujours|la convention)\b",
        r"^(?:à chaque fois|toujours|partout|sans exception|retiens-le|retiens ça|note-le"
        r"|souviens-t'en|systématiquement|pour tous mes projets|dans tous les cas)[.! ]*$",
        r"^on (?:fait|procède) (?:toujours )?(?:comme ça|ainsi)\b",
    ),
    because=pattern(
        r"^(?:je (?:comprends|lis|relis|travaille|préfère|suis|veux|n'arrive|vois)|c'est (?:plus"
        r"|pour|illisible|ingérable)|sinon|ça (?:casse|aide|évite|m')|personne|on (?:l'a|les a)"
        r"|le \w+ (?:lit|relit|vérifie))\b"
    ),
    passing=pattern(
        r"^les .* ne (?:sont|s'\w+) pas \w+",
        r"^il nous reste\b|\bje confonds\b|\btoujours été\b|\btouché\w*\b",
        r"\b(?:a|ont|est|sont|utilise) maintenant\b",
        r"^(?:je dois|j'oublie toujours|je (?:ne )?dors|il me (?:faut|reste)|je n'ai (?:que"
        r"|plus))\b",
        r"\b(?:échoue|échoué|marche|fonctionne|affiche|ignore|prend \d|sautent|plante déjà|semble"
        r"|a renommé|est cassé|en panne|est lent|tourne|a échoué|ne tient pas|joue)\b",
        r"^(?:j'ai|il me faut|je (?:veux (?!que|toujours|seulement)|voudrais|code|viens|vais|vois)"
        r"|on (?:peut|pourrait|a un(?! \w+ par))|il y a|ok|super|parfait|merci|top|bien|voilà"
        r"|salut|bonjour"
        r"|coucou|non merci|bof|je n'ai rien)\b",
        r"\bà vérifier\b|\bbof\b|\bmdr\b|\bpas pour l'instant\b|\bdeux minutes\b",
    ),
    task=pattern(
        r"^(?:s'il te plaît )?(?:regarde|corrige|cherche|trouve|supprime|enlève|vire|déplace|crée"
        r"|traduis|ajoute|mets|affiche|génère|lance|relance|montre|dessine|limite|filtrez|pousse"
        r"|fais|fais-le|répare|change|renomme|installe|explique-moi|dis-moi)"
        r"(?:-moi|-le|-la)? (?:le|la|les|l'\w+|un|une|ce|cet|cette|ça|sur|directement|dans|à|en"
        r"|qu\w*)\b(?!.*(?:à chaque fois|avant de|toujours|chaque))",
        r"\b(?:ce|cet|cette|ces) (?!soit\b|que\b|qui\b|projet|dépôt|repo|site|jeu|service"
        r"|appli)\w+(?:-là|-ci)?"
        r"|\b(?:peux-tu|tu peux(?! (?:me \w+oyer|prendre|utiliser|te servir))|pouvez-vous)\b"
        r"|\bpour voir\b|\bun essai\b|\baprès$"
        r"|\bque je compare\b|\bpour (?:aujourd'hui|la capture)\b",
    ),
    retracts=pattern(r"\b(?:finalement|plutôt|changé|oublie|en fait|après tout)\b"),
    reverses=pattern(
        r"^(?:\w+[,.!]* ){0,2}?(?:finalement|en fait|oublie|attends|attendez|correction|je me suis"
        r" trompée?|j'ai changé d'avis|changement de plan|pardon|tout compte fait|je me corrige"
        r"|laisse tomber|réflexion faite|oubliez)\b"
    ),
    purpose=pattern(
        r"\b(?:étape \w+|enfin|pour finir|pour terminer)\b",
        r"\bpour (?:\w+(?:er|ir|re)\b|l\w+|le|la)|\b(?:puis|ensuite|d'abord|après quoi|avant de"
        r"|dans cet ordre)\b|\bse (?:lance|construit|publie|teste|génère|fait) (?:avec|par|via)\b"
        r"|\bc'est .* (?:puis|et|ensuite|qu'on)\b",
    ),
    cause=pattern(
        r"\b(?:il faut|sinon|sans|avant|parce|car|seulement|avec|échoue|plantent?|introuvable"
        r"|c'était|d'abord|doit|utilise|depuis|toujours|manquait|quand|nécessite|besoin)\b"
    ),
)
