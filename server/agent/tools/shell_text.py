"""What the model reads of a command, in the original's words. Pure."""

import secrets

from server.agent.tools.output import cut_for_model
from server.agent.tools.processes import signal_name
from state.policy.budget import estimate_tokens

_DENIALS = (
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "network is unreachable",
    "temporary failure in name resolution",
    "could not resolve host",
)
_NOT_BY_A_SANDBOX = frozenset({0, 2, 126, 127, 130})
_LOOKED_AT_CHARACTERS = 16_384


def report(
    output: str,
    *,
    seconds: float,
    exit_code: int | None,
    session_id: int,
    tokens_max: int,
    note: str | None = None,
) -> str:
    """A command's output with its head lines; without an exit code it runs on."""
    if exit_code is None:
        state = f"Process running with session ID {session_id}"
    else:
        state = f"Process exited with code {exit_code}"
        if (name := signal_name(exit_code)) is not None:
            state += f" ({name})"
    lines = [
        f"Chunk ID: {secrets.token_hex(3)}",
        f"Wall time: {seconds:.4f} seconds",
        state,
        *([note] if note else []),
        f"Original token count: {estimate_tokens(output)}",
        "Output:",
        cut_for_model(output, tokens_max=tokens_max),
    ]
    return "\n".join(lines)


def looks_denied(exit_code: int, output: str) -> bool:
    """Whether a confined command probably failed because of its sandbox."""
    if exit_code in _NOT_BY_A_SANDBOX:
        return False
    told = output[-_LOOKED_AT_CHARACTERS:].lower()
    return any(one in told for one in _DENIALS)
