"""That a history becomes a summary in time: whatever is known of the model, whatever it counts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.agent.conversation import Conversation
from server.agent.errors import ProviderFailed
from server.agent.events import TokenUsage, TurnCompleted
from server.agent.filling import WINDOW_UNKNOWN, item_tokens, request_tokens
from server.agent.limits import ModelLimits
from server.agent.models.base import ModelRequest, TokenUse
from server.agent.models.openai_chat import OpenAIChat
from server.agent.models.response_events import status_failed
from server.settings import ProviderSettings
from state.clock import SystemClock
from state.rollouts.lines import PASSTHROUGH
from tests.support.chat_server import ChatServer
from tests.support.responses_server import status
from tests.support.scripted_model import Bench, call, done, live_bench, message

UNCOUNTED = TokenUse()
LONG = "the quick brown fox jumps over the lazy dog, and then it rests a while. " * 3_000
"""Fifty-four thousand tokens by estimate."""


def _purposes(bench: Bench) -> list[str]:
    return [one.purpose for one in bench.provider.requests]


def _turns(bench: Bench) -> list[ModelRequest]:
    return [one for one in bench.provider.requests if one.purpose == "turn"]


def _usage(bench: Bench) -> TokenUsage:
    return [one for one in bench.events if isinstance(one, TokenUsage)][-1]


@pytest.mark.parametrize("counted", [UNCOUNTED, TokenUse(output_tokens=3, total_tokens=3)])
async def test_a_thread_of_an_unknown_model_that_counts_nothing_stays_within_a_window(
    bench: Bench, counted: TokenUse
) -> None:
    """Neither is its window known, nor does it tell what a request took; or not of the prompt."""
    bench.provider.windows.clear()
    thread = await bench.thread()
    for number in range(12):
        bench.provider.script([*message("ok"), done(counted)])
        assert isinstance(await bench.say(thread, f"{number} {LONG}"), TurnCompleted)
    assert _purposes(bench).count("compaction") == 2
    assert max(map(request_tokens, _turns(bench))) < WINDOW_UNKNOWN
    told = _usage(bench)
    assert told.context_window == WINDOW_UNKNOWN
    assert 50_000 < told.last.total_tokens < WINDOW_UNKNOWN
    assert told.last.input_tokens == 0


async def test_what_nobody_counted_is_in_no_sum(bench: Bench) -> None:
    """How full the window is can be estimated; what was spent is what the provider said."""
    thread = await bench.thread()
    bench.provider.script([*message("ok"), done(UNCOUNTED)])
    await bench.say(thread, "hello")
    assert thread.token_total == TokenUse()
    assert thread.token_last is not None and thread.token_last.total_tokens > 0


async def test_what_came_since_the_last_count_counts(bench: Bench) -> None:
    """The provider told a small use, and then the user brings in more than is left."""
    thread = await bench.thread()
    await bench.say(thread, "hello")
    await bench.say(thread, LONG)
    assert _purposes(bench) == ["turn", "turn"]
    bench.provider.script(
        [*message("NOTES"), done()],
    )
    await bench.say(thread, LONG + LONG)
    assert _purposes(bench) == ["turn", "turn", "compaction", "turn"]


async def test_results_of_tools_count_before_the_next_call(bench: Bench) -> None:
    """A response that asks for a tool ends near the edge; its result must not go over it."""
    thread = await bench.thread()
    near = TokenUse(input_tokens=89_990, total_tokens=89_999)
    look = call("list", "{}", namespace="memories")
    bench.provider.script(
        [look, done(near)], [*message("NOTES"), done()], [*message("done"), done()]
    )
    assert isinstance(await bench.say(thread, "look"), TurnCompleted)
    assert _purposes(bench) == ["turn", "compaction", "turn"]


@pytest.mark.parametrize(("said", "used"), [(5_000, 6_000), (10_000_000, 91_000)])
async def test_the_settings_may_compact_earlier_and_never_too_late(
    tmp_path: Path, said: int, used: int
) -> None:
    """A bound above the model's window is none."""
    async with live_bench(tmp_path, auto_compact_tokens=said) as bench:
        thread = await bench.thread()
        for tokens in (used - 1_500, used):
            use = TokenUse(input_tokens=tokens, total_tokens=tokens)
            bench.provider.script([*message("ok"), done(use)])
            await bench.say(thread, "hello")
        assert _purposes(bench) == ["turn", "turn"]
        await bench.say(thread, "and now")
        assert _purposes(bench) == ["turn", "turn", "compaction", "turn"]


