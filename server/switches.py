"""The three switches of memory: use, generate, instruction files; and those of single projects.

Pure. They are independent: none of them turns another one off. The nearest place counts: the
thread's own word, then its project, then the environment, then the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

_KEYS = ("use_memories", "generate_memories", "instruction_files")
PROJECTS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """None leaves a switch to the next place."""

    use_memories: bool | None = None
    generate_memories: bool | None = None
    instruction_files: bool | None = None


def project_switches(projects: object) -> tuple[dict[str, Switches], list[str]]:
    """`[projects."/folder"]` of the configuration, and keys whose value is no switch."""
    found: dict[str, Switches] = {}
    odd: list[str] = []
    if not isinstance(projects, Mapping):
        return found, odd
    for folder, section in list(projects.items())[:PROJECTS_MAX]:
        if not isinstance(section, Mapping):
            continue
        given: dict[str, Any] = {}
        for key in _KEYS:
            if key not in section:
                continue
            if isinstance(section[key], bool):
                given[key] = section[key]
            else:
                odd.append(f'projects."{folder}".{key}')
        if given:
            found[str(PurePath(str(folder)))] = Switches(**given)
    return found, odd


def switches_for(projects: Mapping[str, Switches], cwd: str) -> Switches:
    """The switches of the folder's project; a folder has those of the nearest one around it."""
    if not projects:
        return Switches()
    folder = PurePath(cwd)
    around = [one for at in (folder, *folder.parents) if (one := projects.get(str(at)))]
    return Switches(**{key: _first(getattr(one, key) for one in around) for key in _KEYS})


def _first(values: Any) -> bool | None:
    return next((value for value in values if value is not None), None)
