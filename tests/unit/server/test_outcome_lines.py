"""What a consolidation prints: its outcome in words, and what to do next."""

from server.cli.render import consolidated


def _lines(status: str, reason: str | None, **failed: int) -> list[str]:
    version = {
        "version": "v1",
        "extraction": {
            "claimed": 2,
            "succeeded": 2 - sum(failed.values()),
            "empty": 0,
            "failed": failed,
            "skipped": {},
        },
        "consolidation": {"status": status, "reason": reason},
    }
    result = {"status": "finished", "versions": [version], "inputTokens": 0, "outputTokens": 0}
    return list(consolidated(result))


def test_what_a_model_wrote_and_code_refused_is_told_as_that() -> None:
    """With the findings behind it."""
    lines = _lines("failed", "unsound: MEMORY.md is missing")
    assert lines[1].endswith("as it was: what the model wrote was refused: MEMORY.md is missing")
    assert lines[-1].startswith("next: `memoryd doctor`")


def test_nothing_is_to_be_done_where_nothing_had_changed() -> None:
    """The tokens end the answer."""
    assert _lines("unchanged", None)[-1] == "model tokens: 0"
    assert _lines("published", None)[-1].startswith("next: `memoryd search QUESTION`")
