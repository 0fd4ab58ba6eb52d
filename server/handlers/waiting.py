"""What waits in a memory version and why, its counters, and the sentences that follow from them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memory_write.limits import DAY_S, MemorySettings
from memory_write.material import count_changed_since
from memory_write.phase1.allowance import next_day_ms
from protocol.messages.memory import Counters, SpendingView, WaitView
from server.handlers.services import Services
from state.database import Reading
from state.stores.jobs import CONSOLIDATION_KEY
from state.stores.waiting import Waiting, WaitingStore

SKIPPED_WARN_PERCENT = 80
SKIPPED_WARN_MIN = 10
"""From so many sessions on, a share of empty ones as high as this is worth a word."""

_ALWAYS = frozenset({"running", "backoff", "budget", "cooldown", "quota"})
"""What holds a consolidation back whatever the server would do otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """What holds back all work that could be done now; None and False where nothing does."""

    paused: bool
    quota: str | None
    quota_until_ms: int | None
    spending: SpendingView


class WaitingViews:
    """Tells of one version at a time, in the snapshot of whoever asks."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = WaitingStore()

    async def waits(self, read: Reading, version: str, holds: Holds) -> list[WaitView]:
        """Every thing that waits, by reason; nothing where the version is written no more."""
        memory, now_ms = self._services.settings.memory, self._services.clock.now_ms()
        if version not in memory.versions:
            return []
        threads = await self._store.threads(
            read,
            version=version,
            now_ms=now_ms,
            idle_hours_min=memory.phase1.idle_hours_min,
            age_days_max=memory.phase1.age_days_max,
        )
        running = sum(one.count for one in threads if one.why == "running")
        held = [self._held(one, holds, running) if one.why == "ready" else one for one in threads]
        views = [_view("thread", one) for one in _merged(held)]
        due = await self._store.consolidation(
            read, version=version, now_ms=now_ms, cooldown_s=memory.phase2.cooldown_s
        )
        if due is not None:
            views.append(_view("consolidation", self._consolidation_held(due, holds)))
        return views

    async def counters(self, read: Reading, version: str) -> tuple[Counters, int]:
        """The counters of a version, and how many outputs found no room in its memory."""
        services, store = self._services, self._store
        phase2, now_ms = services.settings.memory.phase2, services.clock.now_ms()
        ends = await store.ends(read, version)
        eligible = await store.eligible(
            read, version=version, cutoff_ms=now_ms - phase2.unused_days_max * DAY_S * 1_000
        )
        job = await services.state.jobs.get(
            read, version=version, kind="consolidation", key=CONSOLIDATION_KEY
        )
        seen_ms = job.finished_at_ms or 0 if job is not None and job.status == "done" else 0
        notes = await asyncio.to_thread(
            count_changed_since, services.state.home.memories(version), seen_ms
        )
        counters = Counters(
            claimed=ends.claimed,
            succeeded=ends.succeeded,
            empty=dict(ends.empty),
            failed=dict(ends.failed),
            editions=await store.editions(read, version),
            notes_pending=notes,
        )
        return counters, max(0, eligible - phase2.outputs_max)

    def _held(self, one: Waiting, holds: Holds, running: int) -> Waiting:
        memory, now_ms = self._services.settings.memory, self._services.clock.now_ms()
        spending, why, until_ms = holds.spending, "ready", None
        if not memory.enabled:
            why = "off"
        elif holds.paused:
            why = "paused"
        elif _is_spent(spending.extraction_tokens, spending.extraction_budget_tokens):
            why, until_ms = "budget", next_day_ms(now_ms)
        elif holds.quota is not None:
            why, until_ms = "quota", holds.quota_until_ms
        elif running:
            why = "capped"
        return Waiting(why=why, count=one.count, until_ms=until_ms)

    def _consolidation_held(self, due: Waiting, holds: Holds) -> Waiting:
        memory = self._services.settings.memory
        if due.why in _ALWAYS and due.why != "cooldown":
            return due
        if not memory.enabled or holds.paused:
            return Waiting(why="paused" if memory.enabled else "off", count=1)
        return due


def sentences(
    memory: MemorySettings, version: str, ends: Counters, displaced: int
) -> Sequence[str]:
    """What of a version's figures a person should be told in words."""
    told: list[str] = []
    empty, failed = sum(ends.empty.values()), sum(ends.failed.values())
    heard = ends.succeeded + empty
    if heard >= SKIPPED_WARN_MIN and empty * 100 >= heard * SKIPPED_WARN_PERCENT:
        reasons = ", ".join(f"{n} {why}" for why, n in sorted(ends.empty.items()))
        told.append(
            f"{version}: {empty} of {heard} sessions gave nothing to remember ({reasons}); if that "
            "is not what you expect, try another `memories.extract_model`"
        )
    if failed >= SKIPPED_WARN_MIN and failed > heard:
        reasons = ", ".join(f"{n} {why}" for why, n in sorted(ends.failed.items()))
        told.append(f"{version}: most sessions could not be heard ({reasons})")
    if displaced:
        told.append(
            f"{version}: memory holds {memory.phase2.outputs_max} sessions at most; {displaced} "
            "that are used less or older are displaced, and come back when they are used again "
            "or `memories.max_raw_memories_for_consolidation` is raised"
        )
    return told


def _merged(threads: Sequence[Waiting]) -> list[Waiting]:
    """One for each reason, with the earliest time."""
    found: dict[str, Waiting] = {}
    for one in threads:
        other = found.get(one.why)
        if other is not None:
            times = [at for at in (one.until_ms, other.until_ms) if at is not None]
            number = one.count + other.count
            one = Waiting(why=one.why, count=number, until_ms=min(times, default=None))
        found[one.why] = one
    return list(found.values())


def _is_spent(used: int, limit: int | None) -> bool:
    return limit is not None and used >= limit


def _view(what: str, one: Waiting) -> WaitView:
    return WaitView(what=what, why=one.why, count=one.count, until_ms=one.until_ms)
