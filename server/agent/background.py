"""Answers the ports of `memory_write` over the providers: extraction and consolidation.

Invariant: a consolidation agent has the tools of its request and nothing else, and each of its caps
stands here in code. Its conversation lives in this module's memory only: it is no thread, so it is
never listed, recorded, learned from, or shown memory.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from memory_write.ports import (
    ConsolidationReport,
    ConsolidationRequest,
    ConsolidationStep,
    Consolidator,
    ExtractionModel,
    ExtractionReply,
    ExtractionRequest,
    ModelChoice,
    ModelFailed,
    ModelUse,
)
from server.agent.errors import ProviderFailed, UnknownProvider
from server.agent.limits import BackgroundLimits
from server.agent.models.base import (
    Completed,
    Item,
    MessageDelta,
    ModelRequest,
    OutputItem,
    Provider,
    TokenUse,
)
from server.agent.models.known import KnownModels
from server.agent.models.retry import stream_with_retries
from server.agent.prompt import for_model
from server.agent.providers import Providers
from server.agent.tools.base import ToolSet, run_call
from server.settings import OFFLINE
from state.clock import Clock
from state.policy.density import dense_tokens

# These say nothing about the thread that was heard: the same call succeeds once they are mended.
_PASSING_KINDS = frozenset(
    {"usageLimitExceeded", "rateLimitExceeded", "serverOverloaded", "unauthorized", "modelNotFound"}
)
LEFT_OUT = "[left out to fit the context window; read it again where it is needed]"


class BackgroundModels:
    """Finds the implementation that a thread's or the configured provider needs."""

    def __init__(
        self,
        providers: Providers,
        *,
        clock: Clock,
        limits: BackgroundLimits,
        models: Callable[[], tuple[ExtractionModel, Consolidator]] | None = None,
    ) -> None:
        """`models` replaces the rules of the offline provider, for tests."""
        self._providers = providers
        self._clock = clock
        self._limits = limits
        self._offline = models or _rules
        self._known_models = KnownModels(clock)

    def extraction(self, provider: str | None) -> ExtractionModel:
        """The extraction model of a provider (None: the configured default)."""
        name = self._known(provider)
        return self._offline()[0] if name == OFFLINE else ProviderExtraction(self._caller(name))

    def consolidator(self, provider: str | None) -> Consolidator:
        """The consolidation agent over a provider (None: the configured default)."""
        name = self._known(provider)
        return self._offline()[1] if name == OFFLINE else ProviderConsolidator(self._caller(name))

    def _known(self, provider: str | None) -> str:
        """A provider that was taken out of the settings gives way to the default."""
        default = self._providers.default_name
        return provider if provider in self._providers.names() else default

    def _caller(self, name: str) -> "ModelCaller":
        return ModelCaller(
            self._providers, name, clock=self._clock, limits=self._limits, known=self._known_models
        )


def _rules() -> tuple[ExtractionModel, Consolidator]:
    # Imported here: their word lists take a tenth of a second, and a model needs none of them.
    from memory_write.offline.consolidation import OfflineConsolidator
    from memory_write.offline.extraction import OfflineExtraction

    return OfflineExtraction(), OfflineConsolidator()


@dataclass(slots=True)
class Response:
    """One whole response."""

    items: list[Item] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    use: ModelUse = field(default_factory=ModelUse)

    @property
    def calls(self) -> list[Item]:
        """The function calls in it."""
        return [item for item in self.items if item.get("type") == "function_call"]


class ModelCaller:
    """Calls one provider for learning and reads whole responses."""

    def __init__(
        self,
        providers: Providers,
        name: str,
        *,
        clock: Clock,
        limits: BackgroundLimits,
        known: KnownModels,
    ) -> None:
        self._providers = providers
        self._name = name
        self._clock = clock
        self._known = known
        self.limits = limits

    def provider(self) -> Provider:
        """The provider.

        Raises: ModelFailed.
        """
        try:
            return self._providers.get(self._name)
        except UnknownProvider as error:
            raise ModelFailed(str(error), transient=True) from error

    def model_of(self, choice: ModelChoice) -> str:
        """The model to use; one that was chosen for another provider does not count.

        Raises: ModelFailed.
        """
        fits = choice.provider is None or choice.provider == self._name
        return (choice.model if fits else None) or self.provider().default_model

    async def call(self, request: ModelRequest) -> Response:
        """One call to its end, of a model that the provider lists or that answered before.

        Raises: ModelFailed.
        """
        provider, response, size = self.provider(), Response(), 0
        if not await self._known.has(provider, request.model):
            raise ModelFailed(
                f"modelNotFound: provider {self._name} does not list the model {request.model}",
                transient=True,
            )
        stream = stream_with_retries(
            provider, request, limits=self.limits.retry, clock=self._clock, tell=_nobody
        )
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    match event:
                        case MessageDelta(text=text):
                            size += len(text)
                            response.texts.append(text)
                        case OutputItem(item=item):
                            response.items.append(item)
                        case Completed():
                            response.use = _use(event.use, request.model)
                            self._providers.note_limits(self._name, event.rate_limits)
                            break
                        case _:
                            pass
                    if size > self.limits.reply_bytes_max:
                        raise ModelFailed("the reply is too long", transient=False)
        except ProviderFailed as error:
            self._providers.note_limits(self._name, error.rate_limits)
            raise _model_failed(error) from error
        self._known.answered(self._name, request.model)
        return response


