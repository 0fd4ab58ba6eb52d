"""Which folders a thread may write and what it may not read, by its sandbox policy.

Paths are real ones, without links, so that comparing them means something.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

KEPT_IN_ROOTS = (".git", ".codex", ".agents", ".memoryd")
"""Folders inside a writable one that stay as they are: what stands there is run or obeyed."""


def writable_roots(policy: Mapping[str, Any], cwd: str, *, tmpdir: str | None) -> tuple[str, ...]:
    """The folders that may be written; none under a policy that confines nothing or all."""
    if policy.get("type") != "workspaceWrite":
        return ()
    given = [one for one in policy.get("writableRoots") or () if isinstance(one, str)]
    roots = [cwd, *(one for one in given if os.path.isabs(one))]
    if policy.get("excludeSlashTmp") is not True:
        roots.append("/tmp")  # noqa: S108 the policy names this very folder
    if tmpdir is not None and policy.get("excludeTmpdirEnvVar") is not True:
        roots.append(tmpdir)
    return tuple(dict.fromkeys(os.path.realpath(one) for one in roots if one))


def kept_paths(roots: Sequence[str]) -> tuple[str, ...]:
    """What inside these folders may not be written all the same."""
    return tuple(os.path.join(root, name) for root in roots for name in KEPT_IN_ROOTS)


def kept_inside(roots: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Of these paths those that lie in such a place at any depth below a writable folder."""
    return tuple(
        path
        for path in paths
        for root in roots
        if path.startswith(f"{root.rstrip('/')}/")
        and any(part in KEPT_IN_ROOTS for part in path[len(root) :].split("/"))
    )
