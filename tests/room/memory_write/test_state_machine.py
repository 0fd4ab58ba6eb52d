"""Learning under random life: turns, clock jumps, takeovers, deletions, crashes, restarts, resets.

Hypothesis draws sequences over the real stores, phases, scheduler, database and folders; after each
step the home is compared with a small model. The same sequences are drawn each time.
Longer than the habit: the rules and what carries them out are one machine.
"""

import asyncio
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memory_write.phase1.commit import Delay, store_delay, store_output
from memory_write.phase2.steps import PHASE2_STEPS
from memory_write.ports import Announcement
from state.ids import ThreadId
from state.stores.jobs import Claimed
from state.stores.outputs import Output
from state.stores.withdrawal import change_memory_mode, delete_thread_memory, pollute_thread
from tests.support.one_process import (
    CONSOLIDATIONS,
    EXTRACTIONS,
    SETTINGS,
    FrozenClock,
    OneProcess,
    Script,
    said_lines,
    turns,
)
from tests.support.reference_model import Known, Reference, Seen, broken_jobs, look
from tests.support.rows import a_thread, thread_id

EXAMPLES = 80
STEPS = 50
STEPS_MIN = 10_000
SEEDS = (1, 2, 3, 4)
COOLDOWN_MS = SETTINGS.phase2.cooldown_s * 1_000
PHASE1_STEPS = tuple(
    f"phase1/{name}" for name in ("claimed", "heard", "extracted", "before_store", "stored")
)
HOLDS = st.sampled_from((None, None, None, *PHASE1_STEPS, *PHASE2_STEPS))
KILLS = st.sampled_from((*PHASE1_STEPS, *PHASE2_STEPS))
JUMPS_S = st.sampled_from((60, 20 * 60, 7 * 3_600, 86_400, 8 * 86_400, 35 * 86_400, -2 * 3_600))
THREADS_MAX = 6
STEP_SECONDS_MAX = 20
INVARIANTS = {
    "holders": "one holder per job",
    "rows": "no acknowledged row is lost, and none stands that nobody made",
    "stale": "nothing is written with a stale fence",
    "memory": "published memory is an old or a new edition, byte for byte",
    "notes": "no note is lost",
    "jobs": "every job has exactly one state and, if not done, a reason",
    "deleted": "deleted threads leave no row",
    "threads": "threads are as a person left them",
    "fences": "fences only grow",
    "forgetting": "what went is out of memory, or is to be taken out without a cooldown",
    "end": "in a good world all is heard, and memory holds that and nothing else",
}
NOT_HELD = precondition(lambda self: not self.process.held)
HELD = precondition(lambda self: self.process.held)
SOME = precondition(lambda self: bool(self.model.threads))
LEARNED = precondition(lambda self: len(self.seen.outputs) > 2)
STANDING = precondition(lambda self: bool(self.seen.facts & self.model.barred_facts))
RESTED = precondition(lambda self: self.since_start > 4)
PUBLISHED = precondition(lambda self: bool(self.seen.folder.files))
EXPIRED = precondition(lambda self: self.process.held and bool(self._expired()))


