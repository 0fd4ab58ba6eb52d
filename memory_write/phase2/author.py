"""A consolidator's turn on the staged copy: told, watched, put right and judged.

Invariant: what comes back was judged after the agent had lost its tools; what it used is recorded
however the turn ended.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from memory_write.limits import MemorySettings
from memory_write.phase2 import brief
from memory_write.phase2 import steps as at
from memory_write.phase2.blocking import in_thread, to_the_end
from memory_write.phase2.consolidate import Agent
from memory_write.phase2.gather import Gathered
from memory_write.phase2.inputs import recap_path
from memory_write.phase2.notes_told import not_worked_in
from memory_write.phase2.purse import Purse
from memory_write.phase2.report import Failure
from memory_write.phase2.setbacks import Setbacks
from memory_write.phase2.tidy import Tally, tidied, write_back
from memory_write.phase2.tools import ToolMeter, staged_tools
from memory_write.phase2.verify import Case, Finding, judge
from memory_write.phase2.withdraw import Gone
from memory_write.ports import ConsolidationStep, ModelChoice, Models, ModelUse, Steps
from memory_write.recipes import Recipe
from state.ids import ThreadId
from state.policy.redaction import contains_secret
from state.recovery import State
from state.stores.editions import EditionInputs
from state.stores.jobs import Claim
from state.workspace.layout import DIFF_FILE
from state.workspace.root import ConfinedRoot
from state.workspace.snapshot import Snapshot
from state.workspace.staging import Staging

_LOG = logging.getLogger(__name__)

REPAIRS_MAX = 1

Progress = Callable[[Claim, dict[str, int | str]], None]
"""Told how far a run is, in steps and counts."""


@dataclass(slots=True)
class Run:
    """What one run found out so far."""

    claim: Claim
    recipe: Recipe
    staging: Staging
    unused_days_max: int | None
    take_out_only: bool = False
    """Whether a person waits for a withdrawal; the lock of publishing is then held already."""
    use: ModelUse = field(default_factory=ModelUse)
    tally: Tally = field(default_factory=Tally)
    nothing_added: bool = False
    """Whether the agent looked at what came and said twice that memory stays as it is."""
    unworked: frozenset[str] = frozenset()
    """Notes and edits by hand among what came that are not worked in: they stay as they are."""


def inputs_since(gathered: Gathered, since: frozenset[ThreadId]) -> EditionInputs:
    """What came, changed and went since a consolidator last had its turn."""
    removed = {*gathered.inputs.removed, *(since - gathered.sources.thread_ids)}
    return replace(gathered.inputs, removed=tuple(sorted(removed)))


class Author:
    """Lets a consolidator write, and answers for what comes of it."""

    def __init__(
        self,
        state: State,
        models: Models,
        purse: Purse,
        settings: MemorySettings,
        setbacks: Setbacks,
        steps: Steps,
        progress: Progress,
    ) -> None:
        self._state = state
        self._models = models
        self._purse = purse
        self._settings = settings
        self._limits = settings.phase2
        self._setbacks = setbacks
        self._steps = steps
        self._progress = progress

    async def write(
        self,
        run: Run,
        gathered: Gathered,
        tokens_max: int,
        *,
        since: frozenset[ThreadId],
        gone: Gone,
    ) -> Snapshot | Failure:
        """Let the agent work on the copy, and judge what it left; once more if that is unsound."""
        staged = run.staging.staged
        diff_text = brief.render_diff_file(gathered.diff, bytes_max=self._limits.diff_bytes_max)
        await in_thread(ConfinedRoot(staged).write, DIFF_FILE, diff_text.encode())
        meter = ToolMeter(self._limits, run.recipe)
        agent = Agent(
            self._models.consolidator(None),
            version=run.claim.version,
            job_key=run.claim.key,
            instructions=brief.instructions(run.recipe),
            tools=staged_tools(staged, meter),
            meter=meter,
            model=ModelChoice(
                model=self._settings.consolidation_model,
                effort=run.recipe.consolidation_effort,
                service_tier=self._settings.consolidation_service_tier,
            ),
            limits=self._limits,
            tokens_max=tokens_max,
            clock=self._state.clock,
            progress=lambda step: self._progress(run.claim, _counts(step)),
        )
        told = brief.task(gathered.offered, gathered.unsound, run.recipe)
        findings: tuple[Finding, ...] = ()
        await self._steps(at.CONSOLIDATING)
        try:
            for attempt in range(1 + REPAIRS_MAX):
                end = await agent.work(told)
                run.use = agent.use
                if end.failure is not None:
                    return self._setbacks.of_agent(end)
                written = await in_thread(self._tidied, run, gathered, gone)
                findings = await in_thread(judge, self._case(run, gathered, since, written))
                if not findings and (
                    findings := nothing_done(gathered, meter, agent.use, run.recipe)
                ):
                    if attempt and has_looked(gathered, meter, run.recipe):
                        # Asked again it stands by it: there is nothing in them to remember.
                        run.nothing_added, findings = True, ()
                        run.unworked = _by_persons(gathered, run.recipe)
                if not findings:
                    break
                told = brief.repair(findings, run.recipe)
        finally:
            run.use = agent.use
            await to_the_end(self._closed(run, agent))
        await self._steps(at.CONSOLIDATED)
        return await self._verified(run, gathered, since, gone, findings)

    async def _closed(self, run: Run, agent: Agent) -> None:
        """Its tools first: whoever removes the copy may count on nobody writing there."""
        await agent.close()
        await self._purse.record(run.claim, agent.use)

    async def _verified(
        self,
        run: Run,
        gathered: Gathered,
        since: frozenset[ThreadId],
        gone: Gone,
        findings: tuple[Finding, ...],
    ) -> Snapshot | Failure:
        """The last judgement, now that nobody can write any more."""
        if not findings:
            await in_thread((run.staging.staged / DIFF_FILE).unlink)
            written = await in_thread(self._tidied, run, gathered, gone)
            findings = await in_thread(judge, self._case(run, gathered, since, written))
        if findings:
            listed = "; ".join(map(str, findings[:5]))
            _LOG.warning("memory %s was not published: %s", run.claim.version, listed)
            return self._setbacks.fruitless(f"unsound: {listed}")
        await self._steps(at.VERIFIED)
        return written

    def _tidied(self, run: Run, gathered: Gathered, gone: Gone) -> Snapshot:
        """What the agent left so far, with what code puts right by itself; blocking."""
        written = _written(run.staging)
        better = tidied(written, gathered, gone, run.recipe, run.tally)
        write_back(run.staging.staged, written, better)
        return better

    def _case(
        self, run: Run, gathered: Gathered, since: frozenset[ThreadId], written: Snapshot
    ) -> Case:
        return Case(
            recipe=run.recipe,
            limits=self._limits,
            published=gathered.published,
            offered=gathered.offered,
            written=written,
            published_sources=gathered.published_sources,
            sources=gathered.sources,
            inputs=inputs_since(gathered, since),
            holds_secret=contains_secret,
            resources_moved_percent=gathered.resources_moved_percent,
        )


def nothing_done(
    gathered: Gathered, meter: ToolMeter, use: ModelUse, recipe: Recipe
) -> tuple[Finding, ...]:
    """A model that wrote nothing has worked nothing in; its success would lose what came.

    Rules, which cost no token, have looked at everything and write only what is another text now.
    """
    if meter.has_written or use == ModelUse():
        return ()
    came = {*gathered.inputs.added, *gathered.inputs.changed, *_by_persons(gathered, recipe)}
    if not came:
        return ()
    told = (
        f"{len(came)} new inputs are not worked in; if they add nothing to memory, read "
        f"{DIFF_FILE} and end without writing"
    )
    return (Finding("nothing_written", ".", told),)


def has_looked(gathered: Gathered, meter: ToolMeter, recipe: Recipe) -> bool:
    """Whether the agent read what came: the difference as a whole, or each recap and note."""
    if DIFF_FILE in meter.seen:
        return True
    came = {*gathered.inputs.added, *gathered.inputs.changed}
    files = {recap_path(one) for one in gathered.selection if one.output.thread_id in came}
    files |= _by_persons(gathered, recipe)
    return bool(files) and files <= meter.seen


def _by_persons(gathered: Gathered, recipe: Recipe) -> frozenset[str]:
    return not_worked_in(gathered.baseline, gathered.offered, recipe)


def _written(staging: Staging) -> Snapshot:
    """What the agent left so far, without the diff file."""
    snapshot = staging.staged_snapshot()
    files = {path: file for path, file in snapshot.files.items() if path != DIFF_FILE}
    return Snapshot(files=files, odd=snapshot.odd)


def _counts(step: ConsolidationStep) -> dict[str, int | str]:
    return {
        "step": "consolidating",
        "modelCalls": step.model_calls,
        "toolCalls": step.tool_calls,
        "inputTokens": step.use.input_tokens,
        "outputTokens": step.use.output_tokens,
    }
