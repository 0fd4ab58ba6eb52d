"""The chat provider against a real HTTP server that speaks the Chat Completions API."""

import json
from collections.abc import AsyncIterator
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
from server.agent.models.openai_chat import OpenAIChat
from server.settings import ProviderSettings
from state.clock import SystemClock
from tests.support.chat_server import ChatServer
from tests.support.responses_server import Call, Reply, calls, says, status

MEMORIES = {
    "type": "namespace",
    "name": "memories",
    "description": "Tools in the memories namespace.",
    "tools": [{"type": "function", "name": "search", "parameters": {"type": "object"}}],
}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Change files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: patch"},
}
SCHEMA = {"type": "object", "properties": {"slug": {"type": "string"}}, "required": ["slug"]}


@pytest.fixture
async def model() -> AsyncIterator[ChatServer]:
    async with ChatServer() as server:
        yield server


@pytest.fixture
async def provider(model: ChatServer) -> AsyncIterator[OpenAIChat]:
    settings = ProviderSettings(name="mock", base_url=model.base_url, wire_api="chat")
    made = OpenAIChat(settings, clock=SystemClock(), limits=ModelLimits())
    yield made
    await made.close()


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def request(*items: dict[str, Any], **more: Any) -> ModelRequest:
    return ModelRequest(model="m", instructions="be brief", input=items or (user("hello"),), **more)


async def events(provider: OpenAIChat, asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in provider.stream(asked)]


def items(got: list[ModelEvent]) -> list[Any]:
    return [one.item for one in got if isinstance(one, OutputItem)]


async def test_a_reply_comes_as_start_deltas_item_and_end(
    model: ChatServer, provider: OpenAIChat
) -> None:
    got = await events(provider, request())
    assert isinstance(got[0], MessageStarted)
    said = "".join(one.text for one in got if isinstance(one, MessageDelta))
    assert said == "You said: hello -- mock-final"
    [item] = items(got)
    assert item["content"][0]["text"] == said
    end = got[-1]
    assert isinstance(end, Completed)
    assert end.use.total_tokens > 0 and end.use.cached_input_tokens > 0
    body = model.requests[0].body
    assert body["messages"][0] == {"role": "system", "content": "be brief"}
    assert body["stream_options"] == {"include_usage": True} and "tools" not in body


async def test_half_of_a_pair_becomes_a_mark_and_ends_no_turn(
    model: ChatServer, provider: OpenAIChat
) -> None:
    """Servers cut a text between the two halves of an emoji."""
    model.script(says("so \ud83d far"))
    got = await events(provider, request())
    assert "".join(one.text for one in got if isinstance(one, MessageDelta)) == "so \ufffd far"
    assert isinstance(got[-1], Completed)


async def test_reasoning_comes_before_the_answer(model: ChatServer, provider: OpenAIChat) -> None:
    model.script(says("done", reasoning="thinking about it"))
    got = await events(provider, request(effort="high", service_tier="flex"))
    assert isinstance(got[0], ReasoningStarted)
    assert "".join(one.text for one in got if isinstance(one, ReasoningDelta)) == (
        "thinking about it"
    )
    assert [item["type"] for item in items(got)] == ["reasoning", "message"]
    assert model.requests[0].body["reasoning_effort"] == "high"
    assert model.requests[0].body["service_tier"] == "flex"


async def test_calls_come_whole_and_mean_the_namespaced_tools(
    model: ChatServer, provider: OpenAIChat
) -> None:
    """Names are flat on the wire, arguments come in pieces, free-form text in an object."""
    text = "*** Begin Patch\n*** End Patch"
    model.script(
        calls(
            Call(name="search", namespace="memories", arguments={"queries": ["tabs"]}),
            Call(name="apply_patch", arguments={"input": text}),
        )
    )
    got = items(await events(provider, request(tools=(MEMORIES, PATCH))))
    assert got[0]["namespace"] == "memories" and got[0]["name"] == "search"
    assert json.loads(got[0]["arguments"]) == {"queries": ["tabs"]}
    assert (got[1]["type"], got[1]["input"]) == ("custom_tool_call", text)
    offered = model.requests[0].body["tools"]
    assert [one["function"]["name"] for one in offered] == ["memories__search", "apply_patch"]
    assert "start: patch" in offered[1]["function"]["description"]


