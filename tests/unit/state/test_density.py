"""Tokens are counted densely, and what was fitted keeps to what it was fitted to."""

import base64
import json
import random
import uuid

import pytest

from state.policy.budget import estimate_tokens
from state.policy.density import dense_tokens, fit_middle

PROSE = "Please run the linter before you commit, and keep the commits of this change small. "
_CHANCE = random.Random(7)
_BYTES = bytes(_CHANCE.randrange(256) for _ in range(30_000))
_ROWS = [{"id": n, "at": n * 0.37, "name": f"x{n}", "ok": True, "t": None} for n in range(400)]
DENSE = {
    "minified JSON": json.dumps(_ROWS, separators=(",", ":")),
    "CJK": "请在这个项目里总是使用四个空格缩进并且在提交之前运行所有测试。" * 200,
    "base64": base64.b64encode(_BYTES).decode(),
    "identifiers": "\n".join(str(uuid.UUID(int=_CHANCE.getrandbits(128))) for _ in range(500)),
    "digits": "".join(_CHANCE.choice("0123456789") for _ in range(9_000)),
    "emoji": "🧠🎉🔥😀" * 500,
}
# The larger count of two public vocabularies, for these very texts.
COUNTED_MIN = {
    "minified JSON": 9_337,
    "CJK": 5_600,
    "base64": 28_659,
    "identifiers": 11_763,
    "digits": 3_000,
    "emoji": 5_500,
}


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize("name", list(DENSE))
def test_dense_text_counts_at_least_what_a_vocabulary_needs(name: str) -> None:
    """Where four bytes a token would have let twice as much through."""
    assert dense_tokens(DENSE[name]) >= COUNTED_MIN[name]


def test_prose_counts_little_more_than_plainly() -> None:
    """So a window is not left half empty."""
    text = PROSE * 500
    assert estimate_tokens(text) <= dense_tokens(text) <= 1.2 * estimate_tokens(text)
    assert dense_tokens("") == 0


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize("name", list(DENSE))
@pytest.mark.parametrize("tokens_max", [50, 700, 2_500])
def test_a_fitted_text_never_counts_above_its_bound(name: str, tokens_max: int) -> None:
    """Also where its ends are denser than its middle; and it uses most of the room."""
    text = PROSE * 20 + DENSE[name] + PROSE * 20
    fitted = fit_middle(text, tokens_max=tokens_max)
    assert dense_tokens(fitted) <= tokens_max
    assert "tokens truncated…" in fitted
    assert dense_tokens(fitted) >= tokens_max // 3
    backwards = fit_middle(DENSE[name] + PROSE * 400, tokens_max=tokens_max)
    assert dense_tokens(backwards) <= tokens_max


def test_what_fits_is_left_alone_and_what_cannot_fit_becomes_empty() -> None:
    """The marker itself takes tokens."""
    assert fit_middle(PROSE, tokens_max=1_000) == PROSE
    assert fit_middle(PROSE * 50, tokens_max=1) == ""
