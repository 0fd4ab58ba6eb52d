"""The one list: names are unique, and the gate of what may still change holds."""

from typing import Any

import pytest

from protocol.methods import (
    CLIENT_METHODS,
    METHODS_BY_NAME,
    NOTIFICATIONS,
    experimental_refusal,
)
from protocol.server_requests import SERVER_REQUESTS

TIER_ONE = (
    "initialize",
    "thread/start",
    "turn/start",
    "turn/interrupt",
    "thread/resume",
    "thread/list",
    "thread/read",
)
TIER_ONE_NOTIFICATIONS = (
    "thread/started",
    "thread/status/changed",
    "turn/started",
    "item/started",
    "item/agentMessage/delta",
    "item/completed",
    "thread/tokenUsage/updated",
    "turn/completed",
    "error",
    "serverRequest/resolved",
)


def test_every_name_stands_once() -> None:
    """Methods, notifications and requests of the server."""
    for listed in (CLIENT_METHODS, NOTIFICATIONS, SERVER_REQUESTS):
        names = [one.name for one in listed]
        assert len(names) == len(set(names))


def test_what_every_client_needs_is_there() -> None:
    """The first tier of real clients."""
    assert set(TIER_ONE) <= set(METHODS_BY_NAME)
    assert set(TIER_ONE_NOTIFICATIONS) <= {one.name for one in NOTIFICATIONS}
    assert "item/commandExecution/requestApproval" in [one.name for one in SERVER_REQUESTS]
    assert all(one.deadline_s is not None for one in SERVER_REQUESTS)


@pytest.mark.parametrize(
    "method",
    ["memory/reset", "memory/status", "thread/memory/read", "thread/memoryMode/set"],
)
def test_memory_methods_must_be_asked_for(method: str) -> None:
    """The sentence names the method."""
    refusal = experimental_refusal(METHODS_BY_NAME[method], {})
    assert refusal is not None
    assert refusal.message == f"{method} requires experimentalApi capability"


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("thread/start", {"experimentalRawEvents": True}, "thread/start.experimentalRawEvents"),
        ("thread/start", {"environments": []}, "thread/start.environments"),
        ("thread/start", {"historyMode": "legacy"}, "thread/start.historyMode"),
        ("thread/list", {"parentThreadId": "x"}, "thread/list.parentThreadId"),
        ("turn/start", {"environments": []}, "turn/start.environments"),
        ("turn/start", {"approvalPolicy": {"granular": {}}}, "askForApproval.granular"),
    ],
)
def test_a_field_that_may_change_must_be_asked_for(
    method: str, params: dict[str, Any], field: str
) -> None:
    """An empty list is there too."""
    refusal = experimental_refusal(METHODS_BY_NAME[method], params)
    assert refusal is not None
    assert refusal.message == f"{field} requires experimentalApi capability"


@pytest.mark.parametrize("value", [None, False])
def test_a_field_that_is_null_or_off_is_not_used(value: object) -> None:
    """Clients that send every field stay welcome."""
    params = {"experimentalRawEvents": value, "environments": None}
    assert experimental_refusal(METHODS_BY_NAME["thread/start"], params) is None


@pytest.mark.requirement("FR-T3")
def test_only_progress_may_be_dropped() -> None:
    """A slow client loses pieces that a later message makes good, never a result or a state."""
    assert {one.name for one in NOTIFICATIONS if not one.lossless} == {
        "item/agentMessage/delta",
        "item/commandExecution/outputDelta",
        "item/fileChange/patchUpdated",
        "item/mcpToolCall/progress",
        "item/reasoning/summaryPartAdded",
        "item/reasoning/summaryTextDelta",
        "memory/progress",
        "thread/import/progress",
    }