async def test_the_first_words_of_a_thread_go_out_as_they_are(bench: Bench) -> None:
    """There is nothing to summarise, and an estimate is no reason to cut what a person wrote."""
    thread = await bench.thread()
    await bench.say(thread, LONG * 2)
    assert _purposes(bench) == ["turn"]


async def test_a_resumed_thread_that_was_never_counted_is_full_all_the_same(bench: Bench) -> None:
    """As one that another program wrote."""
    thread = await bench.thread()
    for number in range(2):
        bench.provider.script([*message(f"ok {LONG[:80_000]}"), done(UNCOUNTED)])
        await bench.say(thread, f"{number} {LONG[:100_000]}")
    await bench.live.close(0)
    path = bench.state.home.root / thread.draft.rollout_path
    kept = [line for line in path.read_text("utf-8").splitlines() if "token_count" not in line]
    path.write_text("\n".join(kept) + "\n", "utf-8")
    bench.live = bench.rebuild()
    again = await bench.live.resume(thread.id)
    await bench.say(again, "and now")
    assert _purposes(bench) == ["turn", "turn", "compaction", "turn"]


async def test_a_refusal_tells_that_the_window_is_smaller(bench: Bench) -> None:
    """From then on the thread goes by it, also in what it keeps word for word."""
    bench.provider.windows.clear()
    thread = await bench.thread()
    bench.provider.script([*message("ok"), done(UNCOUNTED)])
    await bench.say(thread, "hello")
    overflow = ProviderFailed("contextWindowExceeded", "too long")
    bench.provider.script([overflow], [*message("NOTES"), done()], [*message("ok"), done()])
    await bench.say(thread, LONG[:40_000])
    refused, after = bench.provider.requests[1], bench.provider.requests[3]
    window = request_tokens(refused)
    kept = [one for one in after.input if LONG[:50] in str(one)]
    assert len(kept) == 1 and item_tokens(kept[0]) < window // 4 + 50
    bench.provider.script([*message("NOTES"), done()])
    bench.provider.script([*message("ok"), done(UNCOUNTED)])
    await bench.say(thread, LONG[: window * 4])
    assert _purposes(bench)[4:] == ["compaction", "turn"]


def test_a_picture_counts_as_one_and_not_by_its_bytes() -> None:
    """And what is sent of a request counts wherever it stands."""
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 4_000_000}
    said = {"type": "message", "role": "user", "content": [picture]}
    assert item_tokens(said) < 2_000
    result = {"type": "function_call_output", "call_id": "c", "output": "x" * 4_000}
    assert 1_000 < item_tokens(result) < 1_050
    request = ModelRequest(model="m", instructions="x" * 400, input=(said, result), tools=(result,))
    assert request_tokens(request) == 100 + item_tokens(said) + 2 * item_tokens(result)


def test_what_could_not_be_recorded_counts_no_longer(bench: Bench) -> None:
    """Together with the items that are taken back."""
    conversation = Conversation("t", None, ephemeral=True, tell=lambda event: None)  # type: ignore[arg-type]
    before = conversation.mark()
    text = [{"type": "input_text", "text": "x" * 400}]
    item = {"type": "message", "role": "user", "content": text, PASSTHROUGH: {}}
    conversation.remember(item)
    assert conversation.filling.tokens > 100
    conversation.back_to(before)
    assert conversation.filling.tokens == 0


