"""Another model of the same provider, where the wanted one is overloaded after all retries.

Invariant: never in silence, and never after the first output of a model, so nothing is told twice.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from server.agent.errors import ProviderFailed
from server.agent.models.base import ModelEvent, ModelRequest

Ask = Callable[[ModelRequest], AsyncGenerator[ModelEvent, None]]
"""One call with its own retries."""
TellReroute = Callable[[ProviderFailed, str, str], None]
"""Hears the failure, the model that failed and the one that is asked now."""


async def stream_with_fallbacks(
    ask: Ask, request: ModelRequest, *, fallbacks: Sequence[str], tell: TellReroute
) -> AsyncGenerator[ModelEvent, None]:
    """The events of the first model that is not overloaded: the request's own, then these in order.

    Raises: ProviderFailed.
    """
    waiting = [name for name in dict.fromkeys(fallbacks) if name != request.model]
    model = request.model
    while True:
        events = ask(replace(request, model=model))
        try:
            first = await anext(events, None)
        except ProviderFailed as failed:
            if not failed.overloaded or not waiting:
                raise
            tell(failed, model, waiting[0])
            model = waiting.pop(0)
            continue
        break
    if first is None:
        # A call that ends without a word is no answer, and what that means is the caller's to say.
        return
    async with aclosing(events):
        yield first
        async for event in events:
            yield event
