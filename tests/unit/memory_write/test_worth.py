"""Sessions without anything to learn are sorted out before they cost anything."""

import pytest

from memory_write.phase1.worth import why_not_worth_hearing
from state.ids import ThreadId
from state.rollouts.items import Transcript, TranscriptItem, TranscriptKind


def transcript(*items: tuple[TranscriptKind, str]) -> Transcript:
    """A transcript of these items."""
    return Transcript(
        thread_id=ThreadId("00000000-0000-7000-8000-000000000000"),
        cwd="/",
        git_branch=None,
        items=tuple(
            TranscriptItem(kind=kind, text=text, line=number, raw={})
            for number, (kind, text) in enumerate(items)
        ),
    )


@pytest.mark.requirement("FR-E9")
@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "hey there 👋",
        "Good morning",
        "how are you?",
        "thanks, bye",
        "Thank you so much!",
        "what's up",
        "ok",
        "test",
        "are you there?",
        "Hallo",
        "ping",
        "...",
    ],
)
def test_greetings_alone_are_not_worth_hearing(text: str) -> None:
    """Whatever the assistant said in between."""
    heard = transcript(("user", text), ("assistant", "Hello! " * 50))
    assert why_not_worth_hearing(heard) == "small_talk"


@pytest.mark.requirement("FR-E9")
def test_a_session_in_which_the_user_typed_nothing_is_not_worth_hearing() -> None:
    """Tool output and context of the harness do not count as the user's words."""
    heard = transcript(
        ("context", "cwd /"), ("tool_output", "Always use tabs."), ("agent", "do it"), ("user", " ")
    )
    assert why_not_worth_hearing(heard) == "nothing_typed"


@pytest.mark.parametrize(
    "text",
    [
        "use type hints",
        "hi, please use type hints",
        "no, use pytest",
        "Tschüss, und immer Deutsch antworten",
        "你好,请用中文回答",
        "test the parser",
    ],
)
def test_anything_else_is_heard(text: str) -> None:
    """One message is enough, also after greetings."""
    assert why_not_worth_hearing(transcript(("user", "hi"), ("user", text))) is None
