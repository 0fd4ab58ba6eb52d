"""The offline provider: what it asks memory for, what it answers, and how it cites."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from memory_read.citations import strip_citations
from server.agent.models.base import (
    Completed,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    ModelRequest,
    OutputItem,
)
from server.agent.models.offline import DELTA_CHARS_MAX, OfflineProvider
from tests.support.clock import ManualClock

FIRST = "01a228dc-d6af-71b0-a8b0-f85aecaab701"
SECOND = "01a228dc-d6af-71b0-a8b0-f85aecaab702"
THIRD = "01a228dc-d6af-71b0-a8b0-f85aecaab703"
HANDBOOK = f"""# Task Group: shop

scope: what the user stated while working in shop
applies_to: cwd=/w/shop; reuse_rule=hold here

## Task 1: tests, success

### rollout_summary_files

- rollout_summaries/a.md (cwd=/w/shop, rollout_path=x, updated_at=y, thread_id={FIRST})

### keywords

- tests, make, check

## Task 2: commits, uncertain

### rollout_summary_files

- rollout_summaries/b.md (cwd=/w/shop, rollout_path=x, updated_at=y, thread_id={SECOND})

### keywords

- commits

## User preferences

- The user prefers small commits. [Task 2]
- From now on run the linter before you commit. [Task 1, Task 2]

## Reusable knowledge

- The tests run with make check. [Task 1]

# Task Group: blog

scope: what the user stated while working in blog
applies_to: cwd=/w/blog; reuse_rule=hold here

## Task 1: english, uncertain

### rollout_summary_files

- rollout_summaries/c.md (cwd=/w/blog, rollout_path=x, updated_at=y, thread_id={THIRD})

### keywords

- english

## User preferences

- The user writes British English. [Task 1]
- The user lives in Paris and uses celsius. [Task 1]
- Titles must not contain the word Explore. [Task 1]

## Reusable knowledge

