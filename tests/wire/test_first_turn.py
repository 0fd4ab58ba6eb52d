"""A request about a thread right behind the reply to its first turn: its file is waited for."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Reply, ResponsesServer
from tests.support.wire import KINDS, Kind

HELLO: list[dict[str, Any]] = [{"type": "text", "text": "hello"}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("thread/archive", {}),
        ("thread/fork", {}),
        ("thread/resume", {}),
        ("thread/turns/list", {}),
        ("thread/items/list", {}),
        ("thread/read", {"includeTurns": True}),
    ],
)
async def test_right_after_the_first_answered_turn_start_the_thread_has_its_file(
    kind: Kind, method: str, params: dict[str, Any], tmp_path: Path
) -> None:
    """The model has not answered yet; whoever was told of the turn may count on the thread."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        model.script(Reply(text="slow", hangs=True))
        thread = await started(client)
        await client.request("turn/start", {"threadId": thread, "input": HELLO})
        reply = await client.reply(method, {"threadId": thread, **params})
        assert "result" in reply, reply
        model.release()


@pytest.mark.requirement("FR-T20")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_thread_without_a_turn_is_still_said_to_have_no_file_at_once(
    kind: Kind, tmp_path: Path
) -> None:
    """One client goes on only if it reads these words; the thread's first turn works behind it."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        thread = await started(client)
        for method in ("thread/resume", "thread/fork", "thread/archive"):
            error = await error_of(client, method, {"threadId": thread})
            assert error["message"] == f"no rollout found for thread id {thread}"
        assert (await said(client, thread, "hello"))["status"] == "completed"
        assert (await client.request("thread/resume", {"threadId": thread}))["thread"]["turns"]