REFUSALS = [
    (
        {
            "message": "This model's maximum context length is 4096 tokens. However, you requested "
            "5000 tokens. Please reduce the length of the messages.",
            "type": "BadRequestError",
            "code": 400,
        },
        4_096,
    ),
    (
        {
            "code": 400,
            "message": "the request exceeds the available context size. try increasing the context "
            "size or enable context shift",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9_000,
            "n_ctx": 8_192,
        },
        8_192,
    ),
    (
        {
            "message": "Trying to keep the first 5012 tokens when context the overflows. However, "
            "the model is loaded with context length of only 4096 tokens."
        },
        4_096,
    ),
    ({"message": "prompt is too long: 208310 tokens > 200000 maximum"}, 200_000),
    (
        {
            "message": "The input token count (1200000) exceeds the maximum number of tokens "
            "allowed (1048576)."
        },
        1_048_576,
    ),
    ({"message": "Your input exceeds the context window of this model."}, None),
]


@pytest.mark.parametrize(("error", "window"), REFUSALS)
def test_a_refusal_for_length_is_known_by_its_words(
    error: dict[str, Any], window: int | None
) -> None:
    """Servers have no common code for it; some say how long the window is."""
    failed = status_failed(400, str(error), error, retry_after_s=None, rate_limits=None)
    assert failed.kind == "contextWindowExceeded" and not failed.retryable
    assert failed.window_tokens == window


@pytest.mark.parametrize(
    ("http_status", "said"),
    [
        (429, "Request too large: maximum context length of your tier, try again in 2s"),
        (400, "Unsupported parameter: context"),
        (400, "max_tokens must be at least 1"),
    ],
)
def test_another_refusal_is_not_taken_for_it(http_status: int, said: str) -> None:
    """A compaction costs a call and the history's details."""
    failed = status_failed(
        http_status, said, {"message": said}, retry_after_s=None, rate_limits=None
    )
    assert failed.kind != "contextWindowExceeded"


async def _provider(model: ChatServer) -> OpenAIChat:
    settings = ProviderSettings(name="mock", base_url=model.base_url, wire_api="chat")
    return OpenAIChat(settings, clock=SystemClock(), limits=ModelLimits())


@pytest.mark.parametrize(
    "facts",
    [
        {"max_model_len": 8_192},
        {"context_length": 8_192, "max_context_length": 131_072},
        {"meta": {"n_ctx": 8_192, "n_ctx_train": 131_072}},
    ],
)
async def test_the_window_that_a_server_lists_is_known(facts: dict[str, Any]) -> None:
    """Under the names that servers have for it."""
    async with ChatServer() as model:
        model.models, model.model_facts = ["m", "n"], facts
        provider = await _provider(model)
        assert provider.window("m") is None
        assert await provider.listed() == ["m", "n"]
        assert provider.window("m") == 8_192
        await provider.close()


async def test_the_window_that_a_server_tells_in_a_refusal_is_known() -> None:
    """To every thread of that model."""
    async with ChatServer() as model:
        provider = await _provider(model)
        model.script(status(400, "This model's maximum context length is 4096 tokens."))
        said: Sequence[Any] = (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        )
        request = ModelRequest(model="m", instructions="", input=said)
        with pytest.raises(ProviderFailed):
            await anext(provider.stream(request))
        assert provider.window("m") == 4_096
        assert provider.window("n") is None
        await provider.close()


async def test_a_thread_over_a_chat_server_that_counts_nothing_stays_small(bench: Bench) -> None:
    """The whole way: the server's window as it lists it, its silence on use, many turns."""
    async with ChatServer() as model:
        model.models, model.model_facts = ["scripted-model"], {"max_model_len": 20_000}
        model.tells_usage, model.streams = False, False
        provider = await _provider(model)
        await provider.listed()
        bench.provider.windows["scripted-model"] = provider.window("scripted-model") or 0
        real, sizes = provider.stream, list[int]()

        def stream(request: ModelRequest) -> Any:
            if request.purpose == "turn":
                sizes.append(request_tokens(request))
            return real(replace(request, tools=()))

        bench.provider.stream = stream  # type: ignore[method-assign]
        thread = await bench.thread()
        for number in range(20):
            assert isinstance(await bench.say(thread, f"{number} {LONG[:8_000]}"), TurnCompleted)
        assert max(sizes) < 20_000
        assert len(bench.completed("contextCompaction")) >= 2
        await provider.close()
