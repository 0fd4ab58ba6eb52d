"""The one place where a model call is tried again.

Invariant: the same stream only before its first output, so nothing is ever told twice; what was
cut behind that is asked anew, with what had come whole. Only failures that say they may pass; a
bounded number of times, spread by chance, and never sooner than the provider asked.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from server.agent.errors import ProviderFailed
from server.agent.limits import RetryLimits
from server.agent.models.base import ModelEvent, ModelRequest, Provider
from state.clock import Clock

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
Tell = Callable[[ProviderFailed], None]
"""Hears of each failure that is followed by another try."""


async def stream_with_retries(
    provider: Provider,
    request: ModelRequest,
    *,
    limits: RetryLimits,
    clock: Clock,
    tell: Tell,
) -> AsyncGenerator[ModelEvent, None]:
    """The events of one call.

    Raises: ProviderFailed.
    """
    attempts = _attempts(lambda error: _passes(error, limits), limits, clock.sleep, tell)
    try:
        async for attempt in attempts:
            with attempt:
                events = _generator(provider, request)
                try:
                    first = await anext(events)
                except BaseException:
                    await events.aclose()
                    raise
    except ProviderFailed as failed:
        raise _given_up(failed, limits) from failed
    async with aclosing(events):
        yield first
        try:
            async for event in events:
                yield event
        except ProviderFailed as failed:
            failed.after_output = True
            raise


async def again_where_cut(
    ask: Callable[[], Awaitable[T]], *, limits: RetryLimits, sleep: Sleep, tell: Tell
) -> T:
    """What `ask` brings; once more where the answer broke off in its middle.

    Raises: ProviderFailed.
    """

    def cut(error: BaseException) -> bool:
        return _passes(error, limits) and getattr(error, "after_output", False)

    async for attempt in _attempts(cut, limits, sleep, tell):
        with attempt:
            return await ask()
    raise AssertionError("the last attempt raises")


def _attempts(
    passes: Callable[[BaseException], bool], limits: RetryLimits, sleep: Sleep, tell: Tell
) -> AsyncRetrying:
    def before_sleep(state: RetryCallState) -> None:
        failed = state.outcome.exception() if state.outcome else None
        if isinstance(failed, ProviderFailed):
            tell(failed)

    spread = wait_random_exponential(multiplier=limits.wait_first_s, max=limits.wait_max_s)

    def wait(state: RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        asked = failed.retry_after_s if isinstance(failed, ProviderFailed) else None
        return spread(state) if asked is None else asked

    return AsyncRetrying(
        stop=stop_after_attempt(limits.attempts_max),
        wait=wait,
        retry=retry_if_exception(passes),
        before_sleep=before_sleep,
        sleep=sleep,
        reraise=True,
    )


def _passes(error: BaseException, limits: RetryLimits) -> bool:
    if not isinstance(error, ProviderFailed) or not error.retryable:
        return False
    return error.retry_after_s is None or error.retry_after_s <= limits.retry_after_max_s


def _given_up(failed: ProviderFailed, limits: RetryLimits) -> ProviderFailed:
    """The last failure, said as what it now is: the end of several tries."""
    if not _passes(failed, limits) or failed.http_status is None:
        return failed
    status = f"{failed.http_status} {_reason(failed.http_status)}".strip()
    return ProviderFailed(
        "responseTooManyFailedAttempts",
        f"exceeded retry limit, last status: {status}",
        retryable=True,
        http_status=failed.http_status,
        retry_after_s=failed.retry_after_s,
        rate_limits=failed.rate_limits,
    )


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


async def _generator(provider: Provider, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
    """The provider's stream as a generator that ends in an error, never in silence."""
    async for event in provider.stream(request):
        yield event
    # Only reached when the consumer goes on after `Completed`, or when the stream was cut.
    raise ProviderFailed(
        "responseStreamDisconnected", "stream disconnected before completion", retryable=True
    )
