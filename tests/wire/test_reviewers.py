"""Automatic review of approvals: not built, and nobody is told that it is."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import serving
from tests.support.methods import said, started
from tests.support.wire import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reviewer", ["auto_review", "guardian_subagent"])
async def test_who_asks_for_automatic_review_is_told_that_a_person_is_asked(
    kind: Kind, reviewer: str, tmp_path: Path
) -> None:
    """In the replies and the settings; words for the configuration alone, where clients show it."""
    config = f'approvals_reviewer = "{reviewer}"\n'
    async with serving(tmp_path, config=config) as home, home.wire.client(kind) as client:
        asked: dict[str, Any] = {"approvalsReviewer": reviewer}
        begun = await client.request("thread/start", {"cwd": "/", **asked})
        assert begun["approvalsReviewer"] == "user"
        thread = begun["thread"]["id"]
        told = await client.notification("configWarning")
        assert "a person is asked" in told["summary"]
        await said(client, thread, "hello", **asked)
        for method in ("thread/resume", "thread/settings/update"):
            reply = await client.request(method, {"threadId": thread, **asked})
            assert reply.get("approvalsReviewer", "user") == "user"
        fork = await client.request("thread/fork", {"threadId": thread, **asked})
        assert fork["approvalsReviewer"] == "user"
        demanded = await client.request("configRequirements/read")
        assert demanded["requirements"] == {"allowedApprovalsReviewers": ["user"]}
        read = await client.request("config/read", {})
        assert read["config"]["approvals_reviewer"] == "user"
        assert not [one for one in client.frames if one.get("method") == "warning"]


async def test_who_asks_for_a_person_is_told_nothing(tmp_path: Path) -> None:
    """It is what happens."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client, approvalsReviewer="user")
        await said(client, thread, "hello", approvalsReviewer="user")
        assert not [one for one in client.frames if one.get("method") == "warning"]
