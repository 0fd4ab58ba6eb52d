"""Short texts of requests. They have bounds, since every list of threads repeats them to everyone.

One row that is too long for a frame would break every client that lists threads.
"""

import os
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic.alias_generators import to_camel

from protocol.decoding import sentence_error

WORD_CHARACTERS_MAX = 1_000
ROOTS_CHARACTERS_MAX = 16_384
PATH_BYTES_MAX = 4_096
"""The longest path that a system of today takes."""


def _word(value: str, info: ValidationInfo) -> str:
    if len(value) > WORD_CHARACTERS_MAX:
        raise sentence_error(
            f"`{_field(info)}` must be at most {WORD_CHARACTERS_MAX} characters long"
        )
    return value


def _path(value: str, info: ValidationInfo) -> str:
    if "\0" in value:
        raise sentence_error(f"`{_field(info)}` must be a path: no path holds a NUL")
    if len(value.encode("utf-8", "surrogatepass")) > PATH_BYTES_MAX:
        raise sentence_error(f"`{_field(info)}` must be at most {PATH_BYTES_MAX} bytes long")
    return value


def _few(value: list[str], info: ValidationInfo) -> list[str]:
    if sum(map(len, value)) > ROOTS_CHARACTERS_MAX:
        raise sentence_error(
            f"`{_field(info)}` must be at most {ROOTS_CHARACTERS_MAX} characters long together"
        )
    return value


def _absolute(value: list[str], info: ValidationInfo) -> list[str]:
    for one in value:
        _path(one, info)
        if not os.path.isabs(one):
            raise sentence_error(f"`{_field(info)}` must be absolute paths: {one[:200]!r} is none")
    return value


def _field(info: ValidationInfo) -> str:
    return to_camel(info.field_name or "params")


Word = Annotated[str, AfterValidator(_word)]
"""A name or an identifier."""
Roots = Annotated[list[str], AfterValidator(_few)]
"""Folders; every client of a thread is shown them, so together they must fit into a frame."""
AbsoluteRoots = Annotated[Roots, AfterValidator(_absolute)]
"""Folders that are named from the root of the disk on."""
PathText = Annotated[str, AfterValidator(_path)]
"""A path of this machine; it need not exist, nor be absolute."""
