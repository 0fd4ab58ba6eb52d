"""What deleted or barred threads gave is taken out of every version, and proved to be out.

Invariant: a version stands as pending, with the reason, from the commit of a withdrawal until a
look at its folder finds nothing of such threads; for so long what they gave is withheld from
readers. It is tried again until then, also after a start.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from memory_write.outage import outage_reason
from memory_write.phase2.report import Phase2Report
from state.clock import Clock
from state.errors import PathRefused, StateError, WorkspaceUnsafe
from state.ids import ThreadId
from state.stores.withheld import Withheld

_LOG = logging.getLogger(__name__)

RETRY_FIRST_S = 5
RETRY_MAX_S = 300
UNDER_WAY = "under_way"
LOOKS_MAX = 3
"""Of one try; somebody may go while another one is taken out."""


class TakingOut(Protocol):
    """Phase 2, as far as a withdrawal needs it."""

    async def take_out(self) -> Phase2Report | None:
        """Take out what may not stand there; None when nothing of it stands."""
        ...

    async def owes(self) -> bool:
        """Whether something was handed on that is not done."""
        ...

    async def still_standing(self) -> Sequence[ThreadId]:
        """The threads that went and of which something stands."""
        ...


class Withdrawals:
    """Takes out now what it can, and the rest as soon as it can."""

    def __init__(self, versions: Mapping[str, TakingOut], clock: Clock, withheld: Withheld) -> None:
        self._versions = dict(versions)
        self._clock = clock
        self._withheld = withheld
        self._pending: dict[str, str] = {}
        self._again: asyncio.Task[None] | None = None
        self._soon: asyncio.Task[None] | None = None
        self._asked = False
        self._stopping = False

    @property
    def pending(self) -> Mapping[str, str]:
        """By version, why something that went may still stand in its files."""
        begun = {one: UNDER_WAY for one in self._versions if self._withheld.of(one)}
        return begun | self._pending

    def start(self) -> None:
        """Prove what an earlier owner may have left; goes on by itself."""
        if self._again is None and not self._stopping:
            self._again = asyncio.create_task(self._prove(), name="withdrawals")

    async def before_reading(self) -> None:
        """What an earlier owner committed and could not carry out; for a start.

        Raises: DatabaseBusy, DatabaseUnusable.
        """
        for version, phase2 in self._versions.items():
            if not await phase2.owes():
                continue
            await self._try(version)
            if version in self._pending:
                await self._withhold(version)

    async def _withhold(self, version: str) -> None:
        """What this process did not see committed is withheld like what it did."""
        try:
            for one in await self._versions[version].still_standing():
                self._withheld.add(one, (version,))
        except (PathRefused, WorkspaceUnsafe, OSError):
            return  # a folder that cannot be read shows nothing to anybody

    async def now(self) -> Mapping[str, str]:
        """One try for every version; what has to wait, with the reason."""
        for version in self._versions:
            await self._try(version)
        if self._pending and not self._stopping and (self._again is None or self._again.done()):
            self._again = asyncio.create_task(self._retried(), name="withdrawals")
        return self.pending

    def soon(self) -> None:
        """Begin at once with what was committed; returns before it is done.

        Calls that come meanwhile are one further try together.
        """
        self._asked = not self._stopping
        if self._asked and (self._soon is None or self._soon.done()):
            self._soon = asyncio.create_task(self._worked_off(), name="withdrawals soon")

    async def _worked_off(self) -> None:
        while self._asked:
            self._asked = False
            await self.now()

    async def stop(self) -> None:
        """End; what is pending is taken up by the next start."""
        self._stopping = True
        running = [one for one in (self._again, self._soon) if one is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _prove(self) -> None:
        for version in self._versions:
            await self._try(version)
        await self._retried()

    async def _retried(self) -> None:
        pause_s = RETRY_FIRST_S
        while self._pending:
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_MAX_S)
            for version in list(self._pending):
                await self._try(version)

    async def _try(self, version: str) -> None:
        before = self._withheld.of(version)
        reason = await self._reason(version)
        if reason is None:
            self._withheld.proved(version, before)
            if self._pending.pop(version, None) is not None:
                _LOG.info("memory %s: what had to wait is taken out", version)
            return
        if version not in self._pending:
            _LOG.warning("memory %s: a withdrawal has to wait: %s", version, reason)
        self._pending[version] = reason

    async def _reason(self, version: str) -> str | None:
        """Why it has to wait; None when nothing that went stands there."""
        reason = "not_proved"
        try:
            for _ in range(LOOKS_MAX):
                report = await self._versions[version].take_out()
                if report is None:
                    return None
                reason = report.reason or reason
                if report.status == "failed":
                    break
        except (StateError, PathRefused, WorkspaceUnsafe, OSError) as error:
            reason = outage_reason(error) or type(error).__name__
        return reason
