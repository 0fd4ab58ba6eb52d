"""What a patch that is still being written would change, as far as its whole lines say. Pure.

A preview: no file is looked at, and nothing is checked. What counts is the item of the whole patch.
"""

import os
from typing import Any

from server.agent.tools.patch import ADD, BEGIN, DELETE, END, MOVE, UPDATE


def changes_so_far(text: str, cwd: str) -> list[dict[str, Any]]:
    """The changes in the wire's shape, the last one perhaps in its middle."""
    changes: list[dict[str, Any]] = []
    for line in text.split("\n")[:-1]:
        line = line.removesuffix("\r")
        head = line.strip()
        if (begun := _begun(head, cwd)) is not None:
            changes.append(begun)
        elif head in (BEGIN, END) or not changes:
            continue
        elif head.startswith(MOVE.strip()) and changes[-1]["kind"]["type"] == "update":
            changes[-1]["kind"]["move_path"] = _path(head, MOVE, cwd)
        elif changes[-1]["kind"]["type"] == "add":
            changes[-1]["diff"] += f"{line.removeprefix('+')}\n"
        else:
            changes[-1]["diff"] += f"{line}\n"
    return changes


def _begun(head: str, cwd: str) -> dict[str, Any] | None:
    """The change that begins with this line, or None."""
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        (ADD, {"type": "add"}),
        (DELETE, {"type": "delete"}),
        (UPDATE, {"type": "update", "move_path": None}),
    )
    for mark, kind in kinds:
        if head.startswith(mark.strip()) and head != mark.strip():
            return {"path": _path(head, mark, cwd), "kind": kind, "diff": ""}
    return None


def _path(head: str, mark: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, head.removeprefix(mark.strip()).strip()))
