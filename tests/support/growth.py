"""How much the objects of a running server hold: the lengths of their containers."""

from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from types import FunctionType, MethodType
from typing import Any

ROOMS = ("server", "memory_read", "memory_write", "state", "protocol")


def lengths(root: object) -> dict[str, int]:
    """Of every container that is reached from there through objects of ours and closures.

    By the class and attribute that hold it; those of several objects of a class are added up. What
    is bounded by its own making is left out.
    """
    found: dict[str, int] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        path, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict | list | set | frozenset | tuple | deque):
            if not isinstance(one, tuple) and getattr(one, "maxlen", None) is None:
                found[path] = found.get(path, 0) + len(one)
            inner = list(one.values()) if isinstance(one, dict) else list(one)
            waiting += [(f"{path}[]", item) for item in inner]
        else:
            waiting += _parts(one)
    return found


def _parts(one: object) -> Iterator[tuple[str, object]]:
    kind = type(one)
    if isinstance(one, MethodType):
        yield "", one.__self__
    elif isinstance(one, FunctionType):
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            yield f"{one.__qualname__} {name}", _content(cell)
    elif isinstance(one, AsyncExitStack):
        yield "", list(getattr(one, "_exit_callbacks", ()))  # what ends with the server
    elif isinstance(one, partial):
        yield from (("", part) for part in (one.func, *one.args, *one.keywords.values()))
    elif kind.__module__.split(".")[0] in ROOMS and not isinstance(one, type):
        names = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
        for name in sorted(names | getattr(one, "__dict__", {}).keys()):
            if hasattr(one, name):
                yield f"{kind.__name__}.{name}", getattr(one, name)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not given yet
        return None
