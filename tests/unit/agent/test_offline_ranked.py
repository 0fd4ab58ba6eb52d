"""What the offline provider makes of ranked search, where no stored statement answers."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from memory_read.citations import strip_citations
from server.agent.models.base import MessageDelta, ModelRequest, OutputItem
from server.agent.models.offline import OfflineProvider
from server.agent.models.offline_ranked import HITS_MAX, from_ranked
from tests.support.clock import ManualClock

THREAD = "01a228dc-d6af-71b0-a8b0-f85aecaab701"


def hit(text: str, **other: object) -> dict[str, object]:
    """One result of the tool."""
    return {
        "path": "skills/release/SKILL.md",
        "line_start": 4,
        "line_end": 6,
        "heading": "",
        "text": text,
        "thread_ids": [],
        **other,
    }


def found(question: str, *hits: Mapping[str, object]) -> list[str]:
    """The lines that would be repeated."""
    return [one.text for one in from_ranked(question, {"results": list(hits)})]


@pytest.mark.parametrize(
    ("text", "heading", "line"),
    [
        ("The staging host is called kestrel.", "", "The staging host is called kestrel."),
        ("- kestrel", "Name of the staging host", "kestrel"),
        ("intro\n\n* the host for staging: kestrel\nmore", "", "the host for staging: kestrel"),
        ("```\nx\n```\nthread_id=1\nstaging host: kestrel", "", "staging host: kestrel"),
    ],
)
def test_the_line_that_is_about_the_question_is_repeated(
    text: str, heading: str, line: str
) -> None:
    """Its heading counts; headings, fences and bookkeeping are no answer."""
    assert found("Which host is for staging?", hit(text, heading=heading)) == [line]


def test_a_hit_that_shares_little_is_no_answer() -> None:
    """Ranked search always gives something."""
    asked = "Which host do we use for staging deploys on Tuesdays?"
    assert found(asked, hit("The host of the party is Ana.")) == []
    assert found("How do I run the migration?", hit("Run the tests.")) == []


def test_whatever_the_tool_answers_nothing_fails_and_few_are_told() -> None:
    """Odd shapes are left out, equal texts told once."""
    good = hit("The staging host is kestrel.")
    odd: list[Any] = [None, 3, {}, hit("staging host", line_start="x"), hit("", path="x")]
    assert found("staging host?", *odd, good, good) == ["The staging host is kestrel."]
    assert from_ranked("staging host?", {"results": "x"}) == []
    many = [hit(f"The staging host {number} is kestrel.") for number in range(9)]
    assert len(found("staging host?", *many)) == HITS_MAX
    assert len(found("staging host?", hit("staging host " + "x" * 9_000))[0]) < 400


async def test_it_asks_recall_after_the_statements_and_cites_what_it_repeats() -> None:
    """Once, with the question as typed; no word that the user said it; the same each time."""
    names = ("add_ad_hoc_note", "list", "read", "search", "recall")
    tools = [{"type": "namespace", "name": "memories", "tools": [{"name": one} for one in names]}]
    content = [{"type": "input_text", "text": "Which host is for staging?"}]
    given: list[Mapping[str, Any]] = [{"type": "message", "role": "user", "content": content}]
    outputs = {
        "search": {"matches": []},
        "recall": {"results": [hit("The staging host is kestrel.", thread_ids=[THREAD])]},
    }
    calls: list[str] = []
    while True:
        request = ModelRequest(model="m", instructions="", input=given, tools=tools)
        seen = [one async for one in OfflineProvider(ManualClock()).stream(request)]
        assert seen == [one async for one in OfflineProvider(ManualClock()).stream(request)]
        (item,) = [one.item for one in seen if isinstance(one, OutputItem)]
        if item["type"] == "message":
            break
        calls.append(item["name"])
        output = json.dumps(outputs[item["name"]])
        given += [
            item,
            {"type": "function_call_output", "call_id": item["call_id"], "output": output},
        ]
    assert calls == ["search", "recall"]
    text, citation = strip_citations(
        "".join(one.text for one in seen if isinstance(one, MessageDelta))
    )
    assert "Memory has this about it:\n- The staging host is kestrel." in text
    assert citation is not None and citation.rollout_ids == (THREAD,)
    (entry,) = citation.entries
    assert (entry.path, entry.line_start, entry.line_end) == ("skills/release/SKILL.md", 4, 6)
    assert "stated by" not in entry.note
