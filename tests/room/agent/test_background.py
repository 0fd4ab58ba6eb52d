"""The ports of learning over a provider behind a real HTTP server."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from memory_write.ports import (
    Budget,
    ConsolidationRequest,
    ExtractionRequest,
    ModelChoice,
    ModelFailed,
)
from server.agent.background import BackgroundModels, ProviderQuota
from server.agent.limits import BackgroundLimits, ModelLimits, RetryLimits
from server.agent.providers import Providers
from server.settings import ProviderSettings
from state.clock import SystemClock
from state.ids import ThreadId
from state.rollouts.items import Transcript
from tests.support.responses_server import (
    Call,
    Reply,
    ResponsesServer,
    calls,
    says,
    says_json,
    status,
)

FAST = RetryLimits(attempts_max=2, wait_first_s=0.001, wait_max_s=0.002)
LIMITS = BackgroundLimits(retry=FAST, remaining_percent_min=25)
THREAD = ThreadId("01a22885-a458-7772-84ef-b9c21f9b3d17")


class Notes:
    """A file tool that remembers what it was told."""

    name = "write"
    description = "writes"
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}

    def __init__(self) -> None:
        self.told: list[str] = []

    async def call(self, arguments: str) -> str:
        self.told.append(arguments)
        return "{}"


@pytest.fixture
async def model() -> AsyncIterator[ResponsesServer]:
    async with ResponsesServer() as server:
        yield server


@pytest.fixture
async def providers(model: ResponsesServer) -> AsyncIterator[Providers]:
    settings = ProviderSettings(name="mock", base_url=model.base_url, wire_api="responses")
    made = Providers(
        {"mock": settings}, default="mock", clock=SystemClock(), limits=ModelLimits(retry=FAST)
    )
    yield made
    await made.close()


@pytest.fixture
def models(providers: Providers) -> BackgroundModels:
    return BackgroundModels(providers, clock=SystemClock(), limits=LIMITS)


def hearing(choice: ModelChoice) -> ExtractionRequest:
    schema = {"type": "object", "properties": {"raw_memory": {"type": "string"}}}
    return ExtractionRequest(
        version="v1",
        thread_id=THREAD,
        cwd="/p",
        git_branch=None,
        rollout_path="sessions/a.jsonl",
        transcript=Transcript(thread_id=THREAD, cwd="/p", git_branch=None, items=()),
        instructions="extract",
        input_text="the transcript",
        output_schema=schema,
        model=choice,
    )


def gathering(tools: tuple[Notes, ...], **caps: int) -> ConsolidationRequest:
    budget = {"turns_max": 5, "tokens_max": 1_000_000, "seconds_max": 30, **caps}
    return ConsolidationRequest(
        version="v1",
        instructions="consolidate",
        brief="the task",
        tools=tools,
        budget=Budget(**budget),
        model=ModelChoice(),
        job_key="global",
    )


async def test_an_extraction_is_one_call_without_tools_and_with_the_schema(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(says_json({"raw_memory": "likes tabs"}))
    choice = ModelChoice(provider="mock", model="small", effort="low")
    reply = await models.extraction("mock").extract(hearing(choice))
    assert json.loads(reply.text) == {"raw_memory": "likes tabs"}
    assert reply.use.total_tokens > 0
    [request] = model.requests
    assert request.structured and not request.tool_names
    assert request.body["model"] == "small" and request.body["reasoning"]["effort"] == "low"
    assert request.user_texts == ["the transcript"]


async def test_a_model_of_another_provider_is_not_asked_for_here(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(says("{}"))
    choice = ModelChoice(provider="gone", model="their-model")
    await models.extraction("gone").extract(hearing(choice))
    assert model.requests[0].body["model"] != "their-model"


@pytest.mark.parametrize(
    ("reply", "transient", "too_long"),
    [
        (status(400), False, False),
        (status(401), True, False),
        (status(400, code="context_length_exceeded"), False, True),
        (Reply(text="half", incomplete="max_output_tokens"), False, False),
        (Reply(text="half", cut=True), True, False),
    ],
)
async def test_a_failed_call_says_whether_it_may_pass(
    model: ResponsesServer,
    models: BackgroundModels,
    reply: Reply,
    transient: bool,
    too_long: bool,
) -> None:
    model.script(reply)
    with pytest.raises(ModelFailed) as caught:
        await models.extraction(None).extract(hearing(ModelChoice()))
    assert (caught.value.transient, caught.value.too_long) == (transient, too_long)
    assert len(model.requests) == 1


async def test_an_outage_is_tried_again_and_then_passes(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(status(503), status(503))
    with pytest.raises(ModelFailed) as caught:
        await models.extraction(None).extract(hearing(ModelChoice()))
    assert caught.value.transient and len(model.requests) == 2


async def test_a_consolidation_agent_works_with_its_tools_until_it_is_done(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    notes = Notes()
    model.script(calls(Call(name="write", arguments={"path": "a"})), says("done"))
    report = await models.consolidator(None).run(gathering((notes,)))
    assert report.stopped_by is None and report.model_calls == 2
    assert notes.told == ['{"path": "a"}']
    assert model.requests[0].tool_names == ["write"]
    assert [item["type"] for item in model.requests[1].body["input"]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert report.use.total_tokens > 0


async def test_a_tool_that_was_not_given_is_refused_in_words(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(calls(Call(name="shell", arguments={"command": "ls"})), says("done"))
    await models.consolidator(None).run(gathering((Notes(),)))
    assert "unsupported call: shell" in model.requests[1].text


@pytest.mark.requirement("FR-K1")
async def test_an_agent_that_never_stops_is_stopped_by_its_turns(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.choose = lambda request: calls(Call(name="write", arguments={}))
    report = await models.consolidator(None).run(gathering((Notes(),), turns_max=3))
    assert report.stopped_by == "turns" and len(model.requests) == 3


@pytest.mark.requirement("FR-K1")
async def test_an_agent_is_stopped_by_its_tokens(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    use = {"input_tokens": 900, "output_tokens": 200, "total_tokens": 1_100}
    model.choose = lambda request: calls(Call(name="write", arguments={}), usage=use)
    report = await models.consolidator(None).run(gathering((Notes(),), tokens_max=1_000))
    assert report.stopped_by == "tokens" and report.model_calls == 1
    assert report.use.total_tokens == 1_100


async def test_an_agent_whose_model_hangs_is_stopped_by_its_time(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(Reply(text="half", hangs=True))
    report = await models.consolidator(None).run(gathering((Notes(),), seconds_max=0))
    assert report.stopped_by == "seconds"


async def test_learning_waits_while_little_of_the_limits_is_left(
    model: ResponsesServer, models: BackgroundModels, providers: Providers
) -> None:
    quota = ProviderQuota(providers, clock=SystemClock(), limits=LIMITS)
    assert await quota.refusal() is None
    used = {"x-codex-primary-used-percent": "90", "x-codex-primary-reset-after-seconds": "60"}
    model.script(says("{}", headers=used))
    await models.extraction(None).extract(hearing(ModelChoice()))
    assert "10 % left" in (await quota.refusal() or "")


async def test_the_offline_provider_learns_by_rules(model: ResponsesServer) -> None:
    providers = Providers({}, default="offline", clock=SystemClock(), limits=ModelLimits())
    models = BackgroundModels(providers, clock=SystemClock(), limits=LIMITS)
    assert type(models.extraction(None)).__name__ == "OfflineExtraction"
    assert type(models.consolidator("offline")).__name__ == "OfflineConsolidator"
    assert model.requests == []
