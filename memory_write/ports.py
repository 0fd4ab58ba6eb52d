"""What learning needs from outside: models, quota, announcements, fault points.

Each port is small and stands with the one who needs it; `server/` implements them over a provider,
`memory_write/offline/` by rules. A port's implementation never writes memory itself.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from state.ids import ThreadId
from state.policy.budget import chunk_utf8
from state.rollouts.items import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """Model tokens of one piece of work, as the provider counted them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    model: str | None = field(default=None, compare=False)
    """The model that was really called, where whoever called it says so."""

    def __add__(self, other: "ModelUse") -> "ModelUse":
        return ModelUse(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_output_tokens=self.reasoning_output_tokens + other.reasoning_output_tokens,
            model=self.model or other.model,
        )

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which provider and model a background call uses; None means the provider's own default."""

    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    service_tier: str | None = None


class ModelFailed(Exception):
    """A background model call that gave no usable reply.

    `transient` is true where the same call may succeed later (outage, rate limit, time-out); such
    failures never use up retries. `too_long` is true when the model's window was exceeded; `use` is
    what was spent all the same.
    """

    def __init__(
        self,
        reason: str,
        *,
        transient: bool,
        too_long: bool = False,
        use: ModelUse = ModelUse(),
    ) -> None:
        self.reason = reason
        self.use = use
        self.transient = transient
        self.too_long = too_long
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRequest:
    """One thread, heard: the filtered and redacted transcript, and the prompt made of it."""

    version: str
    thread_id: ThreadId
    cwd: str
    git_branch: str | None
    rollout_path: str
    transcript: Transcript
    """The redacted items in order, for an extractor that works by rules."""
    instructions: str
    """The system prompt of the recipe."""
    input_text: str
    """The rendered transcript, redacted and cut to the window."""
    output_schema: Mapping[str, Any]
    """The strict JSON Schema that the reply must have."""
    model: ModelChoice
    message_bytes_max: int | None = None
    """The input is sent in messages of at most so many bytes; None is one message."""

    @property
    def messages(self) -> Sequence[str]:
        """The input as the user messages to send; joined they are the input."""
        if self.message_bytes_max is None:
            return (self.input_text,)
        return tuple(chunk_utf8(self.input_text, self.message_bytes_max))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReply:
    """What the model said, unchecked."""

    text: str
    use: ModelUse = field(default_factory=ModelUse)


@runtime_checkable
class HearsWhole(Protocol):
    """An extraction model without a window: it takes a session whole, whatever its length."""

    hears_whole: bool


class ExtractionModel(Protocol):
    """Answers one prompt with one JSON object; has no tools."""

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """The usable context window in tokens, or None when it is not known."""
        ...

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """One model call.

        Raises: ModelFailed.
        """
        ...


class FileTool(Protocol):
    """A function the consolidation agent may call; its result is text for the model.

    The same shape serves the memory tools of `memory_read/` and every other tool of an agent.
    """

    @property
    def name(self) -> str:
        """The function's name."""
        ...

    @property
    def description(self) -> str:
        """What the model is told about it."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""
        ...

    async def call(self, arguments: str) -> str:
        """Run it with the model's argument text; mistakes come back as text, never raised."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Caps on one consolidation, held in code."""

    turns_max: int
    tokens_max: int
    seconds_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationStep:
    """How far an agent is: what it did and used since it began, all its calls together."""

    model_calls: int
    tool_calls: int
    use: ModelUse


def _nobody_watches(step: ConsolidationStep) -> None:
    """Where nobody asks how far an agent is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequest:
    """What the consolidation agent is asked to do."""

    version: str
    instructions: str
    """The standing rules of the recipe (system prompt)."""
    brief: str
    """The task of this run: the folder's state and where the diff stands."""
    tools: Sequence[FileTool]
    budget: Budget
    model: ModelChoice
    job_key: str
    progress: Callable[[ConsolidationStep], None] = _nobody_watches
    """To be called after each model call; must not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """How the agent ended; what it wrote is judged from the folder, not from this."""

    use: ModelUse = field(default_factory=ModelUse)
    model_calls: int = 0
    stopped_by: str | None = None
    """None when the agent said it was done, else the cap it hit: turns, tokens or seconds."""


class Consolidator(Protocol):
    """Runs an agent that has these tools and nothing else."""

    async def run(self, request: ConsolidationRequest) -> ConsolidationReport:
        """Work until done or capped.

        Raises: ModelFailed.
        """
        ...


class Models(Protocol):
    """Finds the implementation that a thread's or the configured provider needs."""

    def extraction(self, provider: str | None) -> ExtractionModel:
        """The extraction model of a provider (None: the configured default)."""
        ...

    def consolidator(self, provider: str | None) -> Consolidator:
        """The consolidation agent over a provider (None: the configured default)."""
        ...


class Quota(Protocol):
    """Whether background work may spend now."""

    async def refusal(self) -> str | None:
        """None when work may start, else the reason it must wait."""
        ...

    def until_ms(self) -> int | None:
        """When what refuses now is over, as far as anybody said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A step of background work, for whoever watches. Holds ids and counts, never memory text."""

    what: str
    """`extraction/started`, `…/finished`, `consolidation/started`, `…/progress`, `…/finished`."""
    version: str
    data: Mapping[str, str | int | None] = field(default_factory=dict)


Announcer = Callable[[Announcement], None]
"""Must not block; called on the event loop."""

Steps = Callable[[str], Awaitable[None]]
"""A fault point: durable steps announce themselves by name just before and after they happen."""


async def no_steps(name: str) -> None:
    """The fault point of production: nothing."""
