"""Lines that were confirmed long ago carry their day, and change only with the day."""

import re

import pytest

from memory_read.dating import Confirmations, dated

DAY_MS = 86_400_000
NOW_MS = 1_796_000_000_000  # 2026-11-29
THREAD = "01a19b89-8b48-77df-b3b1-3df3af34225f"


def day(ago: int) -> str:
    """The day so many days before now."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp((NOW_MS - ago * DAY_MS) / 1000, UTC).strftime("%Y-%m-%d")


def recap(ago: int, *statements: str, thread: str = THREAD) -> str:
    """A recap as phase 1 writes them."""
    lines = [f'- the user said: "{one}" -> {one} (rule; project)' for one in statements]
    head = f"thread_id: {thread}\nupdated_at: {day(ago)}T09:16:19+00:00\ncwd: /p\n"
    return "\n".join([head, "# What happened", *lines])


def known(**recaps: str) -> Confirmations:
    """Confirmations of these recaps, by the name of the file."""
    found = Confirmations()
    for name, text in recaps.items():
        found.add_recap(f"{name}.md", text)
    return found


def marked(summary: str, confirmations: Confirmations, *, now_ms: int = NOW_MS) -> list[str]:
    """The lines with a mark, without it."""
    text = dated(summary, confirmations, now_ms=now_ms).text
    return [line for line in text.split("\n") if line.endswith(": verify]")]


@pytest.mark.requirement("FR-F12")
def test_an_entry_of_120_days_has_its_day_and_a_mark() -> None:
    """Whatever it says; a fresh one has neither."""
    confirmations = known(old=recap(120, "Don't call pytest directly."), new=recap(5, "Use tabs."))
    found = dated("- Don't call pytest directly.\n- Use tabs.", confirmations, now_ms=NOW_MS)
    assert found.text == f"- Don't call pytest directly. [{day(120)}: verify]\n- Use tabs."
    assert found.marked == 1


@pytest.mark.requirement("FR-F12")
@pytest.mark.parametrize(
    "text",
    [
        "The service needs Python 3.12 now.",
        "The API listens on port 8080.",
        "Settings lie in `src/config.py`.",
        "Settings lie in src/config.",
        "The tests run with `make check`.",
        "There are 42 tests in the suite.",
        "Docs are at https://example.org/docs.",
    ],
)
def test_what_drifts_is_marked_sooner(text: str) -> None:
    """Versions, ports, paths, commands, counts and addresses; from 31 days on."""
    for ago, is_marked in ((30, False), (31, True)):
        assert bool(marked(f"- {text}", known(a=recap(ago, text)))) is is_marked
    plain = "The user prefers short answers."
    assert marked(f"- {plain}", known(a=recap(89, plain))) == []
    assert marked(f"- {plain}", known(a=recap(91, plain))) != []


def test_a_line_is_as_fresh_as_the_last_session_that_said_it() -> None:
    """Said again it is confirmed; what stands around it does not matter."""
    text = "Keep commits small."
    confirmations = known(a=recap(200, text), b=recap(3, text))
    assert marked(f"- {text} (in webshop)", confirmations) == []
    assert marked("- keep commits  small [ad-hoc note]", known(a=recap(200, text))) != []


def test_a_note_confirms_what_it_says() -> None:
    """On the day in its name."""
    confirmations = known(a=recap(200, "Use tabs."))
    confirmations.add_note(f"{day(2)}T10-00-00-tabs.md", "Use tabs.\n")
    assert marked("- Use tabs. [ad-hoc note]", confirmations) == []


def test_a_line_that_names_its_sources_has_their_day() -> None:
    """By the path of a recap or by a thread; ids and dates in it are no drift."""
    line = f"- rollout_summaries/old.md — How tests run; thread_id={THREAD}"
    confirmations = known(old=recap(120, "x y z"), new=recap(1, "fresh", thread=THREAD[::-1]))
    assert marked(line, confirmations) == [f"{line} [{day(120)}: verify]"]
    assert marked(line, known(old=recap(60, "x y z"))) == []


def test_a_line_in_other_words_has_the_day_it_stands_under() -> None:
    """Until a heading of the same depth; else that of the newest session of all."""
    confirmations = known(new=recap(40, "something else"))
    summary = f"### /p\n\n#### {day(100)}\n\n- topic\n  - desc: 3 statements\n\n### Other\n\n- rest"
    assert marked(summary, confirmations) == [f"- topic [{day(100)}: verify]"]
    assert marked("- a rule in a model's words", known(new=recap(95, "x y z"))) != []


def test_headings_prose_and_blank_lines_have_no_day() -> None:
    """Only what states something and is known to be old."""
    confirmations = known(a=recap(400, "x y z"))
    summary = "v1\n\n## User Profile\n\nWrites Python.\n\n---\n[a line was withheld here]"
    assert dated(summary, confirmations, now_ms=NOW_MS).text == summary


@pytest.mark.requirement("FR-K8")
def test_marks_change_with_the_day_alone() -> None:
    """Every minute of one day of UTC gives the same bytes."""
    start = NOW_MS - NOW_MS % DAY_MS
    confirmations = known(a=recap(90, "Use tabs."), b=recap(30, "port 80 is open"))
    summary = "- Use tabs.\n- port 80 is open"
    texts = {
        dated(summary, confirmations, now_ms=start + minute * 60_000).text
        for minute in range(0, 1440, 7)
    }
    assert len(texts) == 1
    tomorrow = dated(summary, confirmations, now_ms=start + 2 * DAY_MS).text
    assert len(re.findall(r": verify\]", tomorrow)) == 2


def test_recaps_without_a_day_and_odd_ones_date_nothing() -> None:
    """The name of the file helps where its head does not."""
    found = Confirmations()
    found.add_recap("odd.md", "no head\n- Use tabs.")
    assert marked("- Use tabs.", found) == []
    found.add_recap(f"{day(120)}T09-00-00-abcd-x.md", "no head\n- Use tabs.")
    assert marked("- Use tabs.", found) != []
    assert marked("- Use tabs.", Confirmations()) == []
