"""What a command says beside its result; light enough for a bridge to import."""

import sys

OVERRIDES_WITHOUT_EFFECT = (
    "memoryd: warning: overrides have no effect, the server that owns the home has its own settings"
)


def aside(line: str) -> None:
    """Print to standard error: progress and hints, never results."""
    print(line, file=sys.stderr, flush=True)