class Learning(RuleBasedStateMachine):
    """One home, the process that learns in it, and the model."""

    steps_taken = 0
    folder = Path()

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FrozenClock()
        self.script = Script()
        self.model = Reference()
        self.script.heard = self.model.heard
        self.wrong: dict[str, list[str]] = {}
        self.faults: list[str] = []
        self.starts = self.since_start = 0
        self.numbers = 0
        self.held_claims: dict[tuple[str, str], int] = {}

    @initialize(threads=st.integers(1, 4))
    def begin(self, threads: int) -> None:
        """A home with a few threads."""
        self.root = self._next_root()
        self._run(self._start())
        self.seen = self.at_rest = self._look()
        for _ in range(threads):
            self.new_thread()

    # What a person does.

    @precondition(lambda self: len(self.model.threads) < THREADS_MAX)
    @rule()
    def new_thread(self) -> None:
        """A thread of one turn."""
        self.numbers += 1
        self._step(self._turn(thread_id(self.numbers)))

    @SOME
    @rule(pick=st.integers(0, 99))
    def turn(self, pick: int) -> None:
        """A thread goes on."""
        self._step(self._turn(self._picked(pick)))

    @SOME
    @rule()
    def everyone_goes_on(self) -> None:
        """A turn in each thread."""
        self._step(self._turns())

    @SOME
    @rule(pick=st.integers(0, 99))
    def delete(self, pick: int) -> None:
        """A thread is deleted, its file first."""
        self._step(self._delete(self._picked(pick)))

    @SOME
    @rule(pick=st.integers(0, 99), mode=st.sampled_from(("disabled", "enabled", "polluted")))
    def change_mode(self, pick: int, mode: str) -> None:
        """A person disables or enables a thread, or it takes in outside context."""
        self._step(self._change_mode(self._picked(pick), mode))

    @PUBLISHED
    @rule(number=st.integers(0, 9))
    def note(self, number: int) -> None:
        """A note is written into the published folder, unless there is one of that name."""
        self._step(self._note(number))

    @LEARNED
    @rule()
    def reset(self) -> None:
        """Everything is forgotten, also while a pass is held at a step."""
        self._step(self._reset())

    # What time and machines do.

    @rule(seconds=JUMPS_S)
    def clock_moves(self, seconds: int) -> None:
        """Time goes by, or the clock is set back; who sleeps notices."""
        self._step(self._move(seconds))

    @HELD
    @rule(seconds=st.sampled_from((60, 100, 2 * 3_600, 3 * 86_400)))
    def process_is_frozen(self, seconds: int) -> None:
        """Time goes by and no heartbeat is sent."""
        self._step(self._freeze(seconds))

    @NOT_HELD
    @rule(
        hold_at=HOLDS,
        later_s=st.sampled_from((0, 7 * 3_600, 30 * 3_600)),
        said=st.lists(st.sampled_from(EXTRACTIONS), min_size=1, max_size=3),
        agent=st.sampled_from(CONSOLIDATIONS),
    )
    def wake(self, hold_at: str | None, later_s: int, said: list[str], agent: str) -> None:
        """The scheduler wakes for one pass, later."""
        self._script(said, agent)
        self.clock.advance(later_s)
        self._step(self.process.wake(hold_at))

    @NOT_HELD
    @rule(
        hold_at=HOLDS,
        pick=st.integers(0, 99),
        everything=st.booleans(),
        said=st.lists(st.sampled_from(EXTRACTIONS), min_size=1, max_size=3),
        agent=st.sampled_from(CONSOLIDATIONS),
    )
    def order(
        self, hold_at: str | None, pick: int, everything: bool, said: list[str], agent: str
    ) -> None:
        """A person orders a pass, over one thread or all."""
        self._script(said, agent)
        only = self._picked(pick) if self.model.threads and not everything else None
        self._step(self.process.order(only, hold_at))

    @NOT_HELD
    @STANDING
    @rule(hold_at=HOLDS)
    def take_out(self, hold_at: str | None) -> None:
        """Code takes out at once what went."""
        self._step(self.process.take_out(hold_at))

    @HELD
    @rule(agent=st.sampled_from(CONSOLIDATIONS))
    def go_on(self, agent: str) -> None:
        """The held pass goes on to its end."""
        self._script(list(self.script.extractions), agent)
        self._step(self._go_on())

    @HELD
    @rule(end=st.sampled_from(("learned", "failed", "held")), agent=st.sampled_from(CONSOLIDATIONS))
    def overtaken(self, end: str, agent: str) -> None:
        """The process sleeps, another owner takes its job, and it goes on as if nothing were."""
        self._step(self._freeze(2 * 3_600))
        self._step(self._rival(end))
        self.go_on(agent)

    @EXPIRED
    @rule(end=st.sampled_from(("learned", "failed", "held")))
    def rival_takes_over(self, end: str) -> None:
        """Another owner claims what the held pass works on, if its lease has ended."""
        self._step(self._rival(end))

    @RESTED
    @rule()
    def restart(self) -> None:
        """Shut down in good order and start again."""
        self._step(self._restart())

    @HELD
    @rule()
    def killed(self) -> None:
        """The process ends as by kill -9 at the step where it is held."""
        self._step(self._kill())

    @NOT_HELD
    @rule(
        step=KILLS,
        said=st.lists(st.sampled_from(EXTRACTIONS), min_size=1, max_size=2),
        agent=st.sampled_from(CONSOLIDATIONS),
    )
    def killed_at(self, step: str, said: list[str], agent: str) -> None:
        """A pass is killed at a step."""
        self._script(said, agent)
        self._step(self._killed_at(step))

    @invariant()
    def all_invariants_hold(self) -> None:
        """Each by its name."""
        for name, found in self.wrong.items():
            assert not found, f"{INVARIANTS[name]}: {found}"

    def teardown(self) -> None:
        """In a good world everything ends: all is heard, memory holds it and nothing else."""
        try:
            if hasattr(self, "process") and not any(self.wrong.values()):
                self._step(self._settle_down(), counted=False)
                self.wrong["end"] = self.model.unfinished(self.seen)
                self.all_invariants_hold()
        finally:
            if hasattr(self, "process"):
                self._run(self.process.stop())
            self.runner.close()
            shutil.rmtree(self.root, ignore_errors=True)

    # How the rules are carried out.

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)

    def _step(self, work: Coroutine[Any, Any, None], *, counted: bool = True) -> None:
        type(self).steps_taken += counted
        self.since_start += 1
        self._run(self._settled(work))
        before, self.seen = self.seen, self._look()
        if not self.process.held:
            self.held_claims.clear()
        elif not self.held_claims:
            self.held_claims = {
                (job["kind"], job["key"]): job["fence"]
                for job in self.seen.jobs
                if job["status"] == "running"
            }
        self._compare(before)

    async def _settled(self, work: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(STEP_SECONDS_MAX):
            await work
        await turns()
        async with self.process.state.database.writing():
            pass  # whatever a woken heartbeat wrote came first
        await turns()

    def _look(self) -> Seen:
        home = self.process.state.home
        return look(home.database, home.memories("v1"))

    def _compare(self, before: Seen) -> None:
        seen, model, now_ms = self.seen, self.model, self.clock.now_ms()
        held = self.process.held
        self.wrong["rows"] = model.lost_rows(seen, before, now_ms, adopt=not held)
        self.wrong["memory"] = model.mixed_memory(seen, before, self.at_rest)
        self.wrong["notes"] = model.lost_notes(seen)
        self.wrong["holders"] = list(self.faults)
        self.wrong["jobs"] = broken_jobs(seen)
        self.wrong["deleted"] = model.rows_of_deleted(seen)
        self.wrong["threads"] = model.wrong_modes(seen)
        self.wrong["fences"] = [
            f"{before.fence} became {seen.fence}" for _ in "1" if seen.fence < before.fence
        ] + [str(job) for job in seen.jobs if (job["fence"] or 0) > seen.fence]
        if not held:
            self.at_rest = seen
            self.wrong["forgetting"] = model.kept_too_long(seen, now_ms, cooldown_ms=COOLDOWN_MS)

    def _picked(self, pick: int) -> ThreadId:
        known = sorted(self.model.threads)
        return known[pick % len(known)]

    def _script(self, said: list[str], agent: str) -> None:
        self.script.extractions = tuple(said)
        self.script.consolidation = agent

    def _next_root(self) -> Path:
        self.starts += 1
        return self.folder / f"{id(self):x}-{self.starts}"

    def _told(self, announcement: Announcement) -> None:
        if announcement.what == "extraction/finished":
            self.model.ended(
                ThreadId(str(announcement.data["thread_id"])), str(announcement.data["outcome"])
            )

    async def _start(self) -> None:
        self.since_start = 0
        owner = f"process-{self.starts}"
        self.process = await OneProcess.start(
            self.root, self.clock, owner, self.script, self._told, self.faults
        )

    async def _turn(self, chosen: ThreadId) -> None:
        state, now_ms = self.process.state, self.clock.now_ms()
        row = a_thread(int(chosen[-12:]), created_at_ms=now_ms, updated_at_ms=now_ms)
        path = state.home.root / row.rollout_path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(said_lines(chosen, now_ms, first=path.stat().st_size == 0))
        known = self.model.threads.setdefault(chosen, Known())
        async with state.database.writing() as tx:
            if await state.threads.get(tx, chosen) is None:
                await state.threads.put(tx, row)
            await state.threads.touch(tx, chosen, updated_at_ms=now_ms)
        known.updated_at_ms = max(known.updated_at_ms, now_ms)

    async def _turns(self) -> None:
        for chosen in sorted(self.model.threads):
            await self._turn(chosen)

    async def _delete(self, chosen: ThreadId) -> None:
        state = self.process.state
        (state.home.root / a_thread(int(chosen[-12:])).rollout_path).unlink()
        async with state.database.writing() as tx:
            await delete_thread_memory(
                tx,
                jobs=state.jobs,
                outputs=state.outputs,
                thread_id=chosen,
                now_ms=self.clock.now_ms(),
            )
            await state.threads.delete(tx, chosen)
        self.model.gone(chosen)

    async def _change_mode(self, chosen: ThreadId, mode: str) -> None:
        state = self.process.state
        stores = {"threads": state.threads, "jobs": state.jobs, "outputs": state.outputs}
        common: dict[str, Any] = {**stores, "thread_id": chosen, "now_ms": self.clock.now_ms()}
        async with state.database.writing() as tx:
            if mode == "polluted":
                await pollute_thread(tx, **common)
            else:
                await change_memory_mode(tx, **common, mode=mode)  # type: ignore[arg-type]
        self.model.changed(chosen, mode)

    async def _note(self, number: int) -> None:
        live = self.process.state.home.memories("v1")
        path = f"extensions/ad_hoc/notes/2026-11-18T00-00-0{number}-note.md"
        if live.is_dir() and not (live / path).exists():
            (live / path).parent.mkdir(parents=True, exist_ok=True)
            (live / path).write_text(f"note: number {number}\n")
            self.model.notes.add(path)

    async def _reset(self) -> None:
        await self.process.reset()
        self.model.forgotten()

    async def _move(self, seconds: int) -> None:
        if seconds < 0:
            self.clock.jump(seconds)
        else:
            self.clock.advance(seconds)

    async def _freeze(self, seconds: int) -> None:
        self.clock.jump(seconds)

    async def _go_on(self) -> None:
        lost = self._lost_claims()
        before = self._look()
        await self.process.go_on()
        after = self._look()
        self.wrong["stale"] = [
            f"{kind}/{key}: {_traces(before, kind, key)} became {_traces(after, kind, key)}"
            for kind, key in lost
            if _traces(before, kind, key) != _traces(after, kind, key)
        ]

    def _lost_claims(self) -> list[tuple[str, str]]:
        lost = []
        for (kind, key), fence in self.held_claims.items():
            job = self.seen.job(kind, key)
            if job is None or job["fence"] != fence or job["status"] != "running":
                lost.append((kind, key))
        return lost

    async def _rival(self, end: str) -> None:
        """The rival ends what it took in one way or another, or keeps it."""
        self.starts += 1
        rival = self.process.rival(f"rival-{self.starts}", self.faults)
        for job in self._expired():
            if job["kind"] == "extraction":
                await self._rival_extraction(rival, ThreadId(job["key"]), end)
            else:
                await self._rival_consolidation(rival, end)

    def _expired(self) -> list[dict[str, Any]]:
        now_ms = self.clock.now_ms()
        running = (job for job in self.seen.jobs if job["status"] == "running")
        return [job for job in running if job["lease_until_ms"] <= now_ms]

    async def _rival_extraction(self, rival: Any, chosen: ThreadId, end: str) -> None:
        async with rival.database.writing() as tx:
            thread = await rival.threads.get(tx, chosen)
            claimed = await rival.jobs.claim_extraction(
                tx,
                version="v1",
                thread_id=chosen,
                watermark_ms=thread.updated_at_ms,
                lease_s=90,
                running_max=8,
            )
        if not isinstance(claimed, Claimed):
            return
        if end == "failed":
            delay = Delay(reason="rival", retry_at_ms=self.clock.now_ms(), uses_retry=True)
            await store_delay(rival, claimed.claim, delay, None)
        elif end == "learned":
            fact = self.script.new_fact()
            output = Output(
                version="v1",
                thread_id=chosen,
                source_updated_at_ms=thread.updated_at_ms,
                raw_memory=fact,
                rollout_summary=fact,
                rollout_slug="work",
                generated_at_ms=self.clock.now_ms(),
            )
            ended = await store_output(rival, claimed.claim, thread, output, None)
            if ended.value == "learned":
                self.model.threads[chosen].facts.add(fact)
                self.model.acknowledged[chosen] = fact

    async def _rival_consolidation(self, rival: Any, end: str) -> None:
        async with rival.database.writing() as tx:
            claimed = await rival.jobs.claim_consolidation(
                tx, version="v1", lease_s=90, cooldown_s=0, ignore_cooldown=True
            )
        if isinstance(claimed, Claimed) and end == "failed":
            async with rival.jobs.finishing(rival.database, claimed.claim) as tx:
                await rival.jobs.fail(
                    tx,
                    claimed.claim,
                    reason="rival",
                    retry_at_ms=self.clock.now_ms(),
                    uses_retry=True,
                )

    async def _restart(self) -> None:
        await self.process.stop()
        self.starts += 1
        await self._start()

    async def _kill(self) -> None:
        old, self.root = self.root, self._next_root()
        await self.process.killed(self.root)
        shutil.rmtree(old)
        await self._start()

    async def _killed_at(self, step: str) -> None:
        await self.process.order(None, step)
        if self.process.held:
            await self._kill()

    async def _settle_down(self) -> None:
        if self.process.held:
            await self.process.go_on()
        self._script(["good"], "good")
        self.clock.advance(2 * 86_400)
        await self.process.wake(None)
        await self.process.order(None, None)


def _traces(seen: Seen, kind: str, key: str) -> object:
    """What a worker of this job could have changed."""
    if kind == "extraction":
        row = seen.output(key) or {}
        # The same pass may consolidate it.
        return {name: row[name] for name in row if "selected" not in name}, seen.job(kind, key)
    published = [one for one in seen.editions if one["state"] == "published"]
    marks = [(one["thread_id"], one["selected"]) for one in seen.outputs]
    # Its folder it may take back: that is judged by what is published.
    return seen.job(kind, key), published, marks


@pytest.mark.requirement("FR-S12", "P11")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", SEEDS)
def test_learning_agrees_with_the_model_whatever_happens(number: int, tmp_path: Path) -> None:
    """10,000 steps in all, the same ones each time."""
    machine = type(f"Learning{number}", (Learning,), {"folder": tmp_path, "steps_taken": 0})
    run_state_machine_as_test(
        seed(number)(machine),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )
    assert machine.steps_taken >= STEPS_MIN // len(SEEDS)  # type: ignore[attr-defined]
