"""Runs the tool calls of one response; each gets an output, whatever becomes of it.

Invariant: a call has one output in the record, also when its tool raises, never returns, or the
turn is stopped; and no tool runs on in the turn's name after this returned.
"""

import asyncio
import logging
import secrets
from collections.abc import Iterator, Sequence

from server.agent.errors import NotMarked
from server.agent.interrupts import Stopped
from server.agent.limits import AgentLimits
from server.agent.models.base import Item
from server.agent.tools.base import ABORTED, ToolSet, fitted, run_call
from server.agent.tools.stage import Part, StagedTool, ToolCall
from server.agent.turn_floor import TurnFloor
from server.agent.turn_stage import CallStage
from state.errors import StateError
from state.rollouts.lines import response_item

log = logging.getLogger(__name__)

Output = str | tuple[Part, ...]


class Acting:
    """The calls of one response of the model."""

    def __init__(self, floor: TurnFloor, sets: Sequence[ToolSet], limits: AgentLimits) -> None:
        self._floor = floor
        self._sets = sets
        self._limits = limits
        self._interrupts = floor.turn.interrupts

    async def run(self, calls: Sequence[Item]) -> None:
        """Run them in order, those that may run together at once.

        Raises: Stopped, OSError, StateError.
        """
        answered = 0
        try:
            for group in self._groups(calls):
                # Whatever becomes of them, they are answered there.
                answered += len(group)
                await self._together(group)
                if self._floor.failed is not None:
                    raise self._floor.failed
                if self._floor.cancelled:
                    self._interrupts.request("interrupted")
                    raise Stopped("interrupted")
        finally:
            for call in calls[answered:]:
                if self._floor.failed is None:
                    await self._answer(call, ABORTED)

    def _groups(self, calls: Sequence[Item]) -> Iterator[list[Item]]:
        group: list[Item] = []
        for call in calls:
            tool = self._tool(call)
            if tool is not None and tool.is_parallel:
                group.append(call)
                continue
            if group:
                yield group
                group = []
            yield [call]
        if group:
            yield group

    async def _together(self, calls: Sequence[Item]) -> None:
        stages = [CallStage(self._floor, str(call.get("call_id", ""))) for call in calls]
        running = [
            asyncio.create_task(self._one(call, stage), name=f"tool {call.get('name')}")
            for call, stage in zip(calls, stages, strict=True)
        ]
        outputs: list[Output] = [ABORTED] * len(calls)
        try:
            with self._interrupts.stoppable():
                await asyncio.wait(running)
            outputs = [_result_of(task) for task in running]
        except Stopped:
            await self._stopped(running, stages)
            outputs = [_result_of(task) for task in running]
            raise
        finally:
            for task, stage in zip(running, stages, strict=True):
                if not task.done():
                    task.cancel()
                    stage.abandon()
            for call, output in zip(calls, outputs, strict=True):
                await self._answer(call, output)

    async def _stopped(
        self, running: Sequence["asyncio.Task[Output]"], stages: Sequence[CallStage]
    ) -> None:
        """Stop the tools and give them a moment to let go."""
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=self._limits.tool_stop_s)
        for task, stage in zip(running, stages, strict=True):
            if not task.done():
                log.error("%s did not stop and is left behind", task.get_name())
                stage.abandon()

    async def _one(self, call: Item, stage: CallStage) -> Output:
        """The net of one call: what its tool raises is told to the model, and the turn goes on."""
        name, stopped = str(call.get("name", "")), True
        try:
            output = await self._output(call, stage)
            stopped = False
            return output
        except (OSError, StateError) as error:
            stopped = False
            if error is self._floor.failed:
                return ABORTED
            return _broken(name, error)
        except NotMarked as refused:
            stopped = False
            return str(refused)
        except Exception as error:
            stopped = False
            return _broken(name, error)
        finally:
            try:
                await stage.close(is_stopped=stopped)
            except (OSError, StateError) as error:
                # The turn fails of it, as of everything that cannot be recorded.
                log.error("the items of a call of %s were not recorded: %s", name, error)

    async def _output(self, call: Item, stage: CallStage) -> Output:
        tool, limits = self._tool(call), self._limits
        if tool is None:
            return await run_call(
                self._sets,
                call,
                output_bytes_max=limits.tool_output_bytes_max,
                seconds_max=limits.tool_seconds_max,
            )
        made = _made(call)
        limit = asyncio.timeout(tool.seconds_max)
        try:
            async with limit:
                result = await tool.run(made, stage)
        except TimeoutError:
            if not limit.expired():
                raise
            return f"the tool {made.name} took longer than {tool.seconds_max} s and was stopped"
        if result.is_fitted:
            return result.content
        return _fitted(result.content, limits.tool_output_bytes_max)

    def _tool(self, call: Item) -> StagedTool | None:
        name, namespace = str(call.get("name", "")), call.get("namespace")
        return next(
            (tool for one in self._sets if (tool := one.find_staged(name, namespace))), None
        )

    async def _answer(self, call: Item, output: Output) -> None:
        """Record the output of a call, and let the model see it."""
        item = _output_item(call, output)
        await self._floor.record([response_item(item, turn_id=self._floor.turn.turn_id)])
        self._floor.conversation.remember(item)


def _made(call: Item) -> ToolCall:
    custom = call.get("type") == "custom_tool_call"
    text = call.get("input" if custom else "arguments")
    namespace = call.get("namespace")
    return ToolCall(
        call_id=str(call.get("call_id", "")),
        name=str(call.get("name", "")),
        namespace=namespace if isinstance(namespace, str) else None,
        text=text if isinstance(text, str) else "",
        custom=custom,
    )


def _result_of(task: "asyncio.Task[Output]") -> Output:
    if not task.done() or task.cancelled() or task.exception() is not None:
        return ABORTED
    return task.result()


def _broken(name: str, error: Exception) -> str:
    incident = secrets.token_hex(4)
    log.error("the tool %s failed, incident %s", name, incident, exc_info=error)
    return f"the tool {name} failed (incident {incident}); what it was to do may be half done"


def _fitted(content: Output, bytes_max: int) -> Output:
    if isinstance(content, str):
        return fitted(content, bytes_max=bytes_max)
    return tuple(
        {**part, "text": fitted(str(part["text"]), bytes_max=bytes_max)}
        if part.get("type") == "input_text"
        else part
        for part in content
    )


def _output_item(call: Item, output: Output) -> Item:
    custom = call.get("type") == "custom_tool_call"
    return {
        "type": "custom_tool_call_output" if custom else "function_call_output",
        "call_id": str(call.get("call_id", "")),
        "output": output if isinstance(output, str) else list(output),
    }
