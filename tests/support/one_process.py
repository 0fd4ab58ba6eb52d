"""One process that learns, over a real home: it can be held at a step, outlived, killed, restarted.

A kill is a copy of the home as it lies on the disk at that moment; the process that was killed
goes on in the folder that nobody looks at any more, and is buried there. Longer than the habit: the
process, its models and its fault point are only used together.
"""

import asyncio
import itertools
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_write.controls.reset import MemoryReset
from memory_write.lanes import Lane, Lanes
from memory_write.limits import MemorySettings, Phase1Limits
from memory_write.phase1.allowance import Allowance
from memory_write.phase1.run import Phase1
from memory_write.phase2.recover import recover
from memory_write.phase2.restore import restore_published
from memory_write.phase2.run import Phase2
from memory_write.ports import (
    Announcement,
    ConsolidationReport,
    ConsolidationRequest,
    Consolidator,
    ExtractionModel,
    ExtractionReply,
    ExtractionRequest,
    ModelChoice,
    ModelFailed,
)
from memory_write.recipes import RECIPES
from memory_write.scheduler import Scheduler
from memory_write.withdrawals import Withdrawals
from state.clock import Clock
from state.database import Row, Transaction
from state.home import Home
from state.ids import ThreadId
from state.named_queries import Query
from state.recovery import State, open_state
from state.stores.jobs import CONSOLIDATION_KEY, Claimed, JobStore
from state.stores.refusals import LEASE_MAX_MS, Skipped
from tests.support.clock import ManualClock
from tests.support.consolidators import SUMMARY, USE, Tools, write_well
from tests.support.learning import OpenQuota

SETTINGS = MemorySettings(phase1=Phase1Limits(concurrent_max=3, claims_per_wake_max=4))
WORK = ("memory pass", "extraction worker")
"""How tasks of a pass are called."""
NOTE_SEARCH: dict[str, Any] = {"queries": ["note: number"], "path": "extensions"}
EXTRACTIONS = ("good", "good", "empty", "nonsense", "down", "refused")
CONSOLIDATIONS = ("good", "good", "good", "bad", "ignoring", "down")


class FrozenClock(ManualClock):
    """A clock by hand that can also jump while the process sleeps, so that no sleeper wakes."""

    def jump(self, seconds: float) -> None:
        """Move the time, forward or back; sleepers notice it only with the next move."""
        self._now_ms += round(seconds * 1_000)


class SchedulerClock:
    """The same time for a scheduler alone; tells when it went to sleep."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.asleep = asyncio.Event()

    def now_ms(self) -> int:
        """The shared time."""
        return self._clock.now_ms()

    def monotonic_s(self) -> float:
        """The shared time in seconds."""
        return self._clock.monotonic_s()

    async def sleep(self, seconds: float) -> None:
        """The pass is over."""
        self.asleep.set()
        await self._clock.sleep(seconds)


class Gate:
    """A fault point that holds the work at one step until it is let go."""

    def __init__(self) -> None:
        self.at: str | None = None
        self.held_at: str | None = None
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def __call__(self, name: str) -> None:
        """Hold here, once."""
        if name == self.at:
            self.at, self.held_at = None, name
            self.reached.set()
            await self._open.wait()

    def let_go(self) -> None:
        """Let the work go on."""
        self._open.set()


class Script:
    """What the models do, by the number of the thread; told what they were asked."""

    def __init__(self) -> None:
        self.extractions: tuple[str, ...] = ("good",)
        self.consolidation = "good"
        self.heard: Callable[[str, ThreadId, str | None], None] = lambda version, id, text: None
        self._facts = itertools.count(1)

    def new_fact(self) -> str:
        """A text that no other extraction gives."""
        return f"fact-{next(self._facts):06d}"


class Models:
    """Both models, by the script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def extraction(self, provider: str | None) -> ExtractionModel:
        """The scripted one."""
        return _Extraction(self._script)

    def consolidator(self, provider: str | None) -> Consolidator:
        """The scripted one."""
        return _Consolidator(self._script)


