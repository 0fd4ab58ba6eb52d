"""A home that lives: what may happen to it, step by step, and what must hold after each.

Every step is carried out over the real stores, phases, lanes, database and folders; then the home
is compared with the model. Longer than the habit: the steps and their comparison are one thing.
"""

import asyncio
import itertools
import logging
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_write.phase1.commit import Delay, store_delay, store_output
from memory_write.ports import Announcement
from memory_write.recipes import recipe_of
from state.home import Home
from state.ids import ThreadId
from state.recovery import State, open_state
from state.stores.jobs import Claimed
from state.stores.outputs import Output
from state.stores.threads import MemoryMode
from state.stores.withdrawal import change_memory_mode, delete_thread_memory, pollute_thread
from state.workspace.layout import HANDBOOK, NOTES, SUMMARY
from tests.support.one_process import (
    SETTINGS,
    FrozenClock,
    OneProcess,
    Script,
    said_lines,
    turns,
)
from tests.support.reference_model import (
    Eyes,
    Known,
    Reference,
    Seen,
    SeenAll,
    World,
    broken_jobs,
    used_up,
)
from tests.support.rows import a_thread, thread_id

COOLDOWN_MS = SETTINGS.phase2.cooldown_s * 1_000
STEP_SECONDS_MAX = 60
OUTAGE_PASSES = 2
_LEARNING = logging.getLogger("memory_write")
MEMORY_DISK = Path("/dev/shm")
Work = Callable[[], Awaitable[None]]


class Tracebacks(logging.Handler):
    """What learning logged as a fault of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []
        _LEARNING.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it if it has a traceback."""
        if record.exc_info:
            self.told.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

    def close(self) -> None:
        """Listen no more."""
        _LEARNING.removeHandler(self)
        super().close()


