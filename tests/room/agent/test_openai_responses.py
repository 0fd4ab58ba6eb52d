"""The openai provider against a real HTTP server that speaks the Responses API."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from server.agent.errors import ProviderFailed
from server.agent.limits import ModelLimits
from server.agent.models.base import (
    Completed,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    ModelRequest,
    OutputItem,
    ReasoningDelta,
    ReasoningStarted,
)
from server.agent.models.openai_client import retry_after_s
from server.agent.models.openai_responses import OpenAIResponses
from server.settings import ProviderSettings
from state.clock import SystemClock
from tests.support.responses_server import Call, Reply, ResponsesServer, calls, says, status

TOOLS = (
    {
        "type": "namespace",
        "name": "memories",
        "description": "Tools in the memories namespace.",
        "tools": [
            {
                "type": "function",
                "name": "search",
                "description": "search",
                "strict": False,
                "parameters": {"type": "object", "properties": {}},
            }
        ],
    },
)


@pytest.fixture
async def model() -> AsyncIterator[ResponsesServer]:
    async with ResponsesServer() as server:
        yield server


@pytest.fixture
async def provider(model: ResponsesServer) -> AsyncIterator[OpenAIResponses]:
    made = provider_of(model)
    yield made
    await made.close()


def provider_of(model: ResponsesServer, **more: Any) -> OpenAIResponses:
    given: dict[str, Any] = {"name": "mock", "wire_api": "responses", **more}
    settings = ProviderSettings(base_url=model.base_url, **given)
    return OpenAIResponses(settings, clock=SystemClock(), limits=ModelLimits())


def request(text: str = "hello", **more: Any) -> ModelRequest:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content}
    return ModelRequest(model="m", instructions="be brief", input=[item], **more)


async def events(provider: OpenAIResponses, asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in provider.stream(asked)]


async def failure(provider: OpenAIResponses, asked: ModelRequest | None = None) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        await events(provider, asked or request())
    return caught.value


async def test_a_reply_comes_as_start_deltas_item_and_end(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    got = await events(provider, request())
    assert isinstance(got[0], MessageStarted) and got[0].phase == "final_answer"
    text = "".join(one.text for one in got if isinstance(one, MessageDelta))
    assert text == "You said: hello -- mock-final"
    assert isinstance(got[-2], OutputItem) and isinstance(got[-1], Completed)
    assert got[-1].use.total_tokens > 0 and got[-1].use.cached_input_tokens > 0
    body = model.requests[0].body
    assert body["instructions"] == "be brief" and body["store"] is False and body["stream"]


async def test_half_of_a_pair_becomes_a_mark_and_ends_no_turn(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    """Servers cut a text between the two halves of an emoji."""
    model.script(says("so \ud83d far"))
    got = await events(provider, request())
    assert "".join(one.text for one in got if isinstance(one, MessageDelta)) == "so \ufffd far"
    assert isinstance(got[-1], Completed)


async def test_deltas_that_came_in_one_read_are_joined(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    model.script(says("x" * 4_000))
    got = await events(provider, request())
    deltas = [one for one in got if isinstance(one, MessageDelta)]
    assert sum(len(one.text) for one in deltas) == 4_000
    assert len(deltas) < 200


async def test_reasoning_comes_with_its_summary(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    model.script(says("done", reasoning="thinking about it"))
    got = await events(provider, request(effort="high", service_tier="flex"))
    assert isinstance(got[0], ReasoningStarted)
    summary = "".join(one.text for one in got if isinstance(one, ReasoningDelta))
    assert summary == "thinking about it"
    assert model.requests[0].body["reasoning"]["effort"] == "high"
    assert model.requests[0].body["service_tier"] == "flex"


@pytest.mark.parametrize(
    ("name", "wanted", "sent"),
    [
        ("openai", {}, {"effort": "medium", "summary": "auto"}),
        (
            "openai",
            {"effort": "low", "summary": "detailed"},
            {"effort": "low", "summary": "detailed"},
        ),
        ("openai", {"summary": "none"}, {"effort": "medium"}),
        ("mock", {}, None),
    ],
)
async def test_a_model_that_reasons_is_asked_for_thoughts_that_can_be_given_back(
    model: ResponsesServer, name: str, wanted: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    """Also where nobody chose an effort; of a model that nobody knows nothing is asked."""
    provider = provider_of(model, name=name, api_key="sk-abc")
    asked = replace(request(), model=provider.default_model, **wanted)
    await events(provider, asked)
    await provider.close()
    body = model.requests[0].body
    assert body.get("reasoning") == sent
    assert body.get("include") == (None if sent is None else ["reasoning.encrypted_content"])


async def test_no_key_means_no_authorization_header(model: ResponsesServer) -> None:
    for key, expected in ((None, None), ("sk-abc", "Bearer sk-abc")):
        provider = provider_of(model, api_key=key, headers={"X-Team": "a"})
        await events(provider, request())
        await provider.close()
        headers = model.requests[-1].headers
        assert headers.get("authorization") == expected and headers["x-team"] == "a"


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        (status(400, "scripted bad request"), "other", False),
        (status(400, "too long", code="context_length_exceeded"), "contextWindowExceeded", False),
        (status(401, "no key"), "unauthorized", False),
        (status(404, "no such model", code="model_not_found"), "modelNotFound", False),
        (status(429, "slow down", headers={"retry-after": "7"}), "rateLimitExceeded", True),
        (status(429, "none left", code="insufficient_quota"), "usageLimitExceeded", False),
        (status(500), "internalServerError", True),
        (status(503), "serverOverloaded", True),
        (Reply(fails=("scripted", "scripted failure")), "other", False),
        (Reply(fails=("server_is_overloaded", "busy")), "serverOverloaded", True),
        (Reply(fails=("context_length_exceeded", "long")), "contextWindowExceeded", False),
        (Reply(text="half", incomplete="max_output_tokens"), "other", False),
        (Reply(text="half", cut=True), "other", True),
        (Reply(raw=b"data: {broken\n\n"), "other", False),
        (Reply(raw=b""), "other", True),
    ],
)
async def test_each_failure_has_its_kind(
    model: ResponsesServer,
    provider: OpenAIResponses,
    reply: Reply,
    kind: str,
    retryable: bool,
) -> None:
    model.script(reply)
    failed = await failure(provider)
    assert (failed.kind, failed.retryable) == (kind, retryable)
    assert len(model.requests) == 1
    if reply.headers:
        assert failed.retry_after_s == 7


async def test_a_refused_key_and_a_wrong_path_say_what_to_mend(model: ResponsesServer) -> None:
    """Whoever reads it sees which provider it is, where, and what to do."""
    place = f"model provider `mock` at {model.base_url.split('/')[2]}"
    for missing, cure in (("MY_KEY", "set MY_KEY for the server"), (None, "correct its key")):
        provider = provider_of(model, key_missing=missing)
        model.script(status(401, "who are you"))
        failed = await failure(provider)
        assert failed.message == f"{place} refuses the key (401): who are you; {cure}"
        model.script(status(404, "no such path"))
        failed = await failure(provider)
        assert failed.message == (
            f"{place} has nothing under /v1/responses (404): no such path; "
            "correct its base_url or its wire_api"
        )
        await provider.close()


async def test_an_http_failure_says_what_the_server_said(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    failed = await failure(provider, request("fail with status"))
    assert '"scripted bad request"' in failed.message
    failed = await failure(provider, request("fail with an error"))
    assert failed.message == "stream disconnected before completion: scripted failure"


async def test_a_server_that_is_not_there_is_a_passing_failure() -> None:
    async with ResponsesServer() as gone:
        provider = provider_of(gone)
    failed = await failure(provider)
    assert failed.kind == "httpConnectionFailed" and failed.retryable
    assert failed.error_info == {"httpConnectionFailed": {"httpStatusCode": None}}
    await provider.close()


async def test_rate_limit_headers_become_the_clients_shape(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    headers = {
        "x-codex-primary-used-percent": "42.4",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": "1800000000",
    }
    model.script(says("ok", headers=headers))
    [*_, last] = await events(provider, request())
    assert isinstance(last, Completed) and last.rate_limits is not None
    assert last.rate_limits["primary"] == {
        "usedPercent": 42,
        "windowDurationMins": 300,
        "resetsAt": 1_800_000_000,
    }
    assert last.rate_limits["secondary"] is None


async def test_a_server_without_namespaces_gets_flat_functions(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    model.script(
        status(400, "unknown tool type: namespace"),
        calls(Call(name="memories__search", arguments={"queries": ["x"]})),
    )
    got = await events(provider, request(tools=TOOLS))
    [item] = [one.item for one in got if isinstance(one, OutputItem)]
    assert (item["namespace"], item["name"]) == ("memories", "search")
    assert [one.tool_names for one in model.requests] == [
        ["memories.search"],
        ["memories__search"],
    ]
    # Remembered, also for the calls in the history.
    await events(
        provider,
        ModelRequest(model="m", instructions="", input=[item], tools=TOOLS),
    )
    assert model.requests[-1].body["input"][0]["name"] == "memories__search"
    assert "namespace" not in model.requests[-1].body["input"][0]


async def test_a_strict_schema_is_passed_on(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    # Read-only, as the recipes of learning hold theirs.
    schema = MappingProxyType(
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    )
    got = await events(provider, request(output_schema=schema))
    text = "".join(one.text for one in got if isinstance(one, MessageDelta))
    assert text == '{"a": "scripted-a"}'
    sent = model.requests[0].body["text"]["format"]
    assert sent["strict"] is True and sent["schema"] == schema


async def test_an_abandoned_stream_ends_the_call(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    model.script(Reply(text="half", hangs=True))

    async def read() -> None:
        async for _ in provider.stream(request()):
            pass

    reading = asyncio.create_task(read())
    await model.wait_for_requests(1)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    # The client is still good for the next call.
    assert isinstance((await events(provider, request()))[-1], Completed)


async def test_the_next_call_finds_the_connection_of_the_last_one_open(
    model: ResponsesServer, provider: OpenAIResponses
) -> None:
    for _ in range(3):
        await events(provider, request())
        await asyncio.gather(*provider._left)
    assert (len(model.requests), model.accepted) == (3, 1)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:12 GMT"}, 2.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:05 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(
    headers: dict[str, str], seconds: float | None
) -> None:
    """In both forms that the header has, and as OpenAI tells it."""
    assert retry_after_s(headers, now_ms=10_000) == seconds
