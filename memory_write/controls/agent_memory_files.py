"""The memory files that another agent keeps by project, as they lie in its home.

Its layout: `projects/<key>/memory/**/*.md`, and beside `memory` the project's sessions, `*.jsonl`,
whose lines say in which folder they ran. Invariant: nothing is written and no link is followed; of
what is too large, too much or no text a name is told and nothing else. Everything here blocks.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from state.errors import PathRefused
from state.policy.redaction import contains_secret, redact
from state.workspace.root import ConfinedRoot

PROJECTS_MAX = 1_000
FILES_PER_PROJECT_MAX = 500
FILE_BYTES_MAX = 262_144
PROJECT_BYTES_MAX = 4 * 1_048_576
SESSIONS_LOOKED_AT_MAX = 50
SESSION_HEAD_BYTES = 262_144
KEY_BYTES_MAX = 200
SCOPE_FILE = "scope.json"


class LeftOut(NamedTuple):
    """A project or a file that was not taken, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProject:
    """The memory of one project, with its secrets masked."""

    key: str
    cwd: str | None
    """The folder of the project, when a session of its own says so and it is still there."""
    files: Mapping[str, bytes]
    """By path below the project's memory folder."""
    left_out: tuple[LeftOut, ...]


def has_projects(agent_home: Path) -> bool:
    """Whether this is the home of such an agent."""
    return _is_folder(agent_home / "projects")


def find_projects(agent_home: Path) -> tuple[list[AgentProject], list[LeftOut]]:
    """Every project that has a memory, by key; and those whose key cannot be used.

    Raises: OSError.
    """
    with os.scandir(agent_home / "projects") as entries:
        keys = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    found: list[AgentProject] = []
    refused: list[LeftOut] = []
    for key in keys:
        folder = agent_home / "projects" / key
        if not _is_folder(folder / "memory"):
            continue
        reason = _bad_key(key) if len(found) < PROJECTS_MAX else "too many projects"
        if reason is not None:
            refused.append(LeftOut(redact(os.fsencode(key).decode(errors="replace")), reason))
            continue
        project = _project(key, folder)
        if project.files or project.left_out:
            found.append(project)
    return found, refused


def is_usable_folder(cwd: str) -> bool:
    """Whether a project's folder is named from the root and still there."""
    return "\0" not in cwd and os.path.isabs(cwd) and os.path.isdir(cwd)


def _project(key: str, folder: Path) -> AgentProject:
    files: dict[str, bytes] = {}
    left_out: list[LeftOut] = []
    root = ConfinedRoot(folder / "memory")
    left = PROJECT_BYTES_MAX
    for path in root.walk():
        if not path.endswith(".md"):
            continue
        data = _text(root, path)
        if isinstance(data, bytes) and (len(files) >= FILES_PER_PROJECT_MAX or len(data) > left):
            data = "more than a project may hold"
        if isinstance(data, bytes):
            files[path] = data
            left -= len(data)
        else:
            left_out.append(LeftOut(redact(f"{key}/{path}"), data))
    return AgentProject(key=key, cwd=_cwd_of(folder), files=files, left_out=tuple(left_out))


def _text(root: ConfinedRoot, path: str) -> bytes | str:
    """The file without its secrets, or why it is not taken."""
    if contains_secret(path):
        return "its name holds a secret"
    try:
        text = root.read_bytes(path, bytes_max=FILE_BYTES_MAX).decode()
    except UnicodeDecodeError:
        return "it is no UTF-8 text"
    except PathRefused:
        return f"it is larger than {FILE_BYTES_MAX} bytes or no file any more"
    except OSError as error:
        return error.strerror or "it cannot be read"
    masked = redact(text).encode()
    return masked if len(masked) <= FILE_BYTES_MAX else f"it is larger than {FILE_BYTES_MAX} bytes"


def _cwd_of(folder: Path) -> str | None:
    """Where the newest session ran whose folder is still there."""
    sessions: list[tuple[int, Path]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                sessions.append((entry.stat(follow_symlinks=False).st_mtime_ns, Path(entry.path)))
    for _, path in sorted(sessions, reverse=True)[:SESSIONS_LOOKED_AT_MAX]:
        cwd = _cwd_in(path)
        if cwd is not None and is_usable_folder(cwd) and not contains_secret(cwd):
            return cwd
    return None


def _cwd_in(session: Path) -> str | None:
    try:
        descriptor = os.open(session, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        head = file.read(SESSION_HEAD_BYTES)
    for line in head.splitlines():
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        match entry:
            case {"cwd": str(cwd)} if cwd:
                return cwd
            case _:
                pass
    return None


def _bad_key(key: str) -> str | None:
    if key.startswith(".") or len(os.fsencode(key)) > KEY_BYTES_MAX:
        return "its key cannot be a folder of ours"
    try:
        key.encode()
    except UnicodeEncodeError:
        return "its key is no UTF-8 text"
    return "its key holds a secret" if contains_secret(key) else None


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
