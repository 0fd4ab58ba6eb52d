"""How often memory is looked up where it matters, and that answers are no worse for having it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.homes import Serving, serving
from tests.support.methods import said, started
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
SHOP, ESSAYS = "/home/sam/webshop", "/home/sam/essays"
USE_RATE_MIN = 0.95
RIGHT_RATE_MIN = 0.8

# Where, what is asked, and a word of what the user stated about it once.
TASKS = (
    (SHOP, "How do I run the tests?", "make check"),
    (SHOP, "Run the tests for me.", "make check"),
    (SHOP, "Should I call pytest directly?", "pytest"),
    (SHOP, "Write a function that sums two prices.", "type hints"),
    (SHOP, "Add type hints to the cart module.", "type hints"),
    (SHOP, "How large should my commits be?", "small"),
    (SHOP, "Commit this fix for the cart.", "commit"),
    (SHOP, "What should I do before I commit?", "linter"),
    (SHOP, "Run the linter.", "linter"),
    (SHOP, "Which database holds the order queue?", "Postgres"),
    (SHOP, "Set up the order queue.", "Postgres"),
    (SHOP, "Why did we choose Postgres?", "orders and queue"),
    (SHOP, "Which branch is the default?", "main"),
    (SHOP, "Open a pull request against the default branch.", "main"),
    (ESSAYS, "Write the introduction.", "paragraph"),
    (ESSAYS, "How long may an introduction be?", "one paragraph"),
    (ESSAYS, "Which English do I write?", "British"),
    (ESSAYS, "Find a title for this essay.", "Explore"),
    (ESSAYS, "Make the introduction shorter.", "shorter"),
    (ESSAYS, "What is the sea temperature, in which unit?", "celsius"),
)
TRIVIAL = ("Hello!", "thanks", "Good morning")


async def learned(client: WireClient) -> None:
    """Memory of the sample sessions, published."""
    await client.request("thread/import", {"path": str(SAMPLES)})
    result = await client.request("memory/consolidate/start", {"wait": True})
    assert result["consolidation"]["status"] == "published"


async def answered(client: WireClient, cwd: str, task: str, *, use: bool) -> tuple[str, str]:
    """The thread and its answer."""
    thread = await started(client, cwd=cwd, config={"memories.use_memories": use})
    turn = await said(client, thread, task)
    return thread, str(turn["items"][-1]["text"])


def looks(home: Serving, thread_id: str) -> int:
    """How often the thread's agent looked into memory, as its rollout has it."""
    [path] = home.home.sessions.rglob(f"*{thread_id}.jsonl")
    payloads = [json.loads(line)["payload"] for line in path.read_text("utf-8").splitlines()]
    return sum(
        one.get("type") == "function_call" and one.get("namespace") == "memories"
        for one in payloads
    )


@pytest.mark.requirement("FR-R16", "FR-R13")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_tasks_on_known_topics_look_into_memory_and_are_answered_from_it(
    tmp_path: Path, version: str, record_property: Callable[[str, object], None]
) -> None:
    """Twenty tasks: the rate of look-ups has a floor, and memory makes no answer worse."""
    config = f'[memories]\nversion = "{version}"\n'
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        await learned(client)
        used = right = right_without = 0
        missed: list[str] = []
        for cwd, task, word in TASKS:
            thread, answer = await answered(client, cwd, task, use=True)
            used += looks(home, thread) > 0
            right += word.lower() in answer.lower()
            if word.lower() not in answer.lower():
                missed.append(f"{task}: {answer}")
            thread, answer = await answered(client, cwd, task, use=False)
            assert looks(home, thread) == 0
            right_without += word.lower() in answer.lower()
        record_property("memory_use_rate", used / len(TASKS))
        record_property("right_with_memory", right / len(TASKS))
        record_property("right_without_memory", right_without / len(TASKS))
        assert used / len(TASKS) >= USE_RATE_MIN
        assert right / len(TASKS) >= RIGHT_RATE_MIN, missed
        assert right >= right_without


@pytest.mark.requirement("FR-R16")
async def test_small_talk_looks_nothing_up(tmp_path: Path) -> None:
    """The rate is not had by looking always."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await learned(client)
        for words in TRIVIAL:
            thread, _ = await answered(client, SHOP, words, use=True)
            assert looks(home, thread) == 0, words
