"""Sessions whose text takes more tokens than its bytes suggest still fit the model's window."""

import base64
import json
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from memory_write.lanes import lanes_of
from memory_write.limits import MemorySettings
from memory_write.ports import ExtractionRequest, ModelFailed
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.learning import (
    PREFERENCE,
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)

WINDOW = 20_000
NAIVE_BYTES = WINDOW * 70 // 100 * 4
_CHANCE = random.Random(3)
_NOISE = bytes(_CHANCE.randrange(256) for _ in range(60_000))
_ROWS = [{"id": n, "x": n * 0.7, "on": True} for n in range(3_000)]
# A text of each kind, and how many characters of it a strict vocabulary takes for one token.
KINDS = {
    "minified JSON": (json.dumps(_ROWS, separators=(",", ":")), 2.3),
    "CJK": ("请在这个项目里总是使用四个空格并且在提交之前运行所有测试" * 2_000, 0.85),
    "base64": (base64.b64encode(_NOISE).decode(), 1.4),
}


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """An empty home."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        yield opened_state


def strict(chars_per_token: float, refused: list[int]) -> Callable[[ExtractionRequest], object]:
    """A model that refuses what does not fit its window, counted by itself."""

    async def answer(request: ExtractionRequest) -> str:
        instructions = len(request.instructions) / 4
        if instructions + len(request.input_text) / chars_per_token > WINDOW:
            refused.append(len(request.input_text))
            raise ModelFailed("contextWindowExceeded", transient=False, too_long=True)
        return json.dumps(dict.fromkeys(request.output_schema["properties"], ""))

    return answer


def just_under(text: str) -> str:
    """As much of a text as four bytes a token would let through."""
    kept = text.encode()[: NAIVE_BYTES - 2_000].decode(errors="ignore")
    return f"{PREFERENCE} {kept}"


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("kind", list(KINDS))
async def test_dense_sessions_are_not_refused(state: State, kind: str, version: str) -> None:
    """No refused request, or one retry at half the size; what is too long is heard in parts."""
    text, chars_per_token = KINDS[kind]
    whole = just_under(text)
    # In pieces, as a row of a tiered input has a bound of its own.
    await put_thread(state, *(whole[at : at + 4_000] for at in range(0, len(whole), 4_000)))
    refused: list[int] = []
    answer = strict(chars_per_token, refused)
    heard = ScriptedExtraction(answer, window=WINDOW)  # type: ignore[arg-type]
    settings = MemorySettings(version=version)
    models = ScriptedModels(heard)
    lanes = lanes_of(state, models, OpenQuota(), Announced(), settings, frozenset)
    report = (await lanes.consolidate(only=None))[version].phase1
    assert (report.claimed, report.empty, dict(report.failed)) == (1, 1, {})
    sizes = [len(request.input_text) for request in heard.requests]
    assert not refused or (
        len(refused) == 1 and sizes[sizes.index(refused[0]) + 1] < 0.7 * refused[0]
    )
    assert max(sizes) / chars_per_token > WINDOW * 0.2, "the window is not left empty"


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_model_with_a_smaller_window_than_told_gets_half_once(
    state: State, version: str
) -> None:
    """And when that is too long as well, the job fails with its reason."""

    async def never(request: ExtractionRequest) -> str:
        raise ModelFailed("contextWindowExceeded", transient=False, too_long=True)

    await put_thread(state, *[PREFERENCE] * 200)
    heard = ScriptedExtraction(never, window=WINDOW)
    settings = MemorySettings(version=version)
    lanes = lanes_of(state, ScriptedModels(heard), OpenQuota(), Announced(), settings, frozenset)
    report = (await lanes.consolidate(only=None))[version].phase1
    assert dict(report.failed) == {"too_long": 1}
    first, second = (request.input_text for request in heard.requests)
    assert len(second) < 0.7 * len(first)
