"""Spanish: the signs that a statement is meant for later."""

from memory_write.offline.lexicon import pattern
from memory_write.offline.signals import Signals

SPANISH_SIGNALS = Signals(
    lasting=pattern(
        r"\b(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro|siempre"
        r"|nunca|jamás|por defecto|cada vez|por norma|por regla|la próxima vez|las próximas veces"
        r"|para (?:los|las) próxim[oa]s|en todas partes|de ninguna manera|bajo ningún concepto"
        r"|en general|normalmente|ya no|nunca más|en ningún caso|hasta nuevo aviso|como siempre)\b"
    ),
    bans=pattern(
        r"\bni (?:tocar\w*|se te ocurra|hablar)\b|\bnada de \w+",
        r"(?:^|[,;:.!] |\b(?:y|pero|que|además|por favor|así que|ojo) )(?:no|nada de|sin|ningún"
        r"|ninguna|evita|prohibido|deja de|nunca) (?!sé|hay|lo sé|pasa|importa|es|está|tengo|puedo"
        r"|funciona|va|hace|me acuerdo|problema)\w",
        r"\b(?:prohibid[oa]s?|vetad[oa]s?|queda[n]? fuera|no está permitido|no se (?:puede|permite"
        r"|usa|traduce[n]?|toca[n]?|admite[n]?|hace[n]?|mezcla[n]?))\b",
        r"\bno (?:quiero|queremos|usamos|uses|pongas|hagas|toques|cambies|añadas|mezclamos"
        r"|permitimos|aceptamos|metas|rompas|borres|agregues|me \w+|los \w+es|las \w+es"
        r"|lo \w+es)\b",
    ),
    ruling=pattern(
        r"\bsolo (?:si|cuando|\w+[aei]mos)\b|\bpasan? por\b|\bahora van\b|\bvolvemos a\b"
        r"|\b(?:empiezan|comienzan|terminan|acaban) (?:por|con|en)\b",
        r"\b(?:reglas?|norma[s]?|convención|convenio|política|estándar|obligatori[oa]|requisito"
        r"|decisión|acuerdo|acordado|decidido|innegociable|guía de estilo|manual de estilo)\b",
        r"\b(?:hemos|habíamos|el equipo ha) (?:decidido|acordado|elegido|optado|quedado|pasado)\b"
        r"|\b(?:decidimos|acordamos|elegimos|optamos|quedamos en|nos quedamos|seguimos con"
        r"|pasamos a"
        r"|usamos|utilizamos|trabajamos|guardamos|escribimos|entregamos|hacemos|mantenemos)\b",
        r"\b(?:se (?:usan?|utilizan?|dejan?|escriben?|guardan?|hacen?|ponen?|llaman?|mantienen?"
        r"|trata|queda[n]?)|van en|va en|queda fuera|son en|es en|tienen que|tiene que)\b",
    ),
    ours=pattern(r"\b(?:nosotros|nos|nuestr[oa]s?|en el equipo|en casa|\w+[aei]mos)\b"),
    self=pattern(r"\b(?:yo|me|mi|mis|conmigo|a mí)\b"),
    likes=pattern(
        r"\bno hace falta que (?:me )?(?:preguntes|avises|expliques|saludes|pidas)\b"
        r"|\bquiero (?:tus|las) "
        r"(?:respuestas|explicaciones)\b",
        r"\bme vale\b|\bcomo a un[oa]?\b",
        r"\bme (?:vale|valen|va mejor|llega|gusta ver|viene bien)\b|\bno hace falta que me\b"
        r"|\btrabajo con\b",
        r"\b(?:tutéame|(?:háblame|trátame) de (?:usted|tú))\b",
        r"\b(?:basta|bastan|es suficiente|sobra|me saca de quicio|me pone \w+|me fastidia"
        r"|no me fío)\b",
        r"\b(?:prefiero|preferimos|me gustan?|no me gustan?|odio|detesto|me molestan?|me encantan?"
        r"|no quiero|quiero que|no necesito|me cuesta|me basta|me interesa|me conviene|me sirve más"
        r"|me ayuda más|soy (?:muy )?(?:maniátic[oa]|estricto|estricta|quisquillos[oa]))\b",
    ),
    contrast=pattern(
        r", no \w|\b(?:en lugar de|en vez de|sino|salvo|excepto|y no|pero no|el resto no)\b"
    ),
    every=pattern(
        r"\b(?:antes del?|primero .* (?:luego|después)|solo .* lo que)\b",
        r"\b(?:como mucho|todo entra|sea lo que sea|pase lo que pase|uno? por|una sola)\b",
        r"\b(?:cada|tod[oa]s?|solo|sólo|solamente|únicamente|como máximo|como mínimo|máximo|mínimo"
        r"|cualquier\w*|ningun[oa]?|ningún|nada|por (?:archivo|fichero|función|commit)|una sola"
        r"|un solo|uno por|una por|puro)\b",
    ),
    reason=pattern(
        r"\b(?:porque|que si no|si no,|ya que|puesto que|así que|para que|pues|de lo contrario"
        r"|por eso)\b",
        r", (?:que|es|son|el|la|los|las|me|nos|otros|otras|ya lo|así|ya) \w+",
        r"\bque (?:tengo|el|la|los|las|me) \w+",
    ),
    manner=pattern(
        r"\b(?:emojis?|anglicismos?|inventar|inventes|dilo|permiso|preguntes)\b|\b(?:de"
        r"|en) tus (?:respuestas"
        r"|mensajes|textos)\b",
        r"^\w+[áéí]\w*me\b|\b(?:al grano|sin rodeos|el porqué|novato|principiante|experto)\b"
        r"|\b(?:lo|la) (?:lanzo|ejecuto|decido|hago|cierro|subo) yo\b|\b(?:lo|la|los"
        r"|las) (?:elijo|apruebo) yo\b|\belijo yo\b",
        r"\bpregúntame(?:lo|la)?\b|\blimítate\b|\bsi no sabes\b|\bcuando (?:me )?\w+s\b",
        r"\b(?:respuestas?|responde\w*|explica\w*|explicaciones|resúmen\w*|resumen|introducciones"
        r"|cortas?|cortos?|breves?|directo|pistas|opciones|tono|rodeos|respóndeme|háblame"
        r"|tutees|usted|títulos|proponga\w*|confirmación|permiso)\b.*",
        r"\b(?:dime|dame|muéstrame|enséñame|pregúntame|avísame|háblame|propónme|explícame)\b",
        r"\ben (?:español|inglés|castellano|catalán|francés)\b",
        r"\b(?:sin (?:preguntar\w*|avisar\w*|permiso|consultar\w*|mi \w+))\b"
        r"|\b(?:cuando|antes de que|si) (?:me )?(?:termines|acabes|cambies|añadas|propongas"
        r"|respondas"
        r"|escribas|toques|hagas|muestres|vayas)\b",
    ),
    blame=pattern(
        r"\b(?:has|habéis|ha) (?:\w+ )?(?:puesto|hecho|escrito|\w+[ai]do)\b|^(?:pusiste|usaste"
        r"|metiste|cambiaste)\b",
    ),
    complaint=pattern(
        r"^tus? \w+ (?:es|son|está|están|parece[n]?) ",
        r"\b(?:demasiad[oa] (?:charla|rollo|largo|larga|formal|técnico|complicado|texto|corto)"
        r"|más (?:corto|corta"
        r"|breve|sencillo|simple|directo)|te (?:pedí|dije|he dicho|he pedido)|ya te|otra vez has"
        r"|has vuelto a|deja de|no me \w+es|siempre (?:haces|pones|escribes)|no hacía falta que)\b",
    ),
    must=pattern(r"\b(?:deben?|hay que|tienen? que|han? de)\b"),
    modal=pattern(
        r"\b(?:debe[n]?|deben|hay que|tiene[n]? que|ha[n]? de|va[n]?|son|es|se \w+n?|lleva[n]?"
        r"|queda[n]?|tod[oa]s? \w+ es)\b"
    ),
    general=pattern(
        r"^una? [\wáéíóúñ-]+ por \w+|^líneas de \d|^\d+ \w+ (?:por|como)\b|^(?:los|las) [\w"
        r" ]{3,30} (?:empiezan|comienzan"
        r"|terminan) ",
        r"\btodo entra\b|^la rama \w+ (?:está|es)\b",
        r"^(?:los|las|cada|tod[oa]s?|tod[oa]s? l[oa]s?|el código|la rama|en \w+) (?!de\b|demás"
        r"|dos|tres|otr[oa]s)\w+"
        r"(?: \w+){0,4}?,? (?:se \w+n?|van|va|llevan?|son|deben|tienen? que|viven?|entra[n]?|en"
        r"|con|sin|no)\b",
        r"^(?:cuando|si) (?:algo|haya|un|una|no sepas|dudes|tengas)\b.*,|^nada de\b|^ningún\b"
        r"|^ninguna\b",
        r"^(?:como (?:mucho|máximo|mínimo)|máximo|mínimo) (?:\d+|un|una|dos|tres)\b",
    ),
    things=pattern(
        r"\b(?:ramas|coordenadas|distancias|portadas|columnas|datos)\b",
        r"\b(?:funciones|métodos|clases|pruebas|tests|commits?|mensajes|títulos|respuestas"
        r"|comentarios|variables|nombres|archivos|ficheros|líneas|textos|párrafos|resúmenes|correos"
        r"|informes|listas|dependencias|librerías|paquetes|bibliotecas|colores|unidades|importes"
        r"|precios|fechas|imágenes|logs|errores|widgets|componentes|módulos|scripts|enlaces|urls"
        r"|entradas|botones|estilos|estado|versiones|migraciones|claves|contraseñas|clientes|código"
        r"|documentación|plantillas|pagos|manuales|interfaz|números|tablas|gráficos)\b",
    ),
    here=pattern(
        r"^tod[oa] (?:el|la) \w+ (?:es|está en|usa)\b",
        r"\b(?:en|para|de) (?:este|esta|el|la|nuestro|nuestra|estos|estas) (?:proyecto|repo"
        r"|repositorio|código|app|aplicación|servicio|paquete|web|sitio|tienda|bot|blog|manuales?"
        r"|librería|tesis)\b|\b(?:aquí|acá) (?:se|usamos|no|siempre|nunca|hay|solo)\b|^aquí\b"
        r"|\btodo el (?:bot|proyecto|código|repo|blog)\b",
    ),
    recurs=pattern(
        r"\b(?:cuando|antes de|después de|al|tras|siempre que|cada vez que) (?:\w+r\b|me |cada|que"
        r"|\w+es\b|termin\w+|hacer|cambiar|añadir|subir)\w*"
    ),
    imperative=pattern(
        r"\b\w+[aeáéí] siempre\b|^\w+[áéí]\b",
        r"^\w*[áéí]\w+(?:te|me|lo|la|los|las)\b",
        r"^(?:usa|utiliza|escribe|mantén|ejecuta|haz|responde|evita|pon|incluye|deja|llama|comenta"
        r"|pregunta|dime|dame|guarda|separa|trata|respeta|sigue|añade|agrega|no \w+s|siempre|solo"
        r"|muestra|explica)\b",
    ),
    asks=pattern(
        r"\b(?:de|en) tus (?:respuestas|mensajes|textos|explicaciones)\b",
        r"\bes (?:mi|nuestr[oa]|la) (?:\w+ )?(?:norma|regla|costumbre|guía|convención|estilo"
        r"|orden|estándar|mínimo|manera)\b|\bes (?:el|la|lo) mí[oa]\b",
        r"\b(?:recuerda|recuérdalo|ten en cuenta|tenlo en cuenta|no olvides|acuérdate|apúntalo"
        r"|anótalo|apunta|anota|para los próximos|para la próxima|vale para tod\w+|que quede claro"
        r"|así lo hacemos|déjalo así|dejalo así|que siga así|los entregamos así|ojo)\b",
    ),
    endorses=pattern(
        r"^es (?:obligatori[oa]|norma|ley|innegociable|una norma)\b",
        r"^(?:y )?es (?:nuestr[oa]|mi|la) \w+",
        r"^(?:y )?(?:así|eso|esto|es(?:o)? ya)(?: \w+)? (?:lo hacemos|se hace|va|vale|es (?:así|ley"
        r"|la regla|la norma|nuestra)|trabajamos|aplica|queda|está decidido|siempre)\b",
        r"^(?:recuérdalo|apúntalo|anótalo|tenlo en cuenta|siempre|en todos los proyectos"
        r"|sin excepción|que quede claro|para siempre|es la norma|es la regla)\b",
        r"^los \w+ (?:\w+ )?los \w+mos así\b|^vale para\b|^eso vale\b|^no l[oa]s? cambies nunca\b",
    ),
    because=pattern(
        r"^(?:me (?:cuesta|ayuda|gusta|resulta)|otros|así (?:me|lo|es)|es que|ya (?:veo|lo|sé)"
        r"|si no"
        r"|que si no|yo (?:leo|reviso|aprendo)|nadie|el \w+ (?:lee|revisa|es))\b"
    ),
    passing=pattern(
        r"^(?:los|las|el|la) \w+ sale[n]? \b",
        r"^sin comentarios\b",
        r"^(?:siempre|nunca) (?:ha|he|han|había)\b|\btiene que estar listo\b|\bha caducado\b",
        r"\bsiempre me (?:lío|pasa|olvido|confundo)\b",
        r"\bahora (?:tiene|tienen|viene|vienen|es|son|usa|usan)\b",
        r"^(?:siempre|nunca) (?:se me|me (?:olvido|pasa|da)|pierdo)\b|^(?:tengo que"
        r"|tenemos (?!que)|solo (?:tengo|necesito))\b",
        r"\b(?:está|están|estaba|falla|falló|fallan|funciona|pasan|pasó|parece|ya está|pierde"
        r"|responde dos|tarda|salió|hecho|va lento|sigue fallando|dice|dijo|ponía|escribió)\b",
        r"^(?:tengo|necesito|quiero (?!que|tus|las respuestas|las explicaciones)|he |hay (?!que)"
        r"|voy|estoy|vamos a|perfecto|gracias"
        r"|genial|bien|vale|claro|hola|buenas|ya lo pensaré|de momento|me sirve)\b",
        r"\bya veremos\b|\bno sé\b|\bquizá\b|\bde momento\b",
    ),
    task=pattern(
        r"^(?:por favor )?(?:mira|revisa|busca|arregla|corrige|borra|quita|cambia|mueve|crea|haz"
        r"|traduce|añade|agrega|pon|sube|genera|ejecuta|lanza|reinicia|imprime|muestra|enséñame"
        r"|pega"
        r"|dime|prueba|perfila|usa|compruéba\w+|reiníciala|reinícialo|empieza|mándala|manda)"
        r" (?:el|la|los|las|un|una|este|esta|esto|eso|lo|que|qué|también|al|por|\d|y)\b",
        r"\b(?:este|esta|ese|esa) (?!proyecto|servicio|app|repo|equipo|repositorio|bot|blog)\w+"
        r"|\b(?:puedes(?! (?:usar|hacer|tirar))|podrías|¿)\b|\bluego lo\b|\bimagina\b|\bun"
        r" momento\b",
    ),
    retracts=pattern(r"\b(?:cambi\w+|mejor|al final|ya no|en realidad)\b"),
    reverses=pattern(
        r"^(?:\w+[,.!]* ){0,2}?(?:cambié de idea|he cambiado de idea|cambio de planes|espera"
        r"|perdona|perdón|olvida|corrección|mejor no|rectifico|al final|pensándolo bien|me corrijo"
        r"|retiro lo dicho|ya no)\b"
    ),
    purpose=pattern(
        r"\b(?:paso \w+|por último|finalmente|en ese orden|al final|luego)\b",
        r"\bpara (?:\w+[aei]r(?:lo|la|los|las)?|el|la|los|las)\b|\b(?:primero|luego|después"
        r"|y después"
        r"|a continuación|antes de)\b|\bse (?:\w+ )?(?:genera|usa|ejecuta|publica|compila|sube|hace"
        r"|lanza|prueba|despliega|construye)\b",
    ),
    cause=pattern(
        r"\b(?:hay que|si no|sin|antes|porque|solo|con|falla|fallaba|necesita|hace falta|primero"
        r"|eso era|era eso|tiene que|debe|usa|fuera de|desde|siempre|faltaba|cuando)\b"
    ),
)