class _Extraction:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def window_tokens(self, model: ModelChoice) -> int | None:
        return None

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        kinds = self._script.extractions
        kind = kinds[int(request.thread_id[-12:]) % len(kinds)]
        fact = ""
        match kind:
            case "down":
                raise ModelFailed("http_503", transient=True)
            case "refused":
                raise ModelFailed("invalid_request", transient=False)
            case "nonsense":
                return ExtractionReply(text="{ this is not", use=USE)
            case "good":
                fact = self._script.new_fact()
        self._script.heard(request.version, request.thread_id, fact or None)
        reply = {"rollout_summary": fact, "rollout_slug": "work" if fact else ""}
        if request.version == "v1":
            reply["raw_memory"] = fact
        return ExtractionReply(text=json.dumps(reply), use=USE)


class _Consolidator:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
        tools = Tools(request.tools)
        kind = self._script.consolidation
        match kind:
            case "down":
                raise ModelFailed("http_503", transient=True)
            case "bad":
                await tools("write", path="MEMORY.md", content="")
                await tools("write", path="memory_summary.md", content="no heading at all")
            case "good" if request.version == "v1":
                await write_well(tools, request)
            case "good":
                await write_summary(tools)
        return ConsolidationReport(use=USE, model_calls=1)


async def write_summary(tools: Tools) -> None:
    """All that a version without a handbook needs: a sound summary of recaps and notes."""
    said: list[str] = []
    for path, _ in await tools.recaps():
        recap = (await tools.json("read", path=path))["content"]
        assert isinstance(recap, str)
        said.append(f"- {recap.split(chr(10) * 2, 1)[1].strip()}")
    found = await tools("search", **NOTE_SEARCH)
    if found.startswith("{"):
        said += [f"- {one['content']} [ad-hoc note]" for one in json.loads(found)["matches"]]
    await tools("write", path="memory_summary.md", content="\n".join([SUMMARY, *said, ""]))


class WatchedJobs(JobStore):
    """The jobs, and a list of the claims that two held at once or that got an old fence."""

    def __init__(self, clock: Clock, owner: str, faults: list[str]) -> None:
        super().__init__(clock, owner)
        self.faults = faults
        self._now_ms = clock.now_ms

    async def claim_extraction(
        self, tx: Transaction, *, version: str, thread_id: ThreadId, **rules: Any
    ) -> Claimed | Skipped:
        """As the store does it, watched."""
        before = await self._before(tx, version, "extraction", thread_id)
        claimed = await super().claim_extraction(tx, version=version, thread_id=thread_id, **rules)
        return self._watched(claimed, before, taken_over=False)

    async def claim_consolidation(
        self, tx: Transaction, *, version: str, take_over: bool = False, **rules: Any
    ) -> Claimed | Skipped:
        """As the store does it, watched; a withdrawal may take the job from its holder."""
        before = await self._before(tx, version, "consolidation", CONSOLIDATION_KEY)
        claimed = await super().claim_consolidation(
            tx, version=version, take_over=take_over, **rules
        )
        return self._watched(claimed, before, taken_over=take_over)

    async def _before(self, tx: Transaction, version: str, kind: str, key: str) -> Row | None:
        return await tx.one(
            Query(
                "watched",
                "select j.*, (select max(coalesce(fence, 0)) from jobs) as newest from jobs j "
                "where version = :version and kind = :kind and key = :key",
            ),
            version=version,
            kind=kind,
            key=key,
        )

    def _watched(
        self, claimed: Claimed | Skipped, before: Row | None, *, taken_over: bool
    ) -> Claimed | Skipped:
        if isinstance(claimed, Claimed) and before is not None:
            name = f"{claimed.claim.kind}/{claimed.claim.key}"
            ahead_ms = (before["lease_until_ms"] or 0) - self._now_ms()
            alive = before["status"] == "running" and 0 < ahead_ms <= LEASE_MAX_MS
            if alive and not taken_over:
                self.faults.append(f"{name} was held by {before['worker']}")
            if claimed.claim.fence <= before["newest"]:
                self.faults.append(f"{name} got the old fence {claimed.claim.fence}")
        return claimed