async def test_a_conversation_with_calls_is_sent_back_in_pairs(
    model: ChatServer, provider: OpenAIChat
) -> None:
    """Voices alternate; pictures of a tool follow its result, since a result holds text only."""
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    shown = [{"type": "input_text", "text": "a chart"}, picture]
    called = {"type": "function_call", "namespace": "memories", "name": "search"}
    await events(
        provider,
        request(
            {"type": "message", "role": "developer", "content": [{"text": "rules"}]},
            user("<environment_context/>"),
            user("find it"),
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {**called, "arguments": "{}", "call_id": "a"},
            {"type": "custom_tool_call", "name": "apply_patch", "input": "p", "call_id": "b"},
            {"type": "function_call_output", "call_id": "a", "output": "nothing"},
            {"type": "custom_tool_call_output", "call_id": "b", "output": shown},
            user("and now?"),
        ),
    )
    sent = model.requests[0].body["messages"]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert sent[0]["content"] == "be brief\n\nrules"
    assert sent[1]["content"] == "<environment_context/>\n\nfind it"
    assert [call["function"]["name"] for call in sent[2]["tool_calls"]] == [
        "memories__search",
        "apply_patch",
    ]
    assert json.loads(sent[2]["tool_calls"][1]["function"]["arguments"]) == {"input": "p"}
    assert [one["tool_call_id"] for one in sent[3:5]] == ["a", "b"]
    assert sent[4]["content"] == "a chart"
    assert sent[5]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA"},
    }
    assert sent[5]["content"][-1]["text"] == "and now?"


@pytest.mark.requirement("FR-G2")
async def test_keys_that_a_server_refuses_are_left_out_from_then_on(
    model: ChatServer, provider: OpenAIChat
) -> None:
    """A schema that nobody enforces is asked for in words."""
    model.refuses = frozenset(
        {"response_format", "stream_options", "parallel_tool_calls", "service_tier"}
    )
    asked = request(tools=(MEMORIES,), output_schema=SCHEMA, service_tier="flex")
    assert isinstance((await events(provider, asked))[-1], Completed)
    tries = len(model.requests)
    assert tries <= 5
    last = model.requests[-1].body
    assert not model.refuses & set(last)
    assert '"slug"' in last["messages"][0]["content"]
    await events(provider, asked)
    assert len(model.requests) == tries + 1


async def test_a_server_that_does_not_stream_and_one_that_tells_no_usage_are_understood(
    model: ChatServer, provider: OpenAIChat
) -> None:
    model.streams = False
    model.script(calls(Call(name="search", namespace="memories", arguments={})))
    [call] = items(await events(provider, request(tools=(MEMORIES,))))
    assert call["namespace"] == "memories"
    model.streams, model.tells_usage = True, False
    assert isinstance((await events(provider, request()))[-1], Completed)
    model.release()


@pytest.mark.parametrize(
    ("reply", "kind", "passing"),
    [
        (Reply(text="half", cut=True), "other", True),
        (Reply(text="half", incomplete="length"), "other", False),
        (Reply(fails=("context_length_exceeded", "too long")), "contextWindowExceeded", False),
        (Reply(fails=("server_is_overloaded", "busy")), "serverOverloaded", True),
        (status(400, "maximum context length", code="context_length_exceeded"),
         "contextWindowExceeded", False),
        (status(401, "who are you"), "unauthorized", False),
        (status(404, "no such model", code="model_not_found"), "modelNotFound", False),
        (status(429, "slow down", headers={"retry-after": "7"}), "rateLimitExceeded", True),
        (status(503, "overloaded"), "serverOverloaded", True),
        (Reply(raw=b"data: {nonsense\n\n"), "other", False),
        (Reply(raw=b": nothing\n\n"), "other", True),
    ],
)  # fmt: skip
async def test_failures_have_the_kinds_of_the_protocol(
    model: ChatServer, provider: OpenAIChat, reply: Reply, kind: str, passing: bool
) -> None:
    model.script(reply)
    with pytest.raises(ProviderFailed) as caught:
        await events(provider, request())
    assert (caught.value.kind, caught.value.retryable) == (kind, passing)
    if kind == "rateLimitExceeded":
        assert caught.value.retry_after_s == 7
    assert isinstance((await events(provider, request()))[-1], Completed)
