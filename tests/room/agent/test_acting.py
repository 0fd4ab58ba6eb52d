"""Tool calls on their stage: many at once, ones that break, hang, and will not stop."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from server.agent.events import ItemCompleted, ItemStarted, PlanChanged
from server.agent.inputs import Admitted, ThreadSettings
from server.agent.limits import AgentLimits
from server.agent.live_thread import LiveThread
from server.agent.models.base import OutputItem
from server.agent.tool_parts import ToolParts
from server.agent.toolbox import Toolbox
from server.agent.tools.base import ToolSet
from server.agent.tools.stage import Stage, StagedTool, ToolCall, ToolResult
from tests.support.acting_tools import Breaks, Hangs, Together, function
from tests.support.scripted_model import Bench, done, live_bench, message, said


def _call(name: str, number: int = 1, arguments: str = "{}") -> OutputItem:
    item = {"type": "function_call", "name": name, "arguments": arguments}
    return OutputItem(item={**item, "call_id": f"call_{number}"})


def _parts(*tools: StagedTool) -> ToolParts:
    return ToolParts(sets=lambda settings: (ToolSet(staged=tools),))


def _outputs(bench: Bench, request: int = -1) -> dict[str, Any]:
    return {
        item["call_id"]: item["output"]
        for item in bench.provider.requests[request].input
        if item["type"].endswith("_output")
    }


async def _begun(bench: Bench, thread: LiveThread) -> str:
    admitted = await thread.admit(said("go"))
    assert isinstance(admitted, Admitted)
    admitted.begin()
    return admitted.turn_id


class _Quick:
    """Opens and completes an item."""

    name = "quick"
    is_parallel = False
    seconds_max = None
    definition: Mapping[str, Any] = function("quick")

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        item = stage.open("imageView", {"path": "/x"})
        await item.complete({"path": "/x"})
        return ToolResult(content=f"did {call.call_id}")


async def test_twenty_calls_of_one_response_each_get_their_output(tmp_path: Path) -> None:
    """In order, items recorded before they are told, outputs behind their items."""
    async with live_bench(tmp_path / "home", tools=_parts(_Quick())) as bench:
        bench.provider.script([*(_call("quick", n) for n in range(20)), done()])
        thread = await bench.thread()
        recorded_when_told: list[bool] = []

        def watch(event: object) -> None:
            if isinstance(event, ItemCompleted) and event.item.type == "imageView":
                recorded = bench.recorded(thread)
                recorded_when_told.append(
                    f'"{event.item.item_id}"' in recorded.split("ImageView")[-1]
                )

        bench.watch = watch
        await bench.say(thread, "go")
        assert _outputs(bench) == {f"call_{n}": f"did call_{n}" for n in range(20)}
        assert recorded_when_told == [True] * 20


async def test_calls_that_may_run_together_do(tmp_path: Path) -> None:
    """None of them returns before all of them run."""
    async with live_bench(tmp_path / "home", tools=_parts(Together(5), _Quick())) as bench:
        calls = [_call("together", n) for n in range(5)]
        bench.provider.script([*calls, _call("quick", 9), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        outputs = _outputs(bench)
        assert len(outputs) == 6 and outputs["call_4"] == "done call_4"


async def test_a_tool_that_raises_fails_its_item_and_not_the_turn(tmp_path: Path) -> None:
    """The model gets an incident number and nothing of the error's text."""
    async with live_bench(tmp_path / "home", tools=_parts(Breaks(), _Quick())) as bench:
        bench.provider.script([_call("breaks"), _call("quick", 2), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        outputs = _outputs(bench)
        assert "incident" in outputs["call_1"] and "secret" not in outputs["call_1"]
        assert outputs["call_2"] == "did call_2"
        [item] = bench.completed("commandExecution")
        assert item.item.body["status"] == "failed"
        assert bench.kinds()[-1] == "TurnCompleted"


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_tool_that_never_returns_is_stopped_with_its_turn(
    stubborn: bool, tmp_path: Path
) -> None:
    """Also one that will not stop: it is left behind, and what it says later is not heard."""
    tool = Hangs(stubborn=stubborn)
    limits = AgentLimits(tool_stop_s=0.05)
    async with live_bench(tmp_path / "home", limits=limits, tools=_parts(tool)) as bench:
        bench.provider.script([_call("hangs", 1), _call("hangs", 2), done()])
        thread = await bench.thread()
        turn_id = await _begun(bench, thread)
        await tool.started.wait()
        assert thread.interrupt(turn_id).accepted
        ended = await bench.until_ended(turn_id)
        assert getattr(ended, "status", None) == "interrupted"
        told = len(bench.events)
        tool.released.set()
        await bench.say(thread, "again")
        assert _outputs(bench) == {"call_1": "aborted", "call_2": "aborted"}
        late = [one for one in bench.events[told:] if isinstance(one, ItemStarted | ItemCompleted)]
        assert {one.item.type for one in late} <= {"userMessage", "agentMessage"}
        items = bench.completed("commandExecution")
        assert [one.item.body["status"] for one in items] == ([] if stubborn else ["failed"] * 2)


async def test_a_process_that_died_in_a_tool_leaves_a_turn_that_goes_on(tmp_path: Path) -> None:
    """Shown as interrupted; the next request has an output for each call."""
    tool = Hangs()
    async with live_bench(tmp_path / "home", tools=_parts(tool, _Quick())) as bench:
        bench.provider.script([_call("quick", 1), _call("hangs", 2), done()])
        thread = await bench.thread()
        await _begun(bench, thread)
        await tool.started.wait()
        again = bench.rebuild()  # the other one's memory is lost, as after kill -9
        loaded = await again.resume(thread.id)
        [turn] = loaded.history()
        assert turn.status == "interrupted"
        assert [item.type for item in turn.items] == ["userMessage", "imageView"]
        admitted = await loaded.admit(said("go on"))
        assert isinstance(admitted, Admitted)
        admitted.begin()
        await bench.until_ended(admitted.turn_id)
        outputs = _outputs(bench)
        assert outputs.pop("call_1") == "did call_1" and outputs["call_2"].startswith("aborted")
        await again.close(0)


async def test_a_turn_over_its_time_stops_a_hanging_tool(tmp_path: Path) -> None:
    """It fails and says so."""
    limits = AgentLimits(turn_seconds_max=0)
    async with live_bench(tmp_path / "home", limits=limits, tools=_parts(Hangs())) as bench:
        bench.provider.script([_call("hangs"), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        assert bench.kinds()[-1] == "TurnFailed"


def _tools_of(bench: Bench) -> Sequence[str]:
    return [str(tool.get("name")) for tool in bench.provider.requests[-1].tools]


async def test_without_parts_a_thread_has_the_memory_tools_alone(tmp_path: Path) -> None:
    """And an unknown call is answered as one."""
    async with live_bench(tmp_path / "home") as bench:
        bench.provider.script([_call("exec_command"), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        assert _tools_of(bench) == ["memories"]
        assert _outputs(bench) == {"call_1": "unsupported call: exec_command"}


async def test_an_image_reaches_the_model_as_an_image_and_others_are_refused(
    tmp_path: Path,
) -> None:
    """By their first bytes, not their names."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (folder / "b.png").write_text("no image")
    parts = ToolParts(sets=Toolbox().sets)
    async with live_bench(tmp_path / "home", tools=parts) as bench:
        calls = [
            _call("view_image", n, json.dumps({"path": str(folder / name)}))
            for n, name in enumerate(("a.txt", "b.png", "none.png", "../project"))
        ]
        bench.provider.script([*calls, done()], [*message("seen"), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        outputs = _outputs(bench)
        [part] = outputs["call_0"]
        assert part["image_url"].startswith("data:image/png;base64,")
        assert all("not read" in outputs[f"call_{n}"] for n in (1, 2, 3))
        assert [one.item.body["path"] for one in bench.completed("imageView")] == [
            str(folder / "a.txt")
        ]


async def test_a_plan_is_told_and_a_wrong_one_is_explained(tmp_path: Path) -> None:
    """Steps with the wire's words for their status."""
    plan = {"explanation": "why", "plan": [{"step": "one", "status": "in_progress"}]}
    parts = ToolParts(sets=Toolbox().sets)
    async with live_bench(tmp_path / "home", tools=parts) as bench:
        good = _call("update_plan", 1, json.dumps(plan))
        bench.provider.script([good, _call("update_plan", 2, '{"plan": [1]}'), done()])
        thread = await bench.thread()
        await bench.say(thread, "go")
        [told] = [one for one in bench.events if isinstance(one, PlanChanged)]
        assert told.steps == (("one", "inProgress"),) and told.explanation == "why"
        outputs = _outputs(bench)
        assert outputs["call_1"] == "Plan updated" and "parse" in outputs["call_2"]


async def test_the_provider_s_own_web_search_is_offered_and_shown(tmp_path: Path) -> None:
    """As an item of its own."""
    parts = ToolParts(hosted=Toolbox(web_search="live").hosted)
    async with live_bench(tmp_path / "home", tools=parts) as bench:
        action = {"type": "search", "query": "weather"}
        searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
        bench.provider.script(
            [OutputItem(item={**searched, "action": action}), *message("x"), done()]
        )
        thread = await bench.thread()
        await bench.say(thread, "go")
        assert {"type": "web_search", "external_web_access": True} in bench.provider.requests[
            0
        ].tools
        [item] = bench.completed("webSearch")
        assert item.item.body["query"] == "weather"


def test_who_is_offered_a_web_search() -> None:
    """Providers that are known to have one, or whoever the settings name."""
    openai = ThreadSettings(provider="openai", model="m", cwd="/")
    other = ThreadSettings(provider="mock", model="m", cwd="/")
    assert [tool["external_web_access"] for tool in Toolbox().hosted(openai)] == [False]
    assert Toolbox().hosted(other) == ()
    assert Toolbox(web_search="disabled").hosted(openai) == ()
    assert len(Toolbox(web_search="cached").hosted(other)) == 1