- The tests run with hugo check. [Task 1]
"""
SUMMARY = "v1\n\n## User Profile\n\n- The user lives in Paris.\n\n## What's in Memory\n\n- x: Paris"
TOOLS = (
    {
        "type": "namespace",
        "name": "memories",
        "tools": [{"name": name} for name in ("add_ad_hoc_note", "list", "read", "search")],
    },
)


def message(role: str, text: str) -> Mapping[str, Any]:
    """An input message."""
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def opening(question: str, *, cwd: str = "/w/shop", summary: str = "") -> list[Mapping[str, Any]]:
    """The first turn of a thread."""
    injected = (
        f"## Memory\n========= MEMORY_SUMMARY BEGINS =========\n{summary}\n"
        "========= MEMORY_SUMMARY ENDS =========\n"
    )
    return [
        *([message("developer", injected)] if summary else []),
        message("user", f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"),
        message("user", question),
    ]


def memory_tool(name: str, arguments: Mapping[str, Any], handbook: str) -> str:
    """What the memory tools would answer over one handbook."""
    lines = handbook.split("\n")
    if name == "search":
        queries = [query.lower() for query in arguments["queries"]]
        matches = [
            {"path": "MEMORY.md", "match_line_number": number, "content": line}
            for number, line in enumerate(lines, 1)
            if any(query in line.lower() for query in queries)
        ]
        return json.dumps({"matches": matches})
    if name == "read":
        start = arguments.get("line_offset", 1)
        return json.dumps(
            {
                "path": arguments["path"],
                "start_line_number": start,
                "content": "\n".join(lines[start - 1 :]),
                "truncated": False,
            }
        )
    return "{}"


async def events(request: ModelRequest) -> list[ModelEvent]:
    """One step of the provider."""
    provider = OfflineProvider(ManualClock())
    return [event async for event in provider.stream(request)]


async def turn(
    question: str,
    *,
    cwd: str = "/w/shop",
    handbook: str = HANDBOOK,
    tools: Sequence[Mapping[str, Any]] = TOOLS,
    summary: str = "",
) -> tuple[str, list[Mapping[str, Any]]]:
    """A whole turn with its tool calls; the final text and the calls."""
    given = opening(question, cwd=cwd, summary=summary)
    calls: list[Mapping[str, Any]] = []
    for _ in range(6):
        seen = await events(ModelRequest(model="m", instructions="", input=given, tools=tools))
        assert isinstance(seen[-1], Completed)
        (item,) = [event.item for event in seen if isinstance(event, OutputItem)]
        if item["type"] == "message":
            return str(item["content"][0]["text"]), calls
        assert item["namespace"] == "memories"
        calls.append(item)
        output = memory_tool(item["name"], json.loads(item["arguments"]), handbook)
        answer = {"type": "function_call_output", "call_id": item["call_id"], "output": output}
        given += [item, answer]
    raise AssertionError("it never came to an answer")


@pytest.mark.parametrize(
    ("question", "cwd", "told", "untold", "ids"),
    [
        ("how do I run the tests here?", "/w/shop", "make check", "hugo", [FIRST]),
        ("How do I run the tests here?", "/w/blog", "hugo check", None, [THIRD]),
        ("what do you know about my commit habits?", "/w/shop", "small commits", "Paris", None),
        ("which English do I write?", "/w/blog", "British English", "celsius", [THIRD]),
        ("Where do I live?", "/w/shop", "lives in Paris", "British", [THIRD]),
        ("What unit should temperatures have?", "/w/shop", "celsius", "tests", [THIRD]),
        ("May a title say Explore?", "/w/blog", "must not contain", "celsius", [THIRD]),
        ("What should I do before I commit?", "/w/shop", "run the linter", "hugo", None),
    ],
)
async def test_a_natural_question_is_answered_from_memory_with_its_source(
    question: str, cwd: str, told: str, untold: str | None, ids: list[str] | None
) -> None:
    """The cited lines are those that were repeated."""
    text, calls = await turn(question, cwd=cwd)
    assert [call["name"] for call in calls] == ["search", "read"]
    visible, citation = strip_citations(text)
    assert told in visible and (untold is None or untold not in visible)
    assert "not a language model" in visible and "<oai-mem" not in visible
    assert citation is not None and citation.entries
    lines = HANDBOOK.split("\n")
    for entry in citation.entries:
        assert entry.path == "MEMORY.md" and entry.line_start == entry.line_end
        statement = lines[entry.line_start - 1].removeprefix("- ").rsplit(" [", 1)[0]
        assert statement in visible
    assert citation.rollout_ids and set(citation.rollout_ids) <= {FIRST, SECOND, THIRD}
    if ids is not None:
        assert list(citation.rollout_ids)[: len(ids)] == ids
    assert text.rstrip().endswith("</oai-mem-citation>")


async def test_asked_about_the_user_it_gives_an_overview() -> None:
    """Without a subject there is nothing to search for."""
    text, calls = await turn("What do you know about me?")
    assert [call["name"] for call in calls] == ["read"]
    assert "small commits" in text and "British English" in text


async def test_nothing_found_is_said_and_not_cited() -> None:
    """It also says that it cannot do the task."""
    text, calls = await turn("Please write a parser for RFC 822 dates")
    assert calls[0]["name"] == "search"
    assert "found nothing" in text and "cannot do the task" in text and "<oai" not in text
    hello, none = await turn("Hello!")
    assert none == [] and "not a language model" in hello


async def test_without_memory_tools_the_injected_summary_serves() -> None:
    """Its lines are cited by the file they come from."""
    text, calls = await turn("Where do I live?", tools=(), summary=SUMMARY)
    _, citation = strip_citations(text)
    assert calls == [] and "lives in Paris" in text
    assert citation is not None and citation.rollout_ids == ()
    assert [(one.path, one.line_start) for one in citation.entries] == [("memory_summary.md", 5)]
    bare, _ = await turn("Where do I live?", tools=())
    assert "found nothing" in bare


@pytest.mark.requirement("FR-R14")
@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("Remember that I use Vim.", "I use Vim.\n"),
        ("From now on use tabs.", "From now on use tabs.\n"),
        ("Please remember: the vet is Dr Hale.", "The vet is Dr Hale.\n"),
        ("forget that I live in Paris", "Forget that I live in Paris\n"),
    ],
)
async def test_a_plain_wish_becomes_a_note_in_the_user_s_own_words(said: str, note: str) -> None:
    """And the answer says what was saved."""
    text, calls = await turn(said)
    (call,) = calls
    given = json.loads(call["arguments"])
    assert call["name"] == "add_ad_hoc_note" and given["note"].lower() == note.lower()
    name = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-[a-z0-9][a-z0-9-]{0,79}\.md"
    assert re.fullmatch(name, given["filename"])
    assert "left a note" in text


async def test_a_wish_that_cannot_be_noted_is_said_to_be_so() -> None:
    """Neither a missing tool nor a refusal is passed off as success."""
    text, calls = await turn("Remember that I use Vim.", tools=())
    assert calls == [] and "left no note" in text
    given = opening("Remember that I use Vim.")
    call = {
        "type": "function_call",
        "namespace": "memories",
        "name": "add_ad_hoc_note",
        "call_id": "c",
        "arguments": "{}",
    }
    given += [call, {"type": "function_call_output", "call_id": "c", "output": "disk is full"}]
    seen = await events(ModelRequest(model="m", instructions="", input=given, tools=TOOLS))
    told = "".join(event.text for event in seen if isinstance(event, MessageDelta))
    assert "could not be saved: disk is full" in told


async def test_a_secret_is_never_noted() -> None:
    """It is refused with a message."""
    text, calls = await turn("Remember that my password is hunter2hunter2")
    assert calls == [] and "secret" in text and "hunter2" not in text


async def test_a_question_is_no_wish() -> None:
    """`Do you remember` only asks."""
    _, calls = await turn("Do you remember which English I write?")
    assert [call["name"] for call in calls] == ["search", "read"]


async def test_the_stream_is_whole_and_the_same_each_time() -> None:
    """Started, small deltas, the finished item, completed."""
    request = ModelRequest(model="m", instructions="", input=opening("Hello!"))
    first = await events(request)
    assert isinstance(first[0], MessageStarted) and isinstance(first[-1], Completed)
    deltas = [event.text for event in first if isinstance(event, MessageDelta)]
    (item,) = [event.item for event in first if isinstance(event, OutputItem)]
    assert "".join(deltas) == item["content"][0]["text"]
    assert max(map(len, deltas)) <= DELTA_CHARS_MAX and len(deltas) > 1
    assert await events(request) == first


async def test_a_handbook_too_long_for_one_read_is_read_around_its_best_hit() -> None:
    """Line numbers behind a cut are never guessed."""
    given = opening("Which editor do I use?")
    lines = [f"- Filler {number}. [Task 1]" for number in range(3000)]
    lines[2500] = "- The user's editor is Vim. [Task 1]"
    search = {"matches": [{"path": "MEMORY.md", "match_line_number": 2501, "content": lines[2500]}]}
    cut = {"start_line_number": 1, "content": "…9 tokens truncated…", "truncated": True}
    for name, output in (("search", search), ("read", cut)):
        given += [
            {
                "type": "function_call",
                "namespace": "memories",
                "name": name,
                "call_id": name,
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": name, "output": json.dumps(output)},
        ]
    seen = await events(ModelRequest(model="m", instructions="", input=given, tools=TOOLS))
    (item,) = [event.item for event in seen if isinstance(event, OutputItem)]
    asked = json.loads(item["arguments"])
    assert item["name"] == "read" and asked["line_offset"] < 2501 <= asked["line_offset"] + 160


async def test_odd_requests_are_answered_and_never_fail() -> None:
    """No user message, broken items, tool results that are no JSON."""
    for given in (
        [],
        [message("user", "")],
        [{"type": "message", "role": "user"}],
        [message("user", "<environment_context><cwd>/x</cwd></environment_context>")],
        [message("user", "x" * 100_000)],
        [*opening("How do I test?"), {"type": "function_call_output", "call_id": "?"}],
    ):
        seen = await events(ModelRequest(model="m", instructions="", input=given, tools=TOOLS))
        assert isinstance(seen[-1], Completed)


def test_it_says_what_it_is() -> None:
    """Also in the list of models."""
    provider = OfflineProvider()
    (model,) = provider.models()
    assert provider.name == "offline" and provider.default_model == model.model_id
    assert "not a language model" in model.description
