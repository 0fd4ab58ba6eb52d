"""The ports of learning over a provider behind a real HTTP server."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from memory_write.ports import (
    Budget,
    ConsolidationRequest,
    ExtractionRequest,
    ModelChoice,
    ModelFailed,
)
from memory_write.recipes import RECIPES
from server.agent.background import LEFT_OUT, BackgroundModels
from server.agent.background_quota import ProviderQuota
from server.agent.limits import BackgroundLimits, ModelLimits, RetryLimits
from server.agent.providers import Providers
from server.settings import ProviderSettings
from state.clock import SystemClock
from state.ids import ThreadId
from state.rollouts.items import Transcript
from tests.support.clock import ManualClock
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


@pytest.mark.requirement("MW-8.2-live-settings")
async def test_an_extraction_is_one_call_without_tools_and_with_the_schema(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    model.script(says_json({"raw_memory": "likes tabs"}))
    choice = ModelChoice(provider="mock", model="small", effort="low", service_tier="flex")
    reply = await models.extraction("mock").extract(hearing(choice))
    assert json.loads(reply.text) == {"raw_memory": "likes tabs"}
    assert reply.use.total_tokens > 0
    [request] = model.requests
    assert request.structured and not request.tool_names
    assert request.body["model"] == "small" and request.body["reasoning"]["effort"] == "low"
    assert request.body["service_tier"] == "flex"
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


@pytest.mark.requirement("FR-E2")
async def test_a_history_that_is_too_long_is_halved_once_and_never_sent_unchanged(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    """What tools said goes, the oldest first; a second refusal ends the run."""
    notes = Notes()
    refusal = status(400, code="context_length_exceeded")
    made = (calls(Call(name="write", arguments={"path": path})) for path in "abcd")
    model.script(*made, refusal, says("done"))
    report = await models.consolidator(None).run(gathering((notes,)))
    assert report.stopped_by is None
    refused, shorter = (request.body["input"] for request in model.requests[-2:])
    outputs = [item["output"] for item in shorter if item["type"] == "function_call_output"]
    assert [output == LEFT_OUT for output in outputs] == [True, True, False, False]
    assert len(refused) == len(shorter)
    model.script(calls(Call(name="write", arguments={})), refusal, refusal)
    with pytest.raises(ModelFailed) as caught:
        await models.consolidator(None).run(gathering((notes,)))
    assert caught.value.too_long
    model.script(refusal)
    with pytest.raises(ModelFailed):
        await models.consolidator(None).run(gathering((notes,)))


async def test_the_schema_of_a_recipe_can_be_sent(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    """Also one that nobody can change."""
    for recipe in RECIPES.values():
        model.script(says("{}"))
        request = replace(hearing(ModelChoice()), output_schema=recipe.reply_schema)
        await models.extraction(None).extract(request)
        sent = model.requests[-1].body["text"]["format"]["schema"]
        assert sent == dict(recipe.reply_schema)


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


@pytest.mark.requirement("MW-8.3-guard", "MW-9-20")
@pytest.mark.requirement("FR-G1")
async def test_a_model_that_the_provider_does_not_list_is_not_called(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    """One look at the list for all first calls; the one that it names is called."""
    model.models = ["mock-model"]
    extraction = models.extraction("mock")
    for _ in range(3):
        with pytest.raises(ModelFailed, match="does not list the model small") as failed:
            await extraction.extract(hearing(ModelChoice(provider="mock", model="small")))
        assert failed.value.transient
    assert (model.requests, model.model_lists) == ([], 1)
    choice = ModelChoice(provider="mock", model="mock-model")
    for _ in range(2):
        model.script(says_json({"raw_memory": "x"}))
        await extraction.extract(hearing(choice))
    assert ([one.body["model"] for one in model.requests], model.model_lists) == (
        ["mock-model"] * 2,
        2,
    )


@pytest.mark.requirement("FR-G1")
async def test_a_provider_without_a_list_is_simply_called(
    model: ResponsesServer, models: BackgroundModels
) -> None:
    """Also where the list is empty."""
    lists: tuple[list[str] | None, ...] = (None, [])
    for listed in lists:
        model.models = listed
        model.script(says_json({"raw_memory": "x"}))
        choice = ModelChoice(provider="mock", model=f"any-{listed}")
        await models.extraction("mock").extract(hearing(choice))
    assert len(model.requests) == 2


@pytest.mark.requirement("MW-8.3-guard", "MW-9-20")
async def test_learning_waits_while_little_of_the_limits_is_left(
    model: ResponsesServer, models: BackgroundModels, providers: Providers
) -> None:
    quota = ProviderQuota(providers, clock=SystemClock(), limits=LIMITS)
    assert await quota.refusal() is None
    used = {"x-codex-primary-used-percent": "90", "x-codex-primary-reset-after-seconds": "60"}
    model.script(says("{}", headers=used))
    await models.extraction(None).extract(hearing(ModelChoice()))
    assert "10 % left" in (await quota.refusal() or "")
    assert 50_000 < (quota.until_ms() or 0) - SystemClock().now_ms() <= 61_000


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "24"}, True),
        ({"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "25"}, False),
        ({"x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "1"}, True),
        ({"x-ratelimit-limit-tokens": "soon", "x-ratelimit-remaining-tokens": "1"}, False),
        ({"x-codex-primary-used-percent": "75", "x-codex-secondary-used-percent": "10"}, False),
        ({"x-codex-primary-used-percent": "10", "x-codex-secondary-used-percent": "76"}, True),
        ({}, False),
    ],
)
async def test_the_guard_reads_the_headers_of_every_kind_of_account(
    model: ResponsesServer,
    models: BackgroundModels,
    providers: Providers,
    headers: dict[str, str],
    refused: bool,
) -> None:
    """A quarter must be left; what is odd or absent lets work pass."""
    clock = ManualClock()
    quota = ProviderQuota(providers, clock=clock, limits=LIMITS)
    model.script(says("{}", headers=headers))
    await models.extraction(None).extract(hearing(ModelChoice()))
    assert (await quota.refusal() is not None) is refused


async def test_a_refused_call_tells_of_the_limits_too(
    model: ResponsesServer, models: BackgroundModels, providers: Providers
) -> None:
    """Its headers say that nothing is left, and when that is over."""
    spent = {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2m0s",
    }
    model.script(*[status(429, code="rate_limit_exceeded", headers=spent)] * 2)
    quota = ProviderQuota(providers, clock=SystemClock(), limits=LIMITS)
    with pytest.raises(ModelFailed) as failed:
        await models.extraction(None).extract(hearing(ModelChoice()))
    assert failed.value.transient
    assert await quota.refusal() == "rate limit: 0 % left"
    assert 100_000 < (quota.until_ms() or 0) - SystemClock().now_ms() <= 121_000


async def test_a_word_about_a_limit_without_an_end_grows_old(
    model: ResponsesServer, models: BackgroundModels, providers: Providers
) -> None:
    """While learning waits it asks nobody, so the word would hold it back for ever."""
    clock = ManualClock(SystemClock().now_ms())
    quota = ProviderQuota(providers, clock=clock, limits=LIMITS)
    model.script(says("{}", headers={"x-codex-primary-used-percent": "99"}))
    await models.extraction(None).extract(hearing(ModelChoice()))
    assert await quota.refusal() is not None and quota.until_ms() is None
    clock.advance(3_700)
    assert await quota.refusal() is None


async def test_the_offline_provider_learns_by_rules(model: ResponsesServer) -> None:
    providers = Providers({}, default="offline", clock=SystemClock(), limits=ModelLimits())
    models = BackgroundModels(providers, clock=SystemClock(), limits=LIMITS)
    assert type(models.extraction(None)).__name__ == "OfflineExtraction"
    assert type(models.consolidator("offline")).__name__ == "OfflineConsolidator"
    assert model.requests == []
