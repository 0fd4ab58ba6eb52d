"""Whom a statement about address or language is for: the one who types, or readers of the product.

Pure. How to speak with the user holds everywhere; how a product speaks holds in its project.
"""

# ruff: noqa: RUF001  marks of other scripts are meant

import re

from memory_write.offline.judge import Scope

_WITH_THE_USER = re.compile(
    r"\b(?:duz|siez)\w* (?:mich|uns)\b|\bwir sind (?:\w+ ){0,2}(?:per du|per sie)\b"
    r"|\bsprich (?:bitte )?mich\b|\b(?:antworte|schreib|sprich|rede|erklär\w*)\w* (?:bitte )?"
    r"(?:mir|mit mir)\b|"
    r"\b(?:tutoie|vouvoie|tutoyez|vouvoyez|réponds|répondez)-moi\b"
    r"|\bme (?:tutoyer|vouvoyer)\b|\bon se (?:tutoie|vouvoie)\b|\b(?:tutéame|trátame|tratame"
    r"|háblame|hablame|respóndeme|respondeme|contestame|contéstame)\b|"
    r"\b(?:commits?|commit-\w+|answers?|repl(?:y|ies)|antwort\w*|respuestas?|réponses?)\b.*"
    r"\b(?:aunque (?:hablemos|escriba)|même si (?:je|on) \w+|even (?:if|when|though) (?:i|we)"
    r" (?:write|speak|talk|type|chat)|auch wenn (?:ich|wir)) ?|(?:跟|和|对)我(?:说话|讲)|回答我"
    r"|称呼我",
    re.IGNORECASE,
)
_OF_THE_PRODUCT = re.compile(
    r"\b(?:siezt|duzt|tutoie|tutoient|vouvoie|vouvoient|tutea|tutean|trata de (?:usted|tú|vos))"
    r" (?!mich|uns|moi|me\b|nous)|\b(?:die|unsere?) (?:oberfläche|texte|app|seite|mails)"
    r" .*\b(?:duzen"
    r"|siezen|per (?:du|sie)|mit (?:du|sie))\b|\b(?:los )?textos de la (?:app|web|página)\b"
    r"|\b(?:in|on) the (?:ui|gui|frontend|backend|interface|api|admin)\b|\b(?:im (?:ui|frontend"
    r"|backend)|in der (?:oberfläche|api))\b|\bdans l\'(?:interface|api|ui)\b|\ben la (?:interfaz"
    r"|api|ui)\b|\bles textes de (?:l'|la |le )|\b(?:we|the (?:app|site|ui|docs)) address(?:es)?"
    r" (?:the )?"
    r"(?:readers?|users?|customers?|visitors?)\b|(?:界面|文案|页面)(?:里|上)?.{0,6}(?:用|称)[“\"]?(?:您|你)",
    re.IGNORECASE,
)


def scope_of_address(text: str) -> Scope | None:
    """Where a statement holds because of whom it is about, or None where that says nothing."""
    plain = text.replace("’", "'")
    if _OF_THE_PRODUCT.search(plain):
        return "project"
    return "as stated" if _WITH_THE_USER.search(plain) else None
