"""The agent's work on the staged copy, under caps that stand in code.

Invariant: when `work` returns or is cancelled the agent has no tool left, also if it does not let
itself be stopped; nothing is written to the copy after that.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from memory_write.limits import Phase2Limits
from memory_write.phase2.tools import ToolMeter
from memory_write.ports import (
    Budget,
    ConsolidationReport,
    ConsolidationRequest,
    ConsolidationStep,
    Consolidator,
    FileTool,
    ModelChoice,
    ModelFailed,
    ModelUse,
)
from state.clock import Clock

STOP_SECONDS_MAX = 10
# The agent holds the cap itself and can then say what it used; ours is for one that does not.
GRACE_S = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd:
    """How the agent ended; `failure` is None when it said that it was done."""

    use: ModelUse
    model_calls: int = 0
    failure: str | None = None
    transient: bool = False


class Agent:
    """One agent with one budget, which may be asked more than once in a run."""

    def __init__(
        self,
        consolidator: Consolidator,
        *,
        version: str,
        job_key: str,
        instructions: str,
        tools: Sequence[FileTool],
        meter: ToolMeter,
        model: ModelChoice,
        limits: Phase2Limits,
        tokens_max: int,
        clock: Clock,
        progress: Callable[[ConsolidationStep], None],
    ) -> None:
        self._consolidator = consolidator
        self._version = version
        self._job_key = job_key
        self._instructions = instructions
        self._tools = tools
        self._meter = meter
        self._model = model
        self._clock = clock
        self._progress = progress
        self._ended = ModelUse()
        self._under_way = ModelUse()
        self._turns_left = limits.turns_max
        self._tokens_left = tokens_max
        self._ends_at_s = clock.monotonic_s() + limits.seconds_max

    async def work(self, brief: str) -> AgentEnd:
        """Let it work until it is done or a cap is reached.

        Raises: OSError when the machine failed under one of its tools.
        """
        seconds = int(self._ends_at_s - self._clock.monotonic_s())
        if self._turns_left <= 0 or self._tokens_left <= 0 or seconds <= 0:
            return AgentEnd(use=ModelUse(), failure="capped:budget")
        request = ConsolidationRequest(
            version=self._version,
            instructions=self._instructions,
            brief=brief,
            tools=self._tools,
            budget=Budget(
                turns_max=self._turns_left, tokens_max=self._tokens_left, seconds_max=seconds
            ),
            model=self._model,
            job_key=self._job_key,
            progress=self._stepped,
        )
        end = await self._within(self._consolidator.run(request), seconds + GRACE_S)
        self._turns_left -= end.model_calls
        self._tokens_left -= end.use.total_tokens
        self._ended, self._under_way = self._ended + end.use, ModelUse()
        return end

    @property
    def use(self) -> ModelUse:
        """All it used so far, also of a call that did not come to its end."""
        return self._ended + self._under_way

    def _stepped(self, step: ConsolidationStep) -> None:
        self._under_way = step.use
        self._progress(step)

    async def close(self) -> None:
        """Take its tools away; waits for a call under way."""
        await asyncio.to_thread(self._meter.close)

    async def _within(
        self, work: Coroutine[Any, Any, ConsolidationReport], seconds: int
    ) -> AgentEnd:
        agent = asyncio.ensure_future(work)
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        circling = asyncio.ensure_future(self._meter.exhausted.wait())
        broken = asyncio.ensure_future(self._meter.stopped.wait())
        waits = {agent, timer, circling, broken}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self._meter.fault is not None:
                # Whatever the agent made of it: it was not the model that failed.
                raise self._meter.fault
            if agent.done():
                return _end_of(agent)
            failure = "capped:tool_calls" if circling.done() else "capped:seconds"
            return AgentEnd(use=self._under_way, failure=failure)
        finally:
            for one in waits:
                one.cancel()
            # An agent that swallows its cancellation is left behind without tools.
            await asyncio.wait(waits, timeout=STOP_SECONDS_MAX)


def _end_of(agent: "asyncio.Future[ConsolidationReport]") -> AgentEnd:
    try:
        report = agent.result()
    except ModelFailed as error:
        return AgentEnd(use=error.use, failure=f"model:{error.reason}", transient=error.transient)
    return AgentEnd(
        use=report.use,
        model_calls=report.model_calls,
        failure=None if report.stopped_by is None else f"capped:{report.stopped_by}",
    )