class ProviderExtraction:
    """Extraction by one call with a strict schema and no tools."""

    def __init__(self, caller: ModelCaller) -> None:
        self._caller = caller

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """The usable context window in tokens, or None when it is not known."""
        caller = self._caller
        return caller.limits.context_window or caller.provider().window(caller.model_of(model))

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """One model call.

        Raises: ModelFailed.
        """
        response = await self._caller.call(
            ModelRequest(
                model=self._caller.model_of(request.model),
                instructions=request.instructions,
                input=[_user(text) for text in request.messages],
                effort=request.model.effort,
                service_tier=request.model.service_tier,
                output_schema=dict(request.output_schema),
                cache_key=f"extraction-{request.version}",
            )
        )
        return ExtractionReply(text=_said(response), use=response.use)


class ProviderConsolidator:
    """Consolidation by an agent: model calls in a loop, with file tools and three caps."""

    def __init__(self, caller: ModelCaller) -> None:
        self._caller = caller

    async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
        """Work until done or capped.

        Raises: ModelFailed.
        """
        work = _Consolidation(self._caller, request)
        try:
            async with asyncio.timeout(request.budget.seconds_max):
                stopped_by = await work.run()
        except TimeoutError:
            stopped_by = "seconds"
        except ModelFailed as error:
            error.use = work.use  # what the earlier calls of this run cost is not lost
            raise
        return ConsolidationReport(use=work.use, model_calls=work.calls, stopped_by=stopped_by)


class _Consolidation:
    """One run; what it spent so far can be read at any time."""

    def __init__(self, caller: ModelCaller, request: ConsolidationRequest) -> None:
        self._caller = caller
        self._request = request
        self._tools = ToolSet(tools=tuple(request.tools))
        self._history: list[Item] = [_user(request.brief)]
        self.use = ModelUse()
        self.calls = 0
        self.tool_calls = 0

    def _tell(self) -> None:
        self._request.progress(
            ConsolidationStep(model_calls=self.calls, tool_calls=self.tool_calls, use=self.use)
        )

    async def run(self) -> str | None:
        """Until the agent is done (None), or the name of the cap it hit."""
        budget = self._request.budget
        while self.calls < budget.turns_max:
            if self.use.total_tokens >= budget.tokens_max:
                return "tokens"
            response = await self._ask()
            self.calls += 1
            self.use = self.use + response.use
            self.tool_calls += len(response.calls)
            self._tell()
            if not response.calls:
                return None
            self._remember(response.items)
            await self._act(response.calls)
        return "turns"

    async def _ask(self) -> Response:
        """One call; a history that did not fit is halved once, and never sent again as it was."""
        try:
            return await self._call()
        except ModelFailed as error:
            if not error.too_long or not self._shorten():
                raise
        return await self._call()

    def _shorten(self) -> bool:
        """Leave out what tools said, the oldest first, until half of it is gone; whether any was.

        Calls and their outputs stay in pairs, and what was left out can be read again.
        """
        outputs = [
            place
            for place, item in enumerate(self._history)
            if item.get("type") == "function_call_output" and item.get("output") != LEFT_OUT
        ]
        left = sum(dense_tokens(str(self._history[place]["output"])) for place in outputs) // 2
        for place in outputs:
            item = self._history[place]
            self._history[place] = {**item, "output": LEFT_OUT}
            left -= dense_tokens(str(item["output"]))
            if left <= 0:
                break
        return bool(outputs)

    async def _call(self) -> Response:
        request = self._request
        return await self._caller.call(
            ModelRequest(
                model=self._caller.model_of(request.model),
                instructions=request.instructions,
                input=list(self._history),
                tools=self._tools.definitions(),
                effort=request.model.effort,
                service_tier=request.model.service_tier,
                cache_key=f"consolidation-{request.job_key}",
            )
        )

    async def _act(self, calls: Sequence[Item]) -> None:
        limits = self._caller.limits
        for index, call in enumerate(calls):
            if index < limits.tool_calls_per_response_max:
                output = await run_call(
                    (self._tools,),
                    call,
                    output_bytes_max=limits.tool_output_bytes_max,
                    seconds_max=limits.tool_seconds_max,
                )
            else:
                output = "too many calls in one response; this one was not run"
            self._history.append(
                {
                    "type": "function_call_output",
                    "call_id": str(call.get("call_id", "")),
                    "output": output,
                }
            )

    def _remember(self, items: Sequence[Item]) -> None:
        self._history.extend(sent for item in items if (sent := for_model(item)) is not None)


def _user(text: str) -> Item:
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def _said(response: Response) -> str:
    """The text of the last message; of the deltas where a server sends no whole items."""
    for item in reversed(response.items):
        if item.get("type") == "message":
            parts = item.get("content") or ()
            return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
    return "".join(response.texts)


def _use(use: TokenUse, model: str) -> ModelUse:
    return ModelUse(
        model=model,
        input_tokens=use.input_tokens,
        cached_input_tokens=use.cached_input_tokens,
        output_tokens=use.output_tokens,
        reasoning_output_tokens=use.reasoning_output_tokens,
    )


def _model_failed(error: ProviderFailed) -> ModelFailed:
    return ModelFailed(
        f"{error.kind}: {error.message}",
        transient=error.retryable or error.kind in _PASSING_KINDS,
        too_long=error.kind == "contextWindowExceeded",
    )


def _nobody(failed: ProviderFailed) -> None:
    """Nobody watches the retries of background work."""
