"""Learning under random life, in one memory version and in two at once.

Hypothesis draws sequences over the real stores, phases, lanes, database and folders; after each
step the home is compared with a small model. The same sequences are drawn each time, others with
`--hypothesis-seed N`. What is named here holds after every step:

- one holder per job (`holders`), and a start frees what the dead held (`starts`);
- no acknowledged row is lost, and none stands that nobody made (`rows`, `deleted`, `threads`);
- nothing is written with a stale fence, and fences only grow (`stale`, `fences`);
- published memory is an old or a new edition, byte for byte (`memory`);
- every job has exactly one state and, if not done, a reason (`jobs`);
- what was withdrawn stands on no surface that is read, or is to be taken out without a cooldown
  (`surfaces`, `forgetting`);
- an acknowledged note is in force or consolidated (`notes`); what a person wrote stays (`by hand`);
- an outage of the models uses no retry (`outage`);
- a run that lost its job ends as such, with no traceback (`log`);
- in a good world all is heard, and memory holds that and nothing else (`end`).

Seen red within the first lives of `v1` by each of: no proof of a fence (`rows`), claims that look
at no lease (`holders`), an acknowledgement before the row is stored (`rows`), a swap that leaves
one file behind (`memory`), a failure without a reason (`jobs`), a deletion that keeps rows
(`rows`).
"""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memory_write.phase2.steps import PHASE2_STEPS
from state.stores.threads import MemoryMode
from tests.support.even_draws import even_draws
from tests.support.life_of_memory import Life, Work, empty_home, quick_folder
from tests.support.one_process import CONSOLIDATIONS, EXTRACTIONS

EXAMPLES = 22
STEPS = 100
STEPS_MIN = 10_000
LIVES = (("v1",), ("v1", "v2"), ("v2",), ("v2", "v1"))
PHASE1_STEPS = tuple(
    f"phase1/{name}" for name in ("claimed", "heard", "extracted", "before_store", "stored")
)
HOLDS = st.sampled_from((None, None, None, *PHASE1_STEPS, *PHASE2_STEPS))
KILLS = st.sampled_from((*PHASE1_STEPS, *PHASE2_STEPS))
JUMPS_S = st.sampled_from(
    (60, 20 * 60, 7 * 3_600, 86_400, 8 * 86_400, 35 * 86_400, -60, -2 * 3_600, -9 * 86_400)
)
MODES = st.sampled_from(("disabled", "enabled", "enabled", "polluted"))
EDITS = st.sampled_from(("handbook", "handbook", "summary", "summary", "stray", "recap", "wipe"))
ENDS = st.sampled_from(("learned", "failed", "held"))
AGENTS = st.sampled_from(CONSOLIDATIONS)
SAID = st.lists(st.sampled_from(EXTRACTIONS), min_size=1, max_size=3)
PICKS = st.integers(0, 99)
THREADS_MAX = 6
SOME = precondition(lambda self: bool(self.life.world.threads))


class Learning(RuleBasedStateMachine):
    """One home in the hands of Hypothesis; what may be drawn depends on what a person did alone."""

    steps_taken = 0
    folder = Path()
    versions: tuple[str, ...] = ()
    runner: asyncio.Runner

    @initialize(threads=st.integers(1, 4))
    def begin(self, threads: int) -> None:
        """A home with a few threads."""
        self.life = Life(self.folder, self.folder / "template", self.versions)
        self.runner.run(self.life.first_step())
        for _ in range(threads):
            self._step(self.life.new_thread)

    @precondition(lambda self: len(self.life.world.threads) < THREADS_MAX)
    @rule()
    def new_thread(self) -> None:
        """A person begins a thread."""
        self._step(self.life.new_thread)

    @SOME
    @rule(pick=PICKS)
    def turn(self, pick: int) -> None:
        """A thread goes on."""
        self._step(lambda: self.life.turn(pick))

    @SOME
    @rule()
    def everyone_goes_on(self) -> None:
        """All threads go on."""
        self._step(self.life.everyone_goes_on)

    @SOME
    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        """A thread is deleted."""
        self._step(lambda: self.life.delete(pick))

    @SOME
    @rule(pick=PICKS, mode=MODES)
    def change_mode(self, pick: int, mode: MemoryMode) -> None:
        """A thread may be learned from, or may not."""
        self._step(lambda: self.life.change_mode(pick, mode))

    @rule(number=st.integers(0, 9), which=PICKS)
    def note(self, number: int, which: int) -> None:
        """A note is taken."""
        self._step(lambda: self.life.note(number, self._version(which)))

    @rule(pick=PICKS, which=PICKS)
    def remove_note(self, pick: int, which: int) -> None:
        """A note is deleted by hand."""
        self._step(lambda: self.life.remove_note(pick, self._version(which)))

    @rule(what=EDITS, which=PICKS)
    def edit(self, what: str, which: int) -> None:
        """Somebody is at the folder."""
        self._step(lambda: self.life.edit(what, self._version(which)))

    @rule(sure=st.integers(0, 3))
    def reset(self, sure: int) -> None:
        """Now and then all is forgotten."""
        if sure == 3:
            self._step(self.life.reset)

    @rule(seconds=JUMPS_S)
    def clock_moves(self, seconds: int) -> None:
        """Time goes by, or back."""
        self._step(lambda: self.life.clock_moves(seconds))

    @rule(seconds=st.sampled_from((60, 100, 2 * 3_600, 3 * 86_400)))
    def process_is_frozen(self, seconds: int) -> None:
        """The machine sleeps."""
        self._step(lambda: self.life.freeze(seconds))

    @rule(
        hold_at=HOLDS,
        later_s=st.sampled_from((0, 7 * 3_600, 30 * 3_600)),
        said=SAID,
        agent=AGENTS,
        order=st.booleans(),
        pick=st.one_of(st.none(), PICKS),
    )
    def learn(
        self,
        hold_at: str | None,
        later_s: int,
        said: list[str],
        agent: str,
        order: bool,
        pick: int | None,
    ) -> None:
        """A pass of the scheduler or of a person, to its end or to a step."""
        self.life.scripted(said, agent)
        if not order:
            self.life.clock.advance(later_s)
        self._step(lambda: self.life.learn(hold_at, pick, order=order))

    @rule(hours=st.sampled_from((1, 6, 48)))
    def outage(self, hours: int) -> None:
        """The provider is away."""
        self._step(lambda: self.life.outage(hours))

    @rule(step=KILLS, end=ENDS, agent=AGENTS)
    def overtaken(self, step: str, end: str, agent: str) -> None:
        """A lease is lost in the middle of the work."""
        self.life.scripted(["good"], agent)
        self._step(lambda: self.life.overtaken(step, end))

    @rule(step=KILLS, learns=st.booleans(), agent=AGENTS)
    def taken_over(self, step: str, learns: bool, agent: str) -> None:
        """Two owners, one after the other."""
        self.life.scripted(["good"], agent)
        self._step(lambda: self.life.taken_over(step, learns=learns))

    @rule()
    def restart(self) -> None:
        """Shut down in good order and start again."""
        self._step(self.life.restart)

    @rule(step=KILLS, said=SAID, agent=AGENTS)
    def killed_at(self, step: str, said: list[str], agent: str) -> None:
        """A crash at a step."""
        self.life.scripted(said, agent)
        self._step(lambda: self.life.killed_at(step))

    @invariant()
    def all_invariants_hold(self) -> None:
        """Each by its name."""
        wrong = self.life.wrong if hasattr(self, "life") else {}
        assert not any(wrong.values()), {name: found for name, found in wrong.items() if found}

    def teardown(self) -> None:
        """In a good world everything ends: all is heard, memory holds it and nothing else."""
        if not hasattr(self, "life"):
            return
        life = self.life
        try:
            if not any(life.wrong.values()):
                self.runner.run(life.step(life.settle_down))
                life.wrong["end"] = life.unfinished()
                self.all_invariants_hold()
        finally:
            type(self).steps_taken += life.steps
            self.runner.run(life.end())

    def _step(self, work: Work) -> None:
        self.runner.run(self.life.step(work))

    def _version(self, which: int) -> str:
        return self.versions[which % len(self.versions)]


