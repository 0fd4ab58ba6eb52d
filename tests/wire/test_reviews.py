"""Reviews: a turn of its own with a begin and an end that clients show, whatever ends it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from state.ids import ThreadId
from state.rollouts.fragments import typed_text
from state.rollouts.items import RolloutLine
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import Recorded, Reply, ResponsesServer, says, status
from tests.support.wire import KINDS, Kind, WireClient

CHANGES = {"type": "uncommittedChanges"}


def _types(client: WireClient, since: int) -> list[str]:
    """The items that were completed since that frame."""
    return [
        str(frame["params"]["item"]["type"])
        for frame in client.frames[since:]
        if frame.get("method") == "item/completed"
    ]


async def _reviewed(client: WireClient, thread: str, target: dict[str, Any]) -> dict[str, Any]:
    """One whole review; its end."""
    begun = await client.request("review/start", {"threadId": thread, "target": target})
    assert begun["reviewThreadId"] == thread
    ended = (await client.notification("turn/completed"))["turn"]
    assert ended["id"] == begun["turn"]["id"]
    return dict(ended)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_review_is_a_turn_between_two_marks_and_reads_back_the_same(
    kind: Kind, tmp_path: Path
) -> None:
    """The reply is first; the reviewer's last words are the answer and stand in the end mark."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client(kind) as client,
    ):
        thread = await started(client)
        seen = len(client.frames)
        model.script(says("[P1] a.py:3"))
        ended = await _reviewed(client, thread, CHANGES)
        assert "method" not in client.frames[seen], "the reply comes first"
        assert [one["text"] for one in ended["items"]] == ["[P1] a.py:3"]
        order = ["enteredReviewMode", "userMessage", "agentMessage", "exitedReviewMode"]
        assert _types(client, seen) == order
        assert "This turn is a code review" in model.requests[-1].body["instructions"]
        await said(client, thread, "mend it")
        assert "This turn is a code review" not in model.requests[-1].body["instructions"]
        assert "[P1] a.py:3" in model.requests[-1].text, "what was found can be spoken of"
        live = await _marks(client, thread)
        await home.server.services.live.unload(ThreadId(thread))
        assert live == await _marks(client, thread) == ["current changes", "[P1] a.py:3"]


async def _marks(client: WireClient, thread: str) -> list[str]:
    page = await client.request("thread/items/list", {"threadId": thread})
    items = [row["item"] for row in page["data"]]
    return [one["review"] for one in items if one["type"].endswith("ReviewMode")]


@pytest.mark.parametrize(
    ("target", "hint", "asked"),
    [
        (CHANGES, "current changes", "git diff HEAD"),
        (
            {"type": "baseBranch", "branch": "a b"},
            "changes against 'a b'",
            "git merge-base HEAD 'a b'",
        ),
        (
            {"type": "commit", "sha": "abcdef1234", "title": "one"},
            "commit abcdef1: one",
            "git show abcdef1234",
        ),
        ({"type": "commit", "sha": "abcdef1234"}, "commit abcdef1", "git show abcdef1234"),
        ({"type": "custom", "instructions": "only the tests"}, "only the tests", "only the tests"),
    ],
)
async def test_each_target_is_named_to_people_and_put_to_the_model(
    target: dict[str, Any], hint: str, asked: str, tmp_path: Path
) -> None:
    """Only the user's own words count as typed, so nothing else of it is learned as theirs."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        await _reviewed(client, thread, target)
        assert (await _marks(client, thread))[0] == hint
        assert asked in model.requests[-1].user_texts[-1]
        own = [target["instructions"]] if target["type"] == "custom" else []
        read = await client.request("thread/read", {"threadId": thread})
        assert await asyncio.to_thread(_typed, Path(read["thread"]["path"])) == own


def _typed(path: Path) -> list[str]:
    """What of a thread's file counts as typed by its user."""
    found = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = json.loads(text)
        read = RolloutLine(number=number, type=line["type"], payload=line["payload"])
        if (typed := typed_text(read)) is not None:
            found.append(typed)
    return found


async def test_what_names_nothing_is_refused_and_begins_no_turn(tmp_path: Path) -> None:
    """And so is a place of the review that is not the thread itself."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        thread = await started(client)
        for target, sentence in (
            ({"type": "custom", "instructions": " "}, "instructions must not be empty"),
            ({"type": "baseBranch", "branch": ""}, "branch must not be empty"),
            ({"type": "commit", "sha": "\n"}, "sha must not be empty"),
        ):
            params = {"threadId": thread, "target": target}
            assert (await error_of(client, "review/start", params))["message"] == sentence
        params = {"threadId": thread, "target": CHANGES, "delivery": "detached"}
        error = await error_of(client, "review/start", params)
        assert "unknown variant `detached`" in error["message"]
        assert client.notifications("turn/started") == []


@pytest.mark.parametrize("ends", ["interrupted", "failed"])
async def test_a_review_that_does_not_come_to_its_end_is_left_all_the_same(
    ends: str, tmp_path: Path
) -> None:
    """A client would show the thread as being reviewed for ever; what comes behind it runs."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        thread = await started(client)
        fails = status(400, "no", type="invalid_request_error")
        model.script(Reply(text="", hangs=True) if ends == "interrupted" else fails)
        params = {"threadId": thread, "target": CHANGES}
        turn = (await client.request("review/start", params))["turn"]["id"]
        if ends == "interrupted":
            await model.wait_for_requests(1)
            words = [{"type": "text", "text": "more"}]
            steer = {"threadId": thread, "input": words, "expectedTurnId": turn}
            error = await error_of(client, "turn/steer", steer)
            assert error["message"] == "cannot steer a review turn"
            info = {"activeTurnNotSteerable": {"turnKind": "review"}}
            assert error["data"]["codexErrorInfo"] == info
            await client.request("turn/interrupt", {"threadId": thread, "turnId": turn})
        ended = (await client.notification("turn/completed"))["turn"]
        assert (ended["id"], ended["status"]) == (turn, ends)
        assert _types(client, 0)[-1] == "exitedReviewMode"
        assert (await _marks(client, thread))[-1] == "The review did not come to an end."
        model.release()
        assert (await said(client, thread, "after"))["status"] == "completed"


def _slow_first(request: Recorded) -> Reply | None:
    return Reply(text="busy", hangs=True) if request.user_texts[-1] == "first" else None


async def test_a_review_waits_for_the_turn_that_runs(tmp_path: Path) -> None:
    """It neither joins nor stops it."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("pair") as client,
    ):
        model.choose = _slow_first
        thread = await started(client)
        words = [{"type": "text", "text": "first"}]
        turn = await client.request("turn/start", {"threadId": thread, "input": words})
        await model.wait_for_requests(1)
        params = {"threadId": thread, "target": CHANGES}
        begun = await client.request("review/start", params)
        assert len(model.requests) == 1, "it would have asked the model"
        model.release()
        ended = [(await client.notification("turn/completed"))["turn"]["id"] for _ in range(2)]
        assert ended == [turn["turn"]["id"], begun["turn"]["id"]]