class OneProcess:
    """The learning of one server process, in one lane or several."""

    def __init__(
        self,
        state: State,
        script: Script,
        tell: Callable[[Announcement], None],
        versions: Sequence[str],
    ) -> None:
        self.state = state
        self.gate = Gate()
        self.running: asyncio.Future[object] | None = None
        self.settings = replace(SETTINGS, version=versions[0], dual_write=tuple(versions[1:]))
        self._tell: Callable[[Announcement], None] | None = tell
        models, quota = Models(script), OpenQuota()
        places = asyncio.Semaphore(SETTINGS.phase1.concurrent_max)
        allowance = Allowance(state, tokens_max=None)
        self._phase2 = {
            version: Phase2(
                state, models, quota, self._announce, self.settings.of_version(version), self._step
            )
            for version in dict.fromkeys((*versions, *RECIPES))
        }
        self._phase1 = {
            version: Phase1(
                state, models, quota, self._announce, self.settings.of_version(version),
                self._step, allowance, places,
            )
            for version in versions
        }  # fmt: skip
        self._lanes: Lanes | None = None
        self._schedulers: list[Scheduler] = []
        self._others: frozenset[asyncio.Task[Any]] = frozenset()

    @classmethod
    async def start(
        cls,
        root: Path,
        clock: Clock,
        owner: str,
        script: Script,
        tell: Callable[[Announcement], None],
        faults: list[str],
        versions: Sequence[str] = ("v1",),
    ) -> "OneProcess":
        """Open the home and settle what is left, as the assembly does."""
        state = await open_state(Home(root), clock, owner)
        state = replace(state, jobs=WatchedJobs(clock, owner, faults))
        await restore_published(state, SETTINGS.phase2)
        await recover(state, limits=SETTINGS.phase2)
        return cls(state, script, tell, versions)

    def _announce(self, announcement: Announcement) -> None:
        if self._tell is not None:
            self._tell(announcement)

    async def _step(self, name: str) -> None:
        await self.gate(name)

    @property
    def held(self) -> bool:
        """Whether a pass is held at a step."""
        return self.running is not None

    async def wake(self, hold_at: str | None) -> None:
        """One automatic pass of each lane, or as far as the step that one of them is held at."""
        _, clocks = self._fresh(hold_at)
        for scheduler in self._schedulers:
            scheduler.start()
        asleep = asyncio.gather(*(clock.asleep.wait() for clock in clocks))
        await self._until(asleep, hold_at)

    async def order(self, only: ThreadId | None, hold_at: str | None) -> None:
        """One pass that a person ordered, or as far as the step it is held at."""
        lanes, _ = self._fresh(hold_at)
        await self._until(lanes.consolidate(only=only), hold_at)

    async def withdraw(self, hold_at: str | None = None) -> None:
        """Take out of memory at once what deleted or barred threads supported."""
        lanes, _ = self._fresh(hold_at)
        await self._until(lanes.withdraw(), hold_at)

    async def go_on(self) -> None:
        """Let the held pass end."""
        assert self.running is not None
        self.gate.let_go()
        await self._end()

    async def reset(self) -> None:
        """Forget everything; a held pass is ended by it."""
        lanes = self._lanes or self._fresh(None)[0]
        resetting = asyncio.create_task(MemoryReset(self.state, lanes).run())
        await turns()
        self.gate.let_go()
        if self.running is not None:
            await asyncio.wait({resetting})
            await self._end()
        await resetting

    def rival(self, owner: str, faults: list[str]) -> State:
        """The same database as another owner sees it."""
        return replace(self.state, jobs=WatchedJobs(self.state.clock, owner, faults))

    async def killed(self, target: Path) -> None:
        """End as by kill -9: what lies on the disk now is in the target."""
        self._tell = None
        async with self.state.database.writing():
            # Nobody else is in the middle of a transaction while the lock is held.
            shutil.copytree(self.state.home.root, target, symlinks=True)
        await self.stop()

    async def stop(self) -> None:
        """Shut down in good order, a held pass included, and close the home."""
        if self.running is not None and self._lanes is not None:
            stopping = asyncio.create_task(self._lanes.stop(0))
            await turns()
            self.gate.let_go()
            await stopping
            self.running.cancel()
            await asyncio.gather(self.running, return_exceptions=True)
            self.running = None
        await self.state.close()

    def _fresh(self, hold_at: str | None) -> tuple[Lanes, list[SchedulerClock]]:
        self._others = frozenset(asyncio.all_tasks())
        self.gate = Gate()
        self.gate.at = hold_at
        lanes: list[Lane] = []
        self._schedulers = []
        clocks: list[SchedulerClock] = []
        for version, phase1 in self._phase1.items():
            clock = SchedulerClock(self.state.clock)
            scheduler = Scheduler(
                phase1,
                self._phase2[version],
                self.state,
                self.settings.of_version(version),
                clock,
                self._announce,
                lambda: frozenset(),
            )
            lanes.append(Lane(version, scheduler))
            self._schedulers.append(scheduler)
            clocks.append(clock)
        withheld = self.state.outputs.withheld
        self._lanes = Lanes(lanes, Withdrawals(self._phase2, self.state.clock, withheld))
        return self._lanes, clocks

    async def _until(self, ending: Awaitable[object], hold_at: str | None) -> None:
        """Until it ended or is held."""
        self.running = asyncio.ensure_future(ending)
        if hold_at is None:
            await self._end()
            return
        reached = asyncio.create_task(self.gate.reached.wait())
        await asyncio.wait({self.running, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        if not self.gate.reached.is_set():
            await self._end()
            return
        await self._others_end(hold_at)

    async def _others_end(self, step: str) -> None:
        """Until all that the held step does not hold up has come to its end."""
        held = 1 + step.startswith("phase1/")  # a worker and the pass that waits for it
        async with asyncio.timeout(30):
            while len(ours := [one for one in asyncio.all_tasks() if self._is_work(one)]) > held:
                await asyncio.wait(ours, return_when=asyncio.FIRST_COMPLETED)

    def _is_work(self, task: asyncio.Task[Any]) -> bool:
        return task not in self._others and task.get_name().startswith(WORK)

    async def _end(self) -> None:
        assert self.running is not None and self._lanes is not None
        async with asyncio.timeout(30):
            await asyncio.wait({self.running})
        running, self.running = self.running, None
        await self._lanes.stop(0)
        if not running.cancelled() and (error := running.exception()) is not None:
            if type(error).__name__ != "WorkCancelled":
                raise error


async def turns() -> None:
    """Let what is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


def said_lines(chosen: ThreadId, now_ms: int, *, first: bool) -> list[str]:
    """The lines of one turn in a rollout, after those that begin it."""
    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    meta = {
        "id": chosen,
        "timestamp": stamp,
        "cwd": "/home/user/project",
        "originator": "test",
        "cli_version": "0.1.0",
        "source": "vscode",
    }
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": meta}] if first else []
    for role, kind, text in (
        ("user", "input_text", "Always run the linter before you commit, please."),
        ("assistant", "output_text", "Understood."),
    ):
        content = [{"type": kind, "text": text}]
        payload = {"type": "message", "role": role, "content": content}
        lines.append({"type": "response_item", "payload": payload})
    return [json.dumps({"timestamp": stamp, **line}) + "\n" for line in lines]
