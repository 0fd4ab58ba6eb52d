"""What every model provider offers: one request in, a stream of events out.

Invariant: a stream that ends without `Completed` has raised `ProviderFailed`; it is never short in
silence. The shapes of items are those of the Responses API, whatever a provider speaks itself.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Item = Mapping[str, Any]
"""One Responses API item: message, reasoning, function_call, function_call_output, …"""

Phase = Literal["commentary", "final_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """Model tokens of one response, or of many added up."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: "TokenUse") -> "TokenUse":
        return TokenUse(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_input_tokens=self.cache_write_input_tokens + other.cache_write_input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_output_tokens=self.reasoning_output_tokens + other.reasoning_output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of a model, with everything it may see."""

    model: str
    instructions: str
    """The standing rules; sent as the system prompt."""
    input: Sequence[Item]
    """The conversation, oldest first."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Tool definitions of the Responses API, namespaces included."""
    effort: str | None = None
    summary: str | None = None
    """How the model's reasoning is summed up for people: auto, concise, detailed, none."""
    service_tier: str | None = None
    """None lets the provider choose."""
    output_schema: Mapping[str, Any] | None = None
    """A strict JSON Schema that the answer must have."""
    cache_key: str | None = None
    """Stable per thread, so that a provider can reuse its prefix cache."""
    purpose: Literal["turn", "compaction"] = "turn"
    """What the answer is for; a provider that is no language model goes by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStarted:
    """An assistant message begins."""

    item_id: str
    phase: Phase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelta:
    """The next piece of that message's text, markup still in it."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningStarted:
    """A reasoning item begins."""

    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """The next piece of one part of its summary."""

    item_id: str
    summary_index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCallStarted:
    """A call of a tool begins whose input is free text; the whole comes as an `OutputItem`."""

    item_id: str
    call_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCallDelta:
    """The next piece of its input."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItem:
    """A finished item, as it must be sent back to the model later."""

    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The response is whole; always the last event."""

    use: TokenUse = field(default_factory=TokenUse)
    response_id: str | None = None
    rate_limits: Mapping[str, Any] | None = None
    """A snapshot in the wire's shape, or None when the provider told nothing."""


ModelEvent = (
    MessageStarted
    | MessageDelta
    | ReasoningStarted
    | ReasoningDelta
    | FreeCallStarted
    | FreeCallDelta
    | OutputItem
    | Completed
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model that a provider offers."""

    model_id: str
    display_name: str
    description: str = ""
    context_window: int | None = None
    efforts: tuple[str, ...] = ()
    default_effort: str | None = None
    is_default: bool = False
    sees_images: bool = True
    """A server that does not say counts as one that does; clients leave pictures out elsewhere."""


class Provider(Protocol):
    """Anything that answers a `ModelRequest`."""

    @property
    def name(self) -> str:
        """The name it has in the settings."""
        ...

    @property
    def default_model(self) -> str:
        """The model used when nobody chose one."""
        ...

    def models(self) -> Sequence[ModelInfo]:
        """The models it is known to offer."""
        ...

    def window(self, model: str) -> int | None:
        """How many tokens that model of it takes; None where nobody told."""
        ...

    async def listed(self) -> Sequence[str] | None:
        """The ids of the models that the server itself lists now; None where it tells none."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Call the model once.

        Raises: ProviderFailed.
        """
        ...

    async def warm(self) -> None:
        """Load in the background what the first call would wait for."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
