"""The embedded provider answers from whatever memory holds, by the tools and gates of any model."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import serving
from tests.support.methods import said, started
from tests.support.threads_memory import publish, report
from tests.support.wire import WireClient

QUESTION = "Which host is used for staging?"
HAND_MADE = "# Notes of the team\n\nintro\n\n## Hosts\n\n- staging runs on the host kestrel\n"


async def answer(client: WireClient, thread: str, question: str) -> dict[str, Any]:
    """The final item of one turn."""
    turn = await said(client, thread, question)
    assert turn["status"] == "completed"
    (item,) = [one for one in turn["items"] if one["type"] == "agentMessage"]
    return dict(item)


@pytest.mark.requirement("FR-R7", "FR-R16")
async def test_a_question_is_answered_from_a_file_of_any_form_with_its_place(
    tmp_path: Path,
) -> None:
    """A hand-made file that no rule of ours wrote; the same answer each time; counted as a read."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, "v1\n\n## User Profile\n\n- likes blue\n")
        (home.home.memories("v1") / "team.md").write_text(HAND_MADE)
        answers = [await answer(client, await started(client), QUESTION) for _ in range(2)]
        for one in answers:
            assert "staging runs on the host kestrel" in one["text"]
            assert "not a language model" in one["text"] and "oai-mem" not in one["text"]
            (entry,) = one["memoryCitation"]["entries"]
            assert entry["path"] == "team.md" and entry["lineStart"] == 7
        assert answers[0]["text"] == answers[1]["text"]
        view = await client.request("memory/overview", {})
        told = [note for note in view["notes"] if "team.md" in note]
        assert len(told) == 1 and "is not part of the summary; found by list, read" in told[0]
        reads = view["reads"]
        calls = [one["labels"]["tool"] for one in reads if one["name"] == "memories.tool.call"]
        assert "memories/recall" in calls
        thread = await started(client)
        assert "found nothing" in (await answer(client, thread, "Who won the chess cup?"))["text"]


@pytest.mark.requirement("FR-F15", "FR-F16")
@pytest.mark.parametrize(
    "params", [{"memoryUse": False}, {"config": {"memories.use_memories": False}}]
)
async def test_with_memory_off_it_finds_nothing(tmp_path: Path, params: dict[str, Any]) -> None:
    """As any other model would: no tool is offered, so none is called."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, "v1\n\n## User Profile\n\n- likes blue\n")
        (home.home.memories("v1") / "team.md").write_text(HAND_MADE)
        thread = await started(client, **params)
        item = await answer(client, thread, QUESTION)
        assert "kestrel" not in item["text"] and item["memoryCitation"] is None
        assert (await report(client, thread))["toolsOffered"] is False


@pytest.mark.requirement("FR-F16")
async def test_what_it_recalled_is_gone_from_the_thread_when_it_is_withdrawn(
    tmp_path: Path,
) -> None:
    """The next turn looks again, and a compaction's notes do not hold it."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        publish(home, "v1\n\n## User Profile\n\n- likes blue\n")
        team = home.home.memories("v1") / "team.md"
        team.write_text(HAND_MADE)
        thread = await started(client)
        assert "kestrel" in (await answer(client, thread, QUESTION))["text"]
        team.unlink()
        await client.request("thread/compact/start", {"threadId": thread})
        await client.notification("turn/completed")
        assert "kestrel" not in (await answer(client, thread, QUESTION))["text"]
        live = home.server.services.live.require(thread)
        path = home.home.root / live.draft.rollout_path
        compacted = [one for one in path.read_text().splitlines() if '"compacted"' in one]
        assert compacted and "kestrel" not in compacted[0] and QUESTION in compacted[0]
