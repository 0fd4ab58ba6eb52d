"""Ids that clients send: checked, with the sentences that clients know."""

import re
import uuid

from protocol.errors import WireError, refused
from state.ids import ThreadId

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PREFIX = "urn:uuid:"
_GROUPS = (8, 4, 4, 4, 12)
_HEX = frozenset("0123456789abcdefABCDEF")


def thread_id_of(text: str) -> ThreadId:
    """The thread id in a request.

    Raises: WireError.
    """
    if _CANONICAL.fullmatch(text):
        return ThreadId(text)
    body, offset = _unwrapped(text)
    digits = body.replace("-", "")
    hyphens_right = "-" not in body or [len(part) for part in body.split("-")] == list(_GROUPS)
    if len(digits) == 32 and hyphens_right and _HEX.issuperset(digits):
        return ThreadId(str(uuid.UUID(digits)))
    raise _invalid(_fault(body, offset, len(text)))


def _invalid(fault: str) -> WireError:
    return refused(f"invalid thread id: {fault}")


def _unwrapped(text: str) -> tuple[str, int]:
    """The part that should be the id, and where it begins."""
    if text.startswith(_PREFIX):
        return text.removeprefix(_PREFIX), len(_PREFIX)
    if text.startswith("{") and text.endswith("}") and len(text) > 1:
        return text[1:-1], 1
    return text, 0


def _fault(body: str, offset: int, length: int) -> str:
    """The first thing that is wrong with an id."""
    for index, character in enumerate(body):
        if character != "-" and character not in _HEX:
            return (
                "invalid character: expected an optional prefix of `urn:uuid:` followed by "
                f"[0-9a-fA-F-], found `{character}` at {index + offset + 1}"
            )
    groups = body.split("-")
    if len(groups) == 1 and offset == 0:
        return f"invalid length: expected length 32 for simple format, found {length}"
    if len(groups) != len(_GROUPS):
        return f"invalid group count: expected {len(_GROUPS)}, found {len(groups)}"
    for number, (group, expected) in enumerate(zip(groups, _GROUPS, strict=True)):
        if len(group) != expected:
            return (
                f"invalid group length in group {number}: expected {expected}, found {len(group)}"
            )
    return f"invalid length: expected length 32 for simple format, found {length}"