def _runner() -> asyncio.Runner:
    """On the loop of the server, where this system has it."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _run(machine: type[RuleBasedStateMachine], *, seed: int) -> None:
    """So many lives of so many steps, the same ones whenever the seed is the same."""
    with even_draws(seed) as draws:
        run_state_machine_as_test(
            machine,
            settings=settings(
                backend=draws,
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                database=None,
                deadline=None,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
                report_multiple_bugs=False,
            ),
        )


@pytest.mark.requirement("FR-S12", "P11")
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("versions", LIVES, ids="+".join)
def test_learning_agrees_with_the_model_whatever_happens(
    versions: tuple[str, ...],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    pytestconfig: pytest.Config,
) -> None:
    """10,000 steps in all, the same ones each time."""
    seed = int(pytestconfig.getoption("--hypothesis-seed") or 0)
    before = getrusage(RUSAGE_SELF)
    with _runner() as runner, quick_folder(tmp_path) as folder:
        runner.run(empty_home(folder / "template"))
        space = {"folder": folder, "versions": versions, "runner": runner, "steps_taken": 0}
        machine = type("_".join(("Learning", *versions)), (Learning,), space)
        _run(machine, seed=len(LIVES) * seed + LIVES.index(versions))
    taken = machine.steps_taken  # type: ignore[attr-defined]  # a class made just above
    after = getrusage(RUSAGE_SELF)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    record_property("steps", taken)
    print(f"{taken} steps over {'+'.join(versions)}, {spent_s:.0f} s of processor time")
    assert taken >= STEPS_MIN // len(LIVES)


@pytest.mark.requirement("FR-S12")
@pytest.mark.parametrize("set_back_s", [0, 9 * 86_400])
@pytest.mark.parametrize("held_at", ["phase1/extracted", "phase2/staged"])
async def test_a_job_that_was_left_running_ends_in_a_good_world(
    tmp_path: Path, held_at: str, set_back_s: int
) -> None:
    """Also where the clock by which its lease was written was far ahead."""
    await empty_home(tmp_path / "template")
    life = Life(tmp_path, tmp_path / "template", ("v1", "v2"))
    try:
        await life.first_step()
        await life.step(life.new_thread)
        await life.step(lambda: life.overtaken(held_at, "held"))
        left = [one for seen in life.seen.values() for one in seen.jobs]
        assert any(one["status"] == "running" for one in left)
        await life.step(lambda: life.clock_moves(-set_back_s))
        await life.step(life.settle_down)
        assert life.unfinished() == []
        assert not any(life.wrong.values()), life.wrong
    finally:
        await life.end()


def test_which_steps_are_drawn_hangs_on_the_seed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on what else was loaded or drawn before; and no life ends early."""

    def drawn() -> list[int]:
        picks: list[int] = []

        class Picking(RuleBasedStateMachine):
            @rule(pick=PICKS)
            def step(self, pick: int) -> None:
                picks.append(pick)

        _run(Picking, seed=7)
        return picks

    alone = drawn()
    source = tmp_path / "numbers_of_ours.py"
    source.write_text("".join(f"N{number} = {number}\n" for number in range(60, 99)))
    spec = importlib.util.spec_from_file_location("numbers_of_ours", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "numbers_of_ours", module)
    assert drawn() == alone
    assert len(alone) == EXAMPLES * STEPS
