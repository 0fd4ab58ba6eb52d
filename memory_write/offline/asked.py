"""What a message asks, in plain words, to have remembered or forgotten.

Shared by the offline responder: a request of this kind becomes a note at once, and the note is
worked in by the next consolidation.
"""

import re

from memory_write.offline.judge import is_lasting, is_secret, judge
from memory_write.offline.sentences import bare, statements

_FORGET = re.compile(
    r"^(?:please )?(?:can you |could you )?(?:please )?(?:forget|unlearn|stop remembering"
    r"|don't remember|vergiss|olvida|oublie)\b (?!it\b|this\b|that[.!]*$|about it)(.{3,})$",
    re.IGNORECASE,
)
_REMEMBER = re.compile(r"^(?:please )?(?:remember|memori[sz]e|keep in mind|note)\b", re.IGNORECASE)


def to_remember(text: str) -> tuple[str, ...]:
    """The statements that the message asks to keep, as typed."""
    found: list[str] = []
    for statement in statements(text):
        verdict = judge(statement)
        if verdict is not None and (verdict.explicit or is_lasting(statement)):
            found.append(verdict.text)
    return tuple(found)


def to_forget(text: str) -> tuple[str, ...]:
    """The statements that the message asks to forget, as requests of their own."""
    asked = (_FORGET.match(bare(statement)) for statement in statements(text))
    return tuple(f"Forget {one.group(1).strip()}" for one in asked if one is not None)


def holds_secret_to_remember(text: str) -> bool:
    """Whether the message asks to remember a credential, which is never done."""
    return any(
        _REMEMBER.match(bare(statement)) and is_secret(statement) for statement in statements(text)
    )