class Life:
    """One home, the process that learns in it, and the model."""

    def __init__(self, folder: Path, template: Path, versions: Sequence[str]) -> None:
        self.versions = tuple(versions)
        self.clock = FrozenClock()
        self.script = Script()
        self.world = World()
        self.models = {version: Reference(self.world) for version in versions}
        self.script.heard = lambda version, thread, text: self.models[version].heard(thread, text)
        self.wrong: dict[str, list[str]] = defaultdict(list)
        self.steps = 0
        self._faults: list[str] = []
        self._eyes = Eyes()
        self._folder = folder
        self._homes = itertools.count()
        self._owners = itertools.count()
        self._numbers = itertools.count(1)
        self._lines = itertools.count(1)
        self._held_claims: dict[tuple[str, str, str], int] = {}
        self._by_hand = self._outage = False
        """Of the step under way: a person was at the folder; no model was to be had."""
        self._tracebacks = Tracebacks()
        self.root = self._next_root()
        shutil.copytree(template, self.root)

    # What a person does.

    async def new_thread(self) -> None:
        """A thread of one turn."""
        await self._turn([thread_id(next(self._numbers))])

    async def turn(self, pick: int) -> None:
        """A thread goes on."""
        await self._turn([self._picked(pick)])

    async def everyone_goes_on(self) -> None:
        """A turn in each thread."""
        await self._turn(sorted(self.world.threads))

    async def delete(self, pick: int) -> None:
        """A thread is deleted, its file first; what it said is read no more when that returns."""
        chosen, state = self._picked(pick), self.process.state
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
        self.world.deleted[chosen] = self.world.threads.pop(chosen)
        for model in self.models.values():
            model.gone(chosen)
        await self._withdrawn()

    async def change_mode(self, pick: int, mode: MemoryMode) -> None:
        """A person disables or enables a thread, or it takes in outside context."""
        chosen, state = self._picked(pick), self.process.state
        stores = {"threads": state.threads, "jobs": state.jobs, "outputs": state.outputs}
        common: dict[str, Any] = {**stores, "thread_id": chosen, "now_ms": self.clock.now_ms()}
        async with state.database.writing() as tx:
            if mode == "polluted":
                await pollute_thread(tx, **common)
            else:
                await change_memory_mode(tx, **common, mode=mode)
        self.world.threads[chosen].mode = mode
        await self._withdrawn()

    async def note(self, number: int, version: str) -> None:
        """A note is acknowledged, unless there is one of that name."""
        path = f"{NOTES}/2026-11-18T00-00-0{number}-note.md"
        target = self._live(version) / path
        if not target.exists():
            text = f"note: number {next(self._lines)} wants the harbour lamp to stay green"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{text}\n")
            self.models[version].notes[path] = text

    async def remove_note(self, pick: int, version: str) -> None:
        """A person deletes a note by hand."""
        notes = self.models[version].notes
        if notes:
            path = sorted(notes)[pick % len(notes)]
            (self._live(version) / path).unlink(missing_ok=True)
            del notes[path]

    async def edit(self, what: str, version: str) -> None:
        """A person writes into the published files, beside them, or deletes them."""
        self._by_hand = True
        live, model = self._live(version), self.models[version]
        artefacts = recipe_of(version).artefacts
        path = live / (HANDBOOK if what == "handbook" and HANDBOOK in artefacts else SUMMARY)
        match what:
            case "handbook" | "summary" if path.exists():
                line = f"- by hand: remark {next(self._lines)}"
                path.write_text(f"{path.read_text().rstrip()}\n{line}\n")
                model.by_hand.add(line)
            case "stray" if live.is_dir():
                name, data = f"mine-{next(self._lines)}.txt", b"nobody else's\n"
                (live / name).write_bytes(data)
                model.stray[name] = data
            case "recap":
                for recap in sorted(live.glob("rollout_summaries/*.md"))[:1]:
                    recap.unlink()
            case "wipe" if live.is_dir():
                shutil.rmtree(live)
                model.wiped()

    async def reset(self) -> None:
        """Everything is forgotten, also while a pass is held at a step."""
        self._by_hand = True
        await self.process.reset()
        for model in self.models.values():
            model.forgotten()

    # What time and machines do.

    async def clock_moves(self, seconds: int) -> None:
        """Time goes by, or the clock is set back; who sleeps notices."""
        if seconds < 0:
            self.clock.jump(seconds)
        else:
            self.clock.advance(seconds)

    async def freeze(self, seconds: int) -> None:
        """Time goes by and no heartbeat is sent."""
        self.clock.jump(seconds)

    async def learn(self, hold_at: str | None, pick: int | None, *, order: bool) -> None:
        """One pass, by itself or ordered, over one thread or all; a held one goes on first."""
        if self.process.held:
            await self.go_on()
        elif order:
            only = self._picked(pick) if self.world.threads and pick is not None else None
            await self.process.order(only, hold_at)
        else:
            await self.process.wake(hold_at)

    async def outage(self, hours: int) -> None:
        """For hours no model is to be had, and learning is tried again and again."""
        self.scripted(["down"], "down")
        if self.process.held:
            await self.go_on()
        else:
            for _ in range(OUTAGE_PASSES):
                self._outage = True
                self.clock.advance(hours * 3_600 // OUTAGE_PASSES)
                await self.process.wake(None)
                await self.between()

    async def go_on(self) -> None:
        """The held pass goes on to its end."""
        await self._goes_on(self.process)

    async def restart(self) -> None:
        """Shut down in good order and start again."""
        self._eyes.close()
        await self.process.stop()
        await self.start()

    async def killed_at(self, step: str) -> None:
        """The process ends as by kill -9 at a step."""
        if not self.process.held:
            await self.process.order(None, step)
        self._eyes.close()
        old, self.root = self.root, self._next_root()
        await self.process.killed(self.root)
        shutil.rmtree(old)
        await self.start()

    async def overtaken(self, step: str, end: str) -> None:
        """The process sleeps at a step, another owner takes its job, and it goes on regardless."""
        if not self.process.held:
            await self.process.order(None, step)
        if self.process.held:
            await self.between()
            self.clock.jump(2 * 3_600)
            await self._rival(end)
            await self.between()
            await self.go_on()

    async def taken_over(self, step: str, *, learns: bool) -> None:
        """Another process takes the home over, and the one before wakes up and goes on."""
        if not self.process.held:
            await self.process.order(None, step)
        former = self.process
        if former.held:
            await self.between()
        await self.start()
        if learns:
            await self.process.order(None, None)
        await self.between()
        if former.held:
            await self._goes_on(former)
        await former.stop()

    async def start(self) -> None:
        """A process opens the home; it frees at once what a dead one held."""
        self._owner = f"process-{next(self._owners)}"
        self.process = await OneProcess.start(
            self.root,
            self.clock,
            self._owner,
            self.script,
            self._told,
            self._faults,
            self.versions,
        )
        left = [job for seen in self._look().values() for job in seen.jobs]
        self.wrong["starts"] += [str(job) for job in left if job["status"] == "running"]

    async def settle_down(self) -> None:
        """A good world: models answer, time goes by, nobody interferes."""
        if self.process.held:
            await self.process.go_on()
            # What this pass gave up the next one may already prune.
            await self.between()
        self.scripted(["good"], "good")
        self.clock.advance(2 * 86_400)
        await self.process.wake(None)
        await self.between()
        await self.process.order(None, None)
        await self.between()
        given_up = {
            job["key"]
            for seen in self._look().values()
            for job in seen.jobs
            if job["kind"] == "extraction" and job["attempts_left"] == 0
        }
        # What was given up is heard again when it goes on.
        await self._turn([one for one in sorted(self.world.threads) if one in given_up])
        await self.process.order(None, None)

    def scripted(self, said: Sequence[str], agent: str) -> None:
        """What the models do from now on."""
        self.script.extractions = tuple(said)
        self.script.consolidation = agent

    # A step and its comparison.

    async def first_step(self) -> None:
        """The home is opened."""
        await self.start()
        self.seen = self.at_rest = self._look()

    async def step(self, work: Work) -> None:
        """One step, with all that must hold after it."""
        self.wrong.clear()
        async with asyncio.timeout(STEP_SECONDS_MAX):
            await work()
            await self.between()

    async def between(self) -> None:
        """Compare, in the middle of a step or behind it."""
        self.steps += 1
        await turns()
        async with self.process.state.database.writing():
            pass  # whatever a woken heartbeat wrote came first
        await turns()
        before, self.seen = self.seen, self._look()
        held = self.process.held
        if not held:
            self._held_claims.clear()
        elif not self._held_claims:
            self._held_claims = {
                (version, job["kind"], job["key"]): job["fence"]
                for version, seen in self.seen.items()
                for job in seen.jobs
                if job["status"] == "running" and job["worker"] == self._owner
            }
        self.wrong["holders"] = list(self._faults)
        self.wrong["log"] = list(self._tracebacks.told)
        for version in self.versions:
            self._compare(self.models[version], self.seen[version], before[version], held=held)
        if not held or self._by_hand:
            self.at_rest = self.seen
        self._by_hand = self._outage = False

    def _compare(self, model: Reference, seen: Seen, before: Seen, *, held: bool) -> None:
        now_ms, wrong = self.clock.now_ms(), self.wrong
        wrong["rows"] += model.lost_rows(seen, before, now_ms, adopt=not held)
        if not self._by_hand:
            wrong["memory"] += model.mixed_memory(seen, before, self.at_rest[seen.version])
        wrong["notes"] += model.lost_notes(seen)
        wrong["by hand"] += model.lost_by_hand(seen)
        wrong["jobs"] += broken_jobs(seen)
        wrong["deleted"] += model.rows_of_deleted(seen)
        wrong["threads"] += model.wrong_modes(seen)
        if seen.fence < before.fence:
            wrong["fences"].append(f"{before.fence} became {seen.fence}")
        wrong["fences"] += [str(job) for job in seen.jobs if (job["fence"] or 0) > seen.fence]
        if self._outage:
            wrong["outage"] += used_up(seen, before)
        if not held:
            wrong["forgetting"] += model.kept_too_long(seen, now_ms, cooldown_ms=COOLDOWN_MS)

    async def end(self) -> None:
        """Close what is open, and leave nothing behind."""
        self._tracebacks.close()
        self._eyes.close()
        if hasattr(self, "process"):
            await self.process.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def unfinished(self) -> list[str]:
        """What is left to do in a good world."""
        return [
            f"{version}: {one}"
            for version, model in self.models.items()
            for one in model.unfinished(self.seen[version])
        ]

    # The parts of steps.

    def _live(self, version: str) -> Path:
        return Home(self.root).memories(version)

    def _look(self) -> SeenAll:
        lives = {version: self._live(version) for version in self.versions}
        return self._eyes.look(Home(self.root).database, lives, getattr(self, "seen", None))

    def _picked(self, pick: int) -> ThreadId:
        known = sorted(self.world.threads)
        return known[pick % len(known)]

    def _next_root(self) -> Path:
        return self._folder / f"{id(self):x}-{next(self._homes)}"

    def _told(self, announcement: Announcement) -> None:
        if announcement.what == "extraction/finished":
            data = announcement.data
            model = self.models[announcement.version]
            model.ended(ThreadId(str(data["thread_id"])), str(data["outcome"]))

    async def _turn(self, threads: Sequence[ThreadId]) -> None:
        state, now_ms = self.process.state, self.clock.now_ms()
        rows = {
            one: a_thread(int(one[-12:]), created_at_ms=now_ms, updated_at_ms=now_ms)
            for one in threads
        }
        for chosen, row in rows.items():
            path = state.home.root / row.rollout_path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.writelines(said_lines(chosen, now_ms, first=path.stat().st_size == 0))
        async with state.database.writing() as tx:
            for chosen, row in rows.items():
                if chosen not in self.world.threads:
                    await state.threads.put(tx, row)
                await state.threads.touch(tx, chosen, updated_at_ms=now_ms)
        for chosen in rows:
            known = self.world.threads.setdefault(chosen, Known())
            # A clock that was set back makes nothing older: what was said is new all the same.
            known.updated_at_ms = max(known.updated_at_ms + (known.updated_at_ms > now_ms), now_ms)

    async def _withdrawn(self) -> None:
        """As the server does it before it answers; not while a pass holds the folder."""
        if self.process.held:
            return
        await self.process.withdraw()
        self.wrong["surfaces"] += [
            one
            for version, seen in self._look().items()
            for one in self.models[version].still_shown(seen)
        ]

    async def _goes_on(self, process: OneProcess) -> None:
        lost = self._lost_claims()
        if not lost:
            await process.go_on()
            return
        before = self._look()
        await process.go_on()
        after = self._look()
        self.wrong["stale"] += [
            f"{kind}/{key}: {was} became {now}"
            for version, kind, key in lost
            if (was := _traces(before[version], kind, key))
            != (now := _traces(after[version], kind, key))
        ]

    def _lost_claims(self) -> list[tuple[str, str, str]]:
        lost = []
        for (version, kind, key), fence in self._held_claims.items():
            job = self.seen[version].job(kind, key)
            if job is None or job["fence"] != fence or job["status"] != "running":
                lost.append((version, kind, key))
        return lost

    async def _rival(self, end: str) -> None:
        """The rival ends what it took in one way or another, or keeps it."""
        rival = self.process.rival(f"rival-{next(self._owners)}", self._faults)
        now_ms = self.clock.now_ms()
        for version, seen in self.seen.items():
            for job in seen.jobs:
                if job["status"] != "running" or job["lease_until_ms"] > now_ms:
                    continue
                if job["kind"] == "extraction":
                    await self._rival_extraction(rival, version, ThreadId(job["key"]), end)
                else:
                    await self._rival_consolidation(rival, version, end)

    async def _rival_extraction(
        self, rival: State, version: str, chosen: ThreadId, end: str
    ) -> None:
        async with rival.database.writing() as tx:
            thread = await rival.threads.get(tx, chosen)
            if thread is None:
                return
            claimed = await rival.jobs.claim_extraction(
                tx,
                version=version,
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
                version=version,
                thread_id=chosen,
                source_updated_at_ms=thread.updated_at_ms,
                raw_memory=fact if version == "v1" else "",
                rollout_summary=fact,
                rollout_slug="work",
                generated_at_ms=self.clock.now_ms(),
            )
            ended = await store_output(rival, claimed.claim, thread, output, None)
            if ended.value == "learned":
                self.world.threads[chosen].facts.add(fact)
                self.models[version].acknowledged[chosen] = fact

    async def _rival_consolidation(self, rival: State, version: str, end: str) -> None:
        async with rival.database.writing() as tx:
            claimed = await rival.jobs.claim_consolidation(
                tx, version=version, lease_s=90, cooldown_s=0, ignore_cooldown=True
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


@contextmanager
def quick_folder(otherwise: Path) -> Iterator[Path]:
    """A folder in memory, where there is such a place: a step is a dozen writes to the disk."""
    if not os.access(MEMORY_DISK, os.W_OK):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="memoryd-life-") as name:
        yield Path(name)


async def empty_home(root: Path) -> None:
    """A home that was opened once, to be copied."""
    state = await open_state(Home(root), FrozenClock(), "template")
    await state.close()


def _traces(seen: Seen, kind: str, key: str) -> object:
    """What a worker of this job could have changed."""
    if kind == "extraction":
        row: Mapping[str, Any] = seen.output(key) or {}
        # The same pass may consolidate it.
        return {name: row[name] for name in row if "selected" not in name}, seen.job(kind, key)
    published = [one for one in seen.editions if one["state"] == "published"]
    marks = [(one["thread_id"], one["selected"]) for one in seen.outputs]
    # Its folder it may take back: that is judged by what is published.
    return seen.job(kind, key), published, marks
