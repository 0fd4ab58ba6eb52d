"""The conversation by tiers: who speaks, what stays under pressure, and where the gaps are."""

import json
from typing import Any

import pytest

from memory_write.phase1.tiers import GAP, ROW_BYTES_MAX, TOOL_OUTPUT_BYTES_MAX, render_tiered
from memory_write.phase1.transcript import hear
from state.ids import ThreadId
from state.policy.density import dense_tokens
from state.rollouts.items import Transcript, TranscriptItem, TranscriptKind
from tests.support.shared_data import needs_shared, shared
from tests.support.transcripts import THREAD

PADDING = "and so on "
ANSWERED = json.dumps({"answers": {"style": {"answers": ["Use tabs, please"]}}})


def item(kind: TranscriptKind, text: str = "", **raw: Any) -> TranscriptItem:
    """One piece of evidence in the shape of a response item."""
    body = raw or {"type": "message", "content": [{"type": "input_text", "text": text}]}
    return TranscriptItem(kind=kind, text=text, line=1, raw=body)


def asks(call_id: str, namespace: str | None = None, question: str = "Which style?") -> Any:
    """The agent asks the person something."""
    call = {"type": "function_call", "name": "request_user_input", "call_id": call_id}
    named = {"namespace": namespace} if namespace else {}
    return item("tool_call", **call, **named, arguments=question)


def answers(call_id: str, output: str = ANSWERED) -> TranscriptItem:
    """What came back."""
    return item("tool_output", type="function_call_output", call_id=call_id, output=output)


def rendered(*items: TranscriptItem, tokens_max: int = 10_000) -> str:
    """The conversation of these items."""
    heard = Transcript(thread_id=THREAD, cwd="/p", git_branch=None, items=items)
    return render_tiered(heard, tokens_max=tokens_max)


def labels(text: str) -> list[str]:
    """Who speaks, row by row, gaps included."""
    return [line for line in text.split("\n") if line.startswith("[")]


@pytest.mark.requirement("MW-8.2-agents-speak")
def test_every_item_says_who_speaks_and_stands_in_its_order() -> None:
    """One row an item, its response item as compact JSON."""
    text = rendered(
        item("context", "cwd"),
        item("user", "Add a flag."),
        item("commentary", "Looking."),
        item("tool_call", type="function_call", name="shell", call_id="1", arguments="{}"),
        item("tool_output", type="function_call_output", call_id="1", output="ok"),
        item("web_search", type="web_search_call"),
        item("agent", "mail"),
        item("assistant", "Done."),
    )
    assert labels(text) == [
        "[harness context]",
        "[human user]",
        "[assistant commentary]",
        "[tool]",
        "[tool]",
        "[tool]",
        "[other agent]",
        "[assistant final]",
    ]
    assert '[human user]\n{"type":"message","content":[{"type":"input_text",' in text
    assert GAP not in text


@pytest.mark.parametrize("namespace", [None, "functions"])
def test_an_answered_question_is_the_person_s_word(namespace: str | None) -> None:
    """The question stands before the reply."""
    text = rendered(asks("q", namespace), answers("q"))
    assert labels(text) == ["[tool]", "[human user]"]
    assert "Assistant question: Which style?\nHuman reply: {" in text


@pytest.mark.parametrize(
    ("asked", "output"),
    [
        ("elsewhere", ANSWERED),
        (None, json.dumps({"answers": {"style": {"answers": ["  "]}}})),
        (None, json.dumps({"answers": []})),
        (None, "cancelled"),
    ],
)
def test_what_is_no_answer_of_a_person_is_a_tool_s(asked: str | None, output: str) -> None:
    """A tool of another namespace, a blank answer, no answer at all."""
    text = rendered(asks("q", asked), answers("q", output))
    assert labels(text) == ["[tool]", "[tool]"]


def test_under_pressure_the_user_s_words_go_last() -> None:
    """First tools, then context, commentary, other agents, finals; the newest of a tier stay."""
    session = [
        item("user", "FIRST"),
        item("context", "SURROUNDINGS " + PADDING * 40),
        item("tool_output", type="function_call_output", call_id="1", output="NOISE " * 2_000),
        item("commentary", "THINKING " + PADDING * 40),
        item("agent", "MAIL " + PADDING * 40),
        item("assistant", "OLDER " + PADDING * 40),
        item("assistant", "NEWER " + PADDING * 40),
        item("user", "LAST"),
    ]
    dropped: list[str] = []
    for tokens_max in range(3_000, 60, -10):
        text = rendered(*session, tokens_max=tokens_max)
        assert dense_tokens(text) <= tokens_max
        for word in ("FIRST", "SURROUNDINGS", "NOISE", "THINKING", "MAIL", "OLDER", "NEWER"):
            if word not in text and word not in dropped:
                dropped.append(word)
                assert GAP in text
        places = [text.find(word) for word in ("FIRST", "OLDER", "NEWER", "LAST") if word in text]
        assert places == sorted(places)
    assert dropped == ["NOISE", "SURROUNDINGS", "THINKING", "MAIL", "OLDER", "NEWER", "FIRST"]
    assert rendered(*session, tokens_max=4) == ""


def test_long_rows_are_cut_in_their_middle() -> None:
    """A tool's output sooner than the rest."""
    tool = rendered(item("tool_output", type="function_call_output", output="x " * 20_000))
    said = rendered(item("user", "y " * 20_000))
    assert "chars truncated…" in tool and "chars truncated…" in said
    assert TOOL_OUTPUT_BYTES_MAX - 200 < len(tool.encode()) < TOOL_OUTPUT_BYTES_MAX
    assert ROW_BYTES_MAX - 200 < len(said.encode()) < ROW_BYTES_MAX


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize(
    "text", ["请总是使用四个空格。", "dGhpcyBpcyBub3QgcHJvc2U5Zx8", '{"a":1,"b":[2]},']
)
def test_dense_sessions_stay_within_the_tokens_allowed(text: str) -> None:
    """However many bytes a token has."""
    session = [item("user", text * 200) for _ in range(30)]
    for tokens_max in (300, 2_000, 9_000):
        assert dense_tokens(rendered(*session, tokens_max=tokens_max)) <= tokens_max


@needs_shared
def test_a_session_of_the_original_has_the_same_rows() -> None:
    """Who speaks, in which order, and what they say; secrets are masked here only."""
    recorded = shared("requests/v2.phase1_transcript.txt").read_text("utf-8")
    thread_id = ThreadId("01a22885-a84d-73b3-9289-cd655708d96d")
    [path] = shared("rollouts").glob(f"*{thread_id}.jsonl")
    ours = render_tiered(
        hear(path, thread_id=thread_id, cwd="/home/user/proj_b", git_branch=None),
        tokens_max=150_000,
    )
    theirs, made = (text.strip().split("\n") for text in (recorded, ours))
    assert made[::2] == theirs[::2]
    for one, other in zip(made[1::2], theirs[1::2], strict=True):
        mine, recorded_item = json.loads(one), json.loads(other)
        assert mine["role"] == recorded_item["role"]
        texts = (mine["content"][0]["text"], recorded_item["content"][0]["text"])
        if "FACT" not in texts[1]:
            assert texts[0][:190] == texts[1][:190]  # what is shared was cut behind that
    assert "hunter2" in recorded and "hunter2" not in ours
