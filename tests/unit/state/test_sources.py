"""Which client began a thread, and whether a person did."""

import json

import pytest

from state.stores.sources import is_root, source_kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("cli", "cli"),
        ("vscode", "vscode"),
        ("appServer", "appServer"),
        ("app_server", "appServer"),
        ("mcp", "mcp"),
        ("something new", "unknown"),
        ({"custom": "chatgpt"}, "chatgpt"),
        ({"custom": "theirs"}, "unknown"),
        ({"subAgent": "review"}, "subAgentReview"),
        ({"subagent": "compact"}, "subAgentCompact"),
        ({"subAgent": "memory_consolidation"}, "subAgentOther"),
        ({"subAgent": {"thread_spawn": {"depth": 1}}}, "subAgentThreadSpawn"),
        ({"subAgent": {"other": "guardian"}}, "subAgentOther"),
        ({"internal": "memory_consolidation"}, "internal"),
        (None, "unknown"),
        (7, "unknown"),
        (["cli"], "unknown"),
    ],
)
def test_a_source_has_one_kind(source: object, kind: str) -> None:
    """In all the spellings that rollouts and the wire have."""
    assert source_kind(json.dumps(source)) == kind


def test_a_source_that_is_no_json_is_unknown() -> None:
    """A damaged value hides nothing and breaks nothing."""
    assert source_kind("{") == "unknown"


def test_only_a_persons_sessions_are_roots() -> None:
    """An import makes the unknown count, and never a sub-agent."""
    assert is_root("cli", None, imported=False)
    assert is_root("cli", "user", imported=False)
    assert not is_root("cli", "subagent", imported=False)
    assert not is_root("unknown", None, imported=False)
    assert is_root("unknown", None, imported=True)
    assert not is_root("subAgentReview", None, imported=True)
    assert not is_root("internal", None, imported=True)
