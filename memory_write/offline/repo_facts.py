"""Which rules name facts of one repository: its commands, ports, hosts, package manager; pure.

Such a rule holds in its project, however generally it is worded.
"""

import re

_TASTE = re.compile(r"^(?:i|my|we|ich|mein\w*|the user)\b(?!.*\b(?:deploy|port \d))", re.IGNORECASE)
_FACTS = re.compile(
    r"`(?:make|npm|pnpm|yarn|bun|npx|uv|poetry|cargo|go|just|tox|nox|pytest|gradle|mvn|\./)[ \w]"
    r"|\b(?:npm|pnpm|yarn|bun|pipenv|poetry)\b"
    r"|\b(?:run|running|start|execute) (?:the |all |our )?(?:unit |integration )?tests? "
    r"(?:with|via|using|through)\b"
    r"|\bdeploy(?:s|ed|ing|ment|ments|e|t|en)?\b|\b(?:staging|production|prod)\b"
    r"|\bports? \d{2,5}\b|\b(?:terraform state|bucket|dev server|hostname|staging host)\b"
    r"|\bmake (?:check|test|build|release|deploy|lint|install|dev|up|all|run)\b|\bdocker compose\b"
    r"|\bbranch(?:namen?|es'? names?| names?)\b|\bnoms (?:de|des) branches\b"
    r"|\bnombres de las ramas\b"
    r"|\b(?:dentro de|inside|under|unter) [\w.-]+/[\w./-]+"
    r"|分支名|\bcsv\b"
    r"|\b(?:läuft|gebaut|baut|gehostet) .{0,20}\bmit\b",
    re.IGNORECASE,
)


def names_repo_facts(text: str) -> bool:
    """Whether a rule holds only where it was said because of what it names."""
    return bool(_FACTS.search(text)) and not _TASTE.match(text)
