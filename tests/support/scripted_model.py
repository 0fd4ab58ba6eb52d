"""A provider in the process that does what a test tells it, and a live-threads bench around it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from server.agent.errors import ProviderFailed
from server.agent.events import ItemCompleted, TextDelta, ThreadEvent, TurnCompleted, TurnFailed
from server.agent.inputs import Admitted, Bar, StartOptions, TurnInput, nothing_is_barred
from server.agent.limits import AgentLimits, AgentSettings, ModelLimits, RetryLimits
from server.agent.live_thread import LiveThread
from server.agent.live_threads import LiveThreads
from server.agent.memory import LiveMemory
from server.agent.models.base import (
    Completed,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    OutputItem,
    TokenUse,
)
from server.agent.providers import Providers
from server.agent.tool_parts import ToolParts
from state.clock import SystemClock
from state.home import Home
from state.ids import ThreadId
from state.recovery import State, open_state

Step = ModelEvent | ProviderFailed | asyncio.Event | Exception
"""An event to send, a failure to raise, or a gate to wait for."""
USE = TokenUse(input_tokens=100, cached_input_tokens=40, output_tokens=20, total_tokens=120)


def message(text: str, *, item_id: str = "msg_1", deltas: int = 2) -> list[ModelEvent]:
    """The events of one assistant message in that many deltas."""
    size = max(1, -(-len(text) // deltas))
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    content = [{"type": "output_text", "text": text}]
    item = {"type": "message", "id": item_id, "role": "assistant", "content": content}
    return [
        MessageStarted(item_id=item_id, phase="final_answer"),
        *(MessageDelta(item_id=item_id, text=piece) for piece in pieces),
        OutputItem(item={**item, "phase": "final_answer"}),
    ]


def call(name: str, arguments: str, *, namespace: str | None = None) -> OutputItem:
    """A function call."""
    item = {"type": "function_call", "name": name, "arguments": arguments, "call_id": "call_1"}
    return OutputItem(item={**item, "namespace": namespace} if namespace else item)


def done(use: TokenUse = USE) -> Completed:
    """The end of a response."""
    return Completed(use=use, response_id="resp_1")


class ScriptedProvider:
    """Plays one list of steps a call; when there is none left it answers `ok`."""

    name = "scripted"
    default_model = "scripted-model"

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.scripts: list[Sequence[Step]] = []
        self.asked = asyncio.Event()
        self.windows = {"scripted-model": 100_000}

    def script(self, *scripts: Sequence[Step]) -> None:
        """Add the steps of the next calls."""
        self.scripts.extend(scripts)

    def models(self) -> Sequence[ModelInfo]:
        """The one model."""
        return (ModelInfo(model_id="scripted-model", display_name="S", context_window=100_000),)

    def window(self, model: str) -> int | None:
        """That of its one model."""
        return self.windows.get(model)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Play the next script."""
        self.requests.append(request)
        self.asked.set()
        steps = self.scripts.pop(0) if self.scripts else [*message("ok"), done()]
        for step in steps:
            if isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, Exception):
                raise step
            else:
                yield step

    async def listed(self) -> Sequence[str] | None:
        """Nothing is listed."""
        return None

    async def warm(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


@dataclass
class Bench:
    """Live threads over a real home, with every event kept in order."""

    state: State
    live: LiveThreads
    provider: ScriptedProvider
    events: list[ThreadEvent]
    nudged: list[ThreadId]
    rebuild: Callable[[], LiveThreads]
    told: asyncio.Event
    """Set with each event."""
    watch: Callable[[ThreadEvent], None] = lambda event: None
    """Called with each event as it is told."""

    async def thread(self, **options: Any) -> LiveThread:
        """A new thread."""
        return await self.live.start(StartOptions(cwd="/tmp/project", **options))

    async def until(self, wanted: Callable[[ThreadEvent], bool]) -> ThreadEvent:
        """The first event that fits, once it was told."""
        async with asyncio.timeout(5):
            while True:
                for event in self.events:
                    if wanted(event):
                        return event
                self.told.clear()
                await self.told.wait()

    async def until_ended(self, turn_id: str) -> TurnCompleted | TurnFailed:
        """The end of that turn."""
        event = await self.until(
            lambda one: isinstance(one, TurnCompleted | TurnFailed) and one.turn_id == turn_id
        )
        assert isinstance(event, TurnCompleted | TurnFailed)
        return event

    async def until_delta(self) -> None:
        """Until clients have some text of the answer."""
        await self.until(lambda one: isinstance(one, TextDelta))

    async def say(self, thread: LiveThread, text: str) -> TurnCompleted | TurnFailed:
        """One whole turn."""
        admitted = await thread.admit(said(text))
        assert isinstance(admitted, Admitted)
        admitted.begin()
        return await self.until_ended(admitted.turn_id)

    def kinds(self) -> list[str]:
        """The names of the events so far."""
        return [type(event).__name__ for event in self.events]

    def completed(self, type_: str) -> list[ItemCompleted]:
        """The completions of items of that type so far."""
        return [
            one for one in self.events if isinstance(one, ItemCompleted) and one.item.type == type_
        ]

    def recorded(self, thread: LiveThread) -> str:
        """The rollout of a thread."""
        return (self.state.home.root / thread.draft.rollout_path).read_text("utf-8")


def said(text: str, **more: Any) -> TurnInput:
    """What a client sends for typed text."""
    content: tuple[Mapping[str, Any], ...] = ({"type": "text", "text": text},) if text else ()
    return TurnInput(content=content, **more)


@asynccontextmanager
async def live_bench(
    root: Path,
    *,
    limits: AgentLimits | None = None,
    bar: Bar = nothing_is_barred,
    tools: ToolParts | None = None,
    fallbacks: tuple[str, ...] = (),
    auto_compact_tokens: int | None = None,
) -> AsyncIterator[Bench]:
    """A home, its state, and live threads over a scripted provider."""
    clock = SystemClock()
    state = await open_state(Home(root), clock, "test")
    provider = ScriptedProvider()
    events: list[ThreadEvent] = []
    nudged: list[ThreadId] = []
    told = asyncio.Event()

    def tell(event: ThreadEvent) -> None:
        bench.watch(event)
        events.append(event)
        told.set()

    model_limits = ModelLimits(retry=RetryLimits(wait_first_s=0.001, wait_max_s=0.002))
    settings = AgentSettings(
        provider="scripted",
        model_fallbacks=fallbacks,
        limits=limits or AgentLimits(),
        auto_compact_tokens=auto_compact_tokens,
    )

    def build() -> LiveThreads:
        return LiveThreads(
            state,
            Providers({}, default="scripted", clock=clock, limits=model_limits, made=(provider,)),
            settings,
            events=tell,
            nudge=nudged.append,
            memory=LiveMemory(state, MemorySearch(state, SearchIndex(state))),
            clock=clock,
            tools=tools,
            model_limits=model_limits,
            bar=bar,
        )

    bench = Bench(state, build(), provider, events, nudged, build, told)
    try:
        yield bench
    finally:
        await bench.live.close(0)
        await state.close()
