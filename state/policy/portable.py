"""A text without the paths of the machine it was written on.

Pure. Invariant: of the named places, and of any folder `/home/NAME` or `/Users/NAME`, nothing is
left in a text that was made portable; doing it twice changes nothing more. Other paths, such as
`/usr/bin/env`, say nothing of a machine's owner and stay.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

USER_HOME = "~"
MEMORY_HOME = "$MEMORYD_HOME"
FOLDER = "$FOLDER"
"""Before the last name of a project's folder that lies outside of the user's home."""
_PORTABLE = (f"{USER_HOME}/", f"{FOLDER}/", f"{MEMORY_HOME}/", "git:")
_ANY_HOME = re.compile(r"(?<![\w.~-])/(?:home|Users)/[^/\s\"'`<>|:;,()\[\]{}\\]+")
_RECORDED_AT = re.compile(r"(rollout_path(?:: |=))(?=[\w.])")
_CWD = re.compile(r"^cwd: (/[^\n]+)$|\bcwd=(/[^;,)\n]+)", re.MULTILINE)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a machine calls its places; absolute paths without a slash at their end."""

    user_homes: tuple[str, ...] = ()
    """As named and as the disk has it."""
    memory_homes: tuple[str, ...] = ()
    projects: Mapping[str, str] = field(default_factory=dict)
    """From folders of projects to what they are called everywhere."""


class Portable:
    """Makes texts of one machine portable."""

    def __init__(self, places: Places) -> None:
        called = {
            **dict.fromkeys(places.user_homes, USER_HOME),
            **places.projects,
            **dict.fromkeys(places.memory_homes, MEMORY_HOME),
        }
        # Other agents name their folders by a path in which every sign is a dash.
        # Where words were picked out of a text, the first slash may be gone.
        bare = {path[1:]: name for path, name in called.items() if path.count("/") > 1}
        dashed = {_NOT_PLAIN.sub("-", path): name for path, name in called.items()}
        self._called = {
            path: name
            for path, name in {**dashed, **bare, **called}.items()
            if "/" in path or path.count("-") > 1
        }
        longest_first = sorted(self._called, key=lambda path: (-len(path), path))
        self._known = re.compile("|".join(map(_whole, longest_first)) or r"(?!)")

    def __call__(self, text: str) -> str:
        """The text with placeholders in place of paths."""
        text = self._known.sub(lambda found: self._called[found[0]], text)
        text = _ANY_HOME.sub(USER_HOME, text)
        return _RECORDED_AT.sub(rf"\1{MEMORY_HOME}/", text)


def may_mean(name: str, folder: str) -> bool:
    """Whether a portable name of a folder may mean that folder of this machine.

    All that is known of what lies elsewhere is what it is called: the last part of both is one.
    """
    if name == USER_HOME:
        return _ANY_HOME.fullmatch(folder) is not None
    if not name.startswith(_PORTABLE) or folder.startswith(_PORTABLE):
        return False
    last = folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return last != "" and last == name.rpartition("/")[2]


def folders_of_work(text: str) -> frozenset[str]:
    """The absolute paths that a text of ours names as folders of work."""
    found = (one.strip().rstrip("/") for pair in _CWD.findall(text) for one in pair)
    return frozenset(one for one in found if one)


def _whole(path: str) -> str:
    """A pattern for a path as a whole, not as the beginning of a longer name."""
    # What is short may be the end of a longer path; more parts are ours wherever they stand.
    before = "" if path.startswith("/") and path.count("/") > 1 else r"(?<![\w./~-])"
    if path.startswith("-"):
        return f"{re.escape(path)}(?![A-Za-z0-9])"
    return rf"{before}{re.escape(path)}(?![\w-])(?!\.\w)"
