"""Which commit, branch and origin a folder stands on, read from git's own files.

No child process and no git library: a thread only notes where it started. What cannot be read is
unknown, never an error.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from server.agent.plain_file import NotPlain, read_plain
from state.policy.redaction import redact

FILE_BYTES_MAX = 1_048_576
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Checkout:
    """The state of a repository; all None where there is none."""

    commit_id: str | None = None
    branch: str | None = None
    origin_url: str | None = None

    @property
    def known(self) -> bool:
        """Whether anything was found."""
        return (self.commit_id or self.branch or self.origin_url) is not None


def read_checkout(cwd: str) -> Checkout:
    """Look from this folder upwards; blocking."""
    git = _git_folder(Path(cwd))
    if git is None:
        return Checkout()
    common = git
    if pointer := _text(git / "commondir"):
        # A linked worktree keeps its own HEAD; refs and configuration lie in the main one.
        common = (git / pointer.strip()).resolve()
    head = (_text(git / "HEAD") or "").strip()
    if not head.startswith("ref: "):
        commit_id = head if _COMMIT.fullmatch(head) else None
        return Checkout(commit_id=commit_id, origin_url=_origin(common))
    ref = head.removeprefix("ref: ")
    return Checkout(
        commit_id=_resolved(git, ref) or _resolved(common, ref) or _packed(common, ref),
        branch=redact(ref.removeprefix("refs/heads/")),
        origin_url=_origin(common),
    )


def _git_folder(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        git = folder / ".git"
        if os.path.isdir(git):  # which is no error for a name that no file system takes
            return git
        if (text := _text(git)) and text.startswith("gitdir: "):
            return (folder / text.removeprefix("gitdir: ").strip()).resolve()
    return None


def _text(path: Path) -> str | None:
    try:
        # A command may lay a pipe in its place at any moment, and that would never end.
        data, _ = read_plain(os.path.realpath(path), bytes_max=FILE_BYTES_MAX)
    except (NotPlain, OSError, ValueError):
        return None
    return data.decode(errors="replace")


def _resolved(git: Path, ref: str) -> str | None:
    found = (_text(git / ref) or "").strip() if ".." not in ref else ""
    return found if _COMMIT.fullmatch(found) else None


def _packed(git: Path, ref: str) -> str | None:
    for line in (_text(git / "packed-refs") or "").splitlines():
        commit_id, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit_id):
            return commit_id
    return None


def _origin(git: Path) -> str | None:
    inside = False
    for line in (_text(git / "config") or "").splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped == '[remote "origin"]'
        elif inside and (match := re.fullmatch(r"url\s*=\s*(\S+)", stripped)):
            # A password in the address is nobody's business but git's.
            return _CREDENTIALS.sub("", match[1])
    return None
