"""A model that is overloaded gives way to another one that the settings name, never in silence."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from server.agent.errors import ProviderFailed
from server.agent.events import ErrorTold, TurnCompleted, TurnFailed, Warned
from server.agent.models.base import ModelEvent, ModelRequest
from server.agent.models.fallback import stream_with_fallbacks
from tests.support.scripted_model import Bench, call, done, live_bench, message

ATTEMPTS = 5
OWN = "scripted-model"


def _busy(status: int | None = 529) -> ProviderFailed:
    return ProviderFailed("serverOverloaded", "busy", retryable=True, http_status=status)


def _asked(bench: Bench) -> list[str]:
    """The models in the order they were asked, tries of one as one."""
    models = [request.model for request in bench.provider.requests]
    return [one for n, one in enumerate(models) if n == 0 or models[n - 1] != one]


@pytest.mark.parametrize("status", [503, 529, None])
async def test_the_next_model_answers_after_all_tries_and_clients_are_told(
    tmp_path: Path, status: int | None
) -> None:
    """By an error that is tried again, with its code, and a warning in words; then it answers."""
    async with live_bench(tmp_path / "home", fallbacks=("second", "third")) as bench:
        thread = await bench.thread()
        bench.provider.script(*[[_busy(status)]] * ATTEMPTS)
        assert isinstance(await bench.say(thread, "hello"), TurnCompleted)
        assert _asked(bench) == [OWN, "second"]
        told = [one for one in bench.events if isinstance(one, ErrorTold)]
        assert len(told) == ATTEMPTS and all(one.will_retry for one in told)
        assert told[-1].error.error_info == "serverOverloaded"
        [warning] = [one for one in bench.events if isinstance(one, Warned)]
        for words in (OWN, "second", "model_fallbacks"):
            assert f"`{words}`" in warning.message
        assert warning.message == told[-1].error.message
        assert thread.settings.model == OWN


async def test_the_rest_of_the_turn_stays_with_it_and_the_next_turn_asks_the_own_one_again(
    tmp_path: Path,
) -> None:
    """The overloaded one is not waited for at every step, and told once."""
    async with live_bench(tmp_path / "home", fallbacks=("second",)) as bench:
        thread = await bench.thread()
        bench.provider.script(*[[_busy()]] * ATTEMPTS, [call("nothing", "{}"), done()])
        assert isinstance(await bench.say(thread, "act"), TurnCompleted)
        assert [one.model for one in bench.provider.requests[ATTEMPTS:]] == ["second", "second"]
        assert len([one for one in bench.events if isinstance(one, Warned)]) == 1
        assert isinstance(await bench.say(thread, "again"), TurnCompleted)
        assert _asked(bench) == [OWN, "second", OWN]


async def test_all_of_them_overloaded_is_the_failure_of_the_turn(tmp_path: Path) -> None:
    """Each was asked, in order, and no further."""
    async with live_bench(tmp_path / "home", fallbacks=("second", OWN, "third")) as bench:
        thread = await bench.thread()
        bench.provider.script(*[[_busy()]] * (3 * ATTEMPTS))
        assert isinstance(await bench.say(thread, "hello"), TurnFailed)
        assert _asked(bench) == [OWN, "second", "third"]


@pytest.mark.parametrize("kind", ["unauthorized", "rateLimitExceeded", "contextWindowExceeded"])
async def test_no_other_failure_changes_the_model(tmp_path: Path, kind: str) -> None:
    """What another model would not mend, or what a person must know."""
    async with live_bench(tmp_path / "home", fallbacks=("second",)) as bench:
        thread = await bench.thread()
        failed = ProviderFailed(kind, "no", retryable=False, http_status=429)
        bench.provider.script([failed], [failed], [failed])
        await bench.say(thread, "hello")
        assert "second" not in _asked(bench)


async def test_an_overload_after_the_first_output_does_not_change_the_model(
    tmp_path: Path,
) -> None:
    """It is asked anew itself."""
    async with live_bench(tmp_path / "home", fallbacks=("second",)) as bench:
        thread = await bench.thread()
        bench.provider.script([*message("half")[:2], _busy()])
        assert isinstance(await bench.say(thread, "hello"), TurnCompleted)
        assert _asked(bench) == [OWN] and len(bench.provider.requests) == 2


async def test_without_such_a_setting_the_turn_fails_as_before(tmp_path: Path) -> None:
    async with live_bench(tmp_path / "home") as bench:
        thread = await bench.thread()
        bench.provider.script(*[[_busy()]] * ATTEMPTS)
        assert isinstance(await bench.say(thread, "hello"), TurnFailed)
        assert not [one for one in bench.events if isinstance(one, Warned)]


async def test_a_call_that_ends_without_an_event_is_told_as_it_is() -> None:
    """Neither an error of another kind, nor a reason to ask another model."""

    async def silent(request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return
        yield  # a generator, though an empty one

    rerouted: list[str] = []
    events = stream_with_fallbacks(
        silent,
        ModelRequest(model=OWN, instructions="", input=()),
        fallbacks=("second",),
        tell=lambda failed, model, instead: rerouted.append(instead),
    )
    assert [event async for event in events] == [] == rerouted
