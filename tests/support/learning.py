"""For tests of learning: a home with threads in it, and models that say what they are told."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from memory_write.ports import (
    Announcement,
    Consolidator,
    ExtractionModel,
    ExtractionReply,
    ExtractionRequest,
    ModelChoice,
    ModelUse,
)
from state.clock import Clock
from state.home import Home
from state.ids import ThreadId, uuid7
from state.recovery import State, open_state
from state.stores.threads import ThreadRow
from tests.support.clock import ManualClock

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PREFERENCE = "Always run the linter before you commit, and keep commits small."

GOOD_REPLY = json.dumps(
    {
        "rollout_summary": "# The user wants the linter before a commit",
        "rollout_slug": "linter_first",
        "raw_memory": "---\ntask: tests\n---\n\n- run the linter before a commit",
    }
)
EMPTY_REPLY = json.dumps({"rollout_summary": "", "rollout_slug": "", "raw_memory": ""})

Answer = str | Exception | Callable[[ExtractionRequest], Awaitable[str]]


class ScriptedExtraction:
    """An extraction model that gives the answers it was told, the last one for ever."""

    def __init__(
        self, *answers: Answer, window: int | None = None, use: ModelUse | None = None
    ) -> None:
        self.requests: list[ExtractionRequest] = []
        self.most_at_once = 0
        self._answers = list(answers) or [GOOD_REPLY]
        self._window = window
        self._use = use or ModelUse(input_tokens=900, cached_input_tokens=100, output_tokens=100)
        self._at_once = 0

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """The window it was told."""
        return self._window

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """The next answer."""
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if isinstance(answer, Exception):
                raise answer
            text = answer if isinstance(answer, str) else await answer(request)
        finally:
            self._at_once -= 1
        return ExtractionReply(text=text, use=self._use)


class ScriptedModels:
    """Hands out one extraction model, and notes for which provider it was asked."""

    def __init__(self, extraction: ExtractionModel) -> None:
        self.providers: list[str | None] = []
        self._extraction = extraction

    def extraction(self, provider: str | None) -> ExtractionModel:
        """The one it was given."""
        self.providers.append(provider)
        return self._extraction

    def consolidator(self, provider: str | None) -> Consolidator:
        """None here."""
        raise NotImplementedError


class WatchedClock(ManualClock):
    """A clock moved by hand that tells when somebody has gone to sleep by it."""

    def __init__(self) -> None:
        super().__init__()
        self._asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved past that point."""
        self._asleep.set()
        await super().sleep(seconds)

    async def someone_sleeps(self) -> None:
        """Wait until somebody goes to sleep who was not seen before."""
        async with asyncio.timeout(5):
            await self._asleep.wait()
        self._asleep.clear()
        # The sleeper noted its time within the same step of its task.


class OpenQuota:
    """A quota that lets work pass, or gives one reason not to."""

    def __init__(self, reason: str | None = None, until_ms: int | None = None) -> None:
        self.reason = reason
        self.over_at_ms = until_ms

    def until_ms(self) -> int | None:
        """The time it was given."""
        return self.over_at_ms

    async def refusal(self) -> str | None:
        """The reason it was given."""
        return self.reason


class Announced:
    """Keeps what was announced."""

    def __init__(self) -> None:
        self.all: list[Announcement] = []

    def __call__(self, announcement: Announcement) -> None:
        """Keep one."""
        self.all.append(announcement)

    def outcomes(self) -> list[str | int | None]:
        """How extractions ended, in order."""
        return [one.data["outcome"] for one in self.all if one.what == "extraction/finished"]


@asynccontextmanager
async def opened(root: Path, clock: Clock, owner: str = "first") -> AsyncIterator[State]:
    """The state of a home, closed at the end."""
    state = await open_state(Home(root), clock, owner)
    try:
        yield state
    finally:
        await state.close()


async def put_thread(
    state: State,
    *typed: str,
    idle_hours: float = 10,
    mode: str = "enabled",
    imported: bool = False,
    name: str = "",
) -> ThreadId:
    """A finished thread in which the user typed these texts; its last change lies in the past."""
    updated_at_ms = state.clock.now_ms() - round(idle_hours * HOUR_MS)
    thread_id = ThreadId(uuid7(updated_at_ms))
    relative = f"sessions/2026/01/01/rollout-{name or thread_id}.jsonl"
    path = state.home.root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_lines(thread_id, typed)), "utf-8")
    row = ThreadRow(
        thread_id=thread_id,
        rollout_path=relative,
        created_at_ms=updated_at_ms,
        updated_at_ms=updated_at_ms,
        cwd="/home/ada/shop",
        preview=typed[0] if typed else "",
        name=None,
        source='"vscode"',
        thread_source=None,
        model_provider="acme",
        model="acme-1",
        cli_version="0.1.0",
        originator=None,
        history_mode="legacy",
        memory_mode=mode,  # type: ignore[arg-type]  # a test may name any mode as text
        archived=False,
        git_branch="main",
        git_sha=None,
        git_origin_url=None,
        forked_from_id=None,
        imported_from="/somewhere/else.jsonl" if imported else None,
        imported_digest="0" * 64 if imported else None,
        imported_at_ms=state.clock.now_ms() if imported else None,
    )
    async with state.database.writing() as tx:
        await state.threads.put(tx, row)
    return thread_id


def _lines(thread_id: ThreadId, typed: Sequence[str]) -> list[str]:
    meta = {
        "id": thread_id,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/home/ada/shop",
        "originator": "test",
        "cli_version": "0.1.0",
        "source": "vscode",
    }
    lines = [{"type": "session_meta", "payload": meta}]
    for text in typed:
        for role, kind, words in (
            ("user", "input_text", text),
            ("assistant", "output_text", "Understood."),
        ):
            content = [{"type": kind, "text": words}]
            lines.append(
                {
                    "type": "response_item",
                    "payload": {"type": "message", "role": role, "content": content},
                }
            )
    return [json.dumps({"timestamp": "2026-01-01T00:00:00.000Z", **line}) + "\n" for line in lines]
