"""Spanish: the common forms."""

from memory_write.offline.lexicon import Lexicon, pattern

_MADE = (
    r"(?:funciones|función|métodos?|clases?|pruebas|tests?|commits?|mensajes?|títulos?"
    r"|introducciones|introducción|respuestas?|explicaciones|comentarios?|variables?|nombres?"
    r"|archivos?|líneas?|textos?|párrafos?|resúmenes|correos?|informes?|listas?)"
)
_VERBS = (
    r"(?:usa|utiliza|escribe|mantén|ejecuta|haz|responde|evita|formatea|prueba|revisa|pregunta"
    r"|añade|agrega|pon|incluye|deja|llama|corre|no (?:uses|añadas|agregues|pongas|hagas|escribas"
    r"|toques|incluyas))"
)

SPANISH = Lexicon(
    name="spanish",
    common_words=frozenset(
        "el la los las un una yo nosotros es son no en de que por para con mi mis siempre "
        "nunca favor hemos usar antes cada del al y se deben debe prefiero uso vivo ahora te "
        "lo le si cuando pero como más este esta ese esa tu tus muy ya hay va van sin sobre "
        "algo todo nada desde sus su has he".split()
    ),
    opener=pattern(
        r"(?:che|ah|en cambio|por otro lado|de paso|ojo|claro|eso era|venga|ok|vale|bien|gracias"
        r"|perfecto|sí|y|pero|por favor|además|también|por cierto|hola"
        r"|nota|importante)\b[\s,.!:;-]*"
    ),
    correction=pattern(
        r"(?:no(?=,)|así no|mal|en realidad|en su lugar|mejor|ya (?:te )?dije que)\b[\s,.!:;-]*"
    ),
    remember=pattern(
        r"(?:por favor )?(?:recuerda|ten en cuenta|no olvides|acuérdate de)(?: que)?[,:]? "
    ),
    question=pattern(
        r"^(?:y )?(?:se debe|se suele|deberíamos|debería|conviene|crees|qué te|te parece"
        r"|es mejor|vale la pena|sería)\b",
        r"^[¿]",
        r"^(?:qué|cómo|por qué|cuál|cuáles|quién|cuándo|dónde|puedes|podrías|es posible|deberíamos"
        r"|hay(?! que)|tienes|sabes) ",
    ),
    hypothetical=pattern(
        r"^(?:yo )?había pensado\b",
        r"^si (?:algún día|un día|tuviéramos|hubiera|fuera|alguna vez|en algún momento)\b"
        r"|\b(?:algún día|habría que|habrá que|supongamos|imagina|imaginemos|pongamos que"
        r"|hipotéticamente)\b",
        r"^(?:creo|sospecho|pienso|me parece) que\b",
        r"^(?:supongamos|supón|imagina|digamos|qué tal si|por ejemplo)\b",
        r"\b(?:quizás?|tal vez|a lo mejor|podría|podríamos|sería|probablemente|estoy pensando)\b",
        r"^si (?:yo |nosotros )?(?:usara|usáramos|tuviera|viviera|prefiriera)",
    ),
    once=pattern(
        r"\b(?:un (?:momento|rato|segundo|minuto)|solo (?:por|para) (?:esta|este|hoy|ahora|la"
        r"|el)|es (?:el|la) únic[oa]|para (?:una|la) (?:reunión|demo|prueba|captura)|luego (?:lo"
        r"|la) (?:quito|cambio|borro|revierto)|(?<!datos[ ])(?<!archivos[ ])de prueba"
        r"|es para probar|provisional\w*|por ahora"
        r"|temporal|tempora\w+|mientras depuramos|únicamente (?:esta|este|hoy))\b",
        r"\b(?:esta vez|solo (?:hoy|ahora|esta vez|por hoy)|por ahora|hoy|de momento|por esta vez"
        r"|temporalmente|ahora mismo)\b",
    ),
    others=pattern(
        r"^(?:el|la|los|las|un|una|mi|nuestr[oa]) \w+ (?:quieren?|querría|piden?|exigen?"
        r"|prefieren?|desea)\b",
        r"^(?:mi|nuestr[oa]s?|el|la|los|las|un|una) (?:\w+ )?(?:marido|mujer|jef[ea]|clientes?"
        r"|usuarios?|diseñador(?:a)?|proveedor|profesor(?:a)?|tutor(?:a)?|colega|compañer[oa]s?"
        r"|amig[oa]|herman[oa]|comercial|marketing) (?!y yo)(?:siempre |nunca |solo "
        r"|ya )*\w+[aen]n?\b",
        r"^(?!(?:como |que )?(?:yo|nosotros)\b)(?:[\wáéíóúñ.-]+,? ){1,6}(?:dice[n]?|dijo|dijeron"
        r"|escribió|ponía|pone que|insiste|quiere que|exige|recomienda|opina|cree|piensa|afirma"
        r"|asegura|sostiene)\b",
        r"\b(?:readme|documentación|manual|log|error|salida|archivo|página|artículo|él|ella|alguien"
        r"|colega|jefe|cliente|herramienta|asistente|tú) (?:dice|dijo|decía|dijiste|recomienda"
        r"|prefiere"
        r"|quiere|sugiere|pone|muestra)\b",
        r"\b(?:según|al parecer|supuestamente)\b",
        r"^(?:mi|nuestro|nuestra) (?:colega|jefe|jefa|amigo|amiga|cliente|compañero|compañera)\b",
    ),
    denied=pattern(
        r"\b(?:no importa|da igual|(?<!,[ ])no hace falta(?! que (?:me|preguntes|avises"
        r"|expliques|saludes"
        r"|pidas))|no es necesario|no tienes que"
        r"|no hemos decidido"
        r"|aún no|todavía no|nunca dije|sin preferencia|olvídalo)\b"
    ),
    deictic=pattern(
        r"\b(?:este|esta|esto|estos|estas|ese|esa|eso|aquel|la (?:primera|segunda|última)"
        r"|el (?:primero|segundo|último))\b"
    ),
    decision=pattern(
        r"\b(?:csv|xml|json|exportaciones|archivos|ficheros|precios|importes|fechas|datos"
        r"|columnas)\b.*"
        r"\bahora (?:van|vienen|son|usan|llevan) \w",
        r"\bvolvemos a [\w.]+ \d",
        r"\b(?:hemos decidido|decidimos|decidí|he decidido|acordamos|hemos acordado|optamos por"
        r"|elegimos|nos quedamos con|vamos a usar)\b",
    ),
    profile=pattern(
        r"\b(?:vivo en|resido en|trabajo (?:en|como|para)|hablo (?!de|con)|me llamo|mi nombre es"
        r"|mi zona horaria es|mi editor es|mi lengua materna es|llámame)\b",
        r"\bsoy \w*(?:ólog[oa]|médic[oa]|enfermer[oa]|abogad[oa]|contador[a]?|period\w+)\b",
        r"\bsoy (?:\w+ )?\w*(?:desarrollador\w*|ingenier\w+|programador\w*|estudiante|profesor\w*"
        r"|diseñador\w*)\b",
    ),
    preference=pattern(
        r"\b(?:prefiero|no me gusta\w*|odio|detesto|me gusta que|siempre (?:uso|escribo|trabajo)"
        r"|nunca (?:uso|escribo)|mi (?:regla|preferencia|estilo) es|no uso)\b"
    ),
    desire=pattern(r"\b(?:quiero|me gustaría|me gusta\w*|necesito) "),
    generic=pattern(
        r"\b(?:cada|todas?|todos|siempre|nunca|jamás|como máximo|solo|en general|ningun[ao])\b"
    ),
    rule=pattern(
        rf"^(?:en \S+,? )?(?:todas? las?|todos? los?|cada|las?|los?"
        rf"|nuestr[ao]s?)? ?(?:\w+ )?{_MADE}"
        r" (?:\w+ )?(?:no )?(?:deben?|tienen? que|pueden|son|van|llevan|han de) ",
        rf"^(?:ningún|ninguna|nada de|máximo|como máximo|sin) .*{_MADE}",
    ),
    standing=pattern(
        r"\b(?:a partir de ahora|de ahora en adelante|en adelante|en el futuro|siempre|nunca|jamás"
        r"|por defecto|cada vez|por norma)\b"
    ),
    imperative=pattern(rf"^(?:{_VERBS}) "),
    standing_order=pattern(
        rf"^{_VERBS} .*\b(?:antes de|después de|en) (?:cada )?(?:commit|push|hacer commit|subir"
        r"|confirmar)",
        rf"^{_VERBS} .*\b(?:en lugar de|en vez de)\b",
        rf"^(?:mantén|escribe|haz) (?:todas? las? |todos? los? |las |los )?{_MADE} ",
        r"^evita (?!el |la |esto)",
    ),
    corrected=pattern(rf"^{_VERBS} (?!esto|eso|el |la )\S+", r"^(?:usamos|aquí usamos) "),
    fact=pattern(
        r"\bse (?:publica|despliega|compila|construye)n? con |\b(?:los tests"
        r"|las pruebas) (?:necesitan"
        r"|requieren) ",
        r"\b(?:las pruebas|los tests|el build|el linter|el despliegue|la base de datos|la rama"
        r" principal|el gestor de paquetes) (?:se \w+|es|son|corren?|usa) ",
        r"^(?:para (?:probar|ejecutar|compilar|desplegar) .*(?:usa|ejecuta)|usamos|probamos con) ",
    ),
    status=pattern(r"\b(?:está|están|fallan?|falló|pasan|ya|todavía|aún)\b"),
    project=pattern(r"\b(?:en|para) este (?:proyecto|repo|repositorio|código)\b"),
    everywhere=pattern(r"\b(?:en todas partes|en todos mis proyectos|en general)\b"),
)
