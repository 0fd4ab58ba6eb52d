"""Text that a person gives a command, from its arguments or from standard input.

Invariant: what comes out is what was given, or an error says why not; nothing is replaced silently.
"""

import sys
from collections.abc import Sequence
from uuid import UUID

from server.errors import CommandFailed

USAGE = 2
MARK = "\ufffd"


def worded(words: Sequence[str]) -> str:
    """The words of the command line as one text.

    Raises: CommandFailed.
    """
    text = " ".join(words)
    # The start of the command puts this mark where bytes were no text.
    if (place := text.find(MARK)) >= 0:
        raise _no_text(len(text[:place].encode()))
    return text


def piped(*, bytes_max: int, too_long: str) -> str:
    """What stands on standard input; `too_long` is said of more than so many bytes.

    Raises: CommandFailed.
    """
    data = sys.stdin.buffer.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise CommandFailed(too_long)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _no_text(error.start) from error
    if (place := data.find(0)) >= 0:
        raise _no_text(place)
    return text


def thread_given(text: str) -> str:
    """The id of a thread, as it was given.

    Raises: CommandFailed.
    """
    try:
        UUID(text)
    except ValueError as error:
        raise CommandFailed(
            f"`{text[:100]}` is no id of a thread: one looks like "
            "0199a213-81c0-7800-8aa1-bbab2a035a53, and `memoryd chat` names it at its end",
            status=USAGE,
        ) from error
    return text


def _no_text(place: int) -> CommandFailed:
    return CommandFailed(
        f"that is no UTF-8 text: look at byte {place}; nothing was done with it",
        status=USAGE,
    )
