"""Where the folders of threads lead: each to the same place as long as the server runs.

A folder in a writable one can be exchanged for a link by a command, which would make of the link's
target what the next command may write.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from server.agent.sandbox.policy import External, FullAccess, Policy, WorkspaceWrite

ROOTS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Moved:
    """A folder that leads elsewhere than when it was first used."""

    folder: str


class Roots:
    """Those of this server; may be used from any thread."""

    def __init__(self) -> None:
        self._led: dict[str, str] = {}
        self._lock = Lock()

    def grounded(self, policy: Policy, cwd: str) -> tuple[Policy, str] | Moved:
        """The policy of a thread with that folder, and the folder, both with real paths.

        Blocking. Where nothing is held back, a folder may lead anywhere.
        """
        if isinstance(policy, FullAccess | External):
            return policy, os.path.realpath(cwd)
        named: tuple[str, ...] = ()
        if isinstance(policy, WorkspaceWrite):
            named = tuple(
                one for one in (*(policy.workspace or ()), *policy.roots) if os.path.isabs(one)
            )
        real: dict[str, str] = {}
        for folder in (cwd, *named):
            led = self._of(folder)
            if led is None:
                return Moved(folder)
            real[folder] = led
        if isinstance(policy, WorkspaceWrite):
            workspace = policy.workspace
            policy = replace(
                policy,
                roots=_led(policy.roots, real),
                workspace=None if workspace is None else _led(workspace, real),
            )
        return policy, real[cwd]

    def _of(self, folder: str) -> str | None:
        """The real path of a folder; None where it leads elsewhere than when it was first used."""
        real = os.path.realpath(folder)
        with self._lock:
            if folder not in self._led and len(self._led) >= ROOTS_MAX:
                del self._led[next(iter(self._led))]
            return real if self._led.setdefault(folder, real) == real else None


def _led(folders: Sequence[str], real: Mapping[str, str]) -> tuple[str, ...]:
    """Those that are whole paths, as they lead."""
    return tuple(real[one] for one in folders if one in real)
