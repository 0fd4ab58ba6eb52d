"""Names of no input in a consolidator's text: left out, counted, never a deletion."""

import pytest

from memory_write.phase2.citations import tidy_citations
from memory_write.phase2.sources import Sources, cited_in
from state.ids import ThreadId

ONE = ThreadId("01a22885-8dbe-7421-9db2-2b79cd77fa67")
GHOST = "01a22885-0000-7000-8000-000000000000"
NAME = "2026-11-29T18-16-10-i49F-one.md"
OTHER = "2026-11-29T18-16-11-VV9i-two.md"
SOURCES = Sources(by_name={NAME: ONE}, texts={ONE: b""})


@pytest.mark.requirement("FR-E7")
@pytest.mark.parametrize(
    ("line", "left", "counted"),
    [
        (f"- rollout_summaries/{NAME} (cwd=/x, thread_id={ONE})", None, {}),
        (f"- rollout_summaries/{OTHER} (cwd=/x, thread_id={GHOST})", "", {"recap_unknown": 1}),
        (
            f"- rollout_summaries/{NAME} (cwd=/x, thread_id={GHOST})",
            f"- rollout_summaries/{NAME} (cwd=/x)",
            {"thread_unknown": 1},
        ),
        (
            f"- rollout_summaries/{NAME} (thread_id=42, cwd=/x)",
            f"- rollout_summaries/{NAME} (cwd=/x)",
            {"malformed": 1},
        ),
        (f"- likes tea (thread_id={GHOST})", "- likes tea", {"thread_unknown": 1}),
        (
            f"- {OTHER} \u2014 the user likes tea; thread_id={GHOST}",
            "- (source unknown) \u2014 the user likes tea",
            {"recap_unknown": 1, "thread_unknown": 1},
        ),
        (f"see `rollout_summaries/{OTHER}` for tea", "see (source unknown) for tea", None),
        ("the column thread_id: text, not null", None, {}),
        (f"the request {GHOST} failed", None, {}),
    ],
)
def test_a_name_of_no_input_is_taken_off_and_the_statement_stays(
    line: str, left: str | None, counted: dict[str, int] | None
) -> None:
    tidied = tidy_citations(f"# A\n\n{line}\n- kept\n", SOURCES)
    expected = line if left is None else left
    assert tidied.text == f"# A\n\n{expected}\n- kept\n".replace("\n\n\n", "\n\n")
    if counted is not None:
        assert dict(tidied.ignored) == counted
    assert cited_in(tidied.text).names <= {NAME}
    assert cited_in(tidied.text).thread_ids <= {ONE}


@pytest.mark.requirement("FR-E7")
def test_a_pointer_that_stands_twice_under_one_task_stands_once() -> None:
    pointer = f"- rollout_summaries/{NAME} (thread_id={ONE})"
    text = f"## Task 1\n\n{pointer}\n{pointer}\n\n## Task 2\n\n{pointer}\n"
    tidied = tidy_citations(text, SOURCES)
    assert tidied.text == f"## Task 1\n\n{pointer}\n\n## Task 2\n\n{pointer}\n"
    assert dict(tidied.ignored) == {"duplicate": 1}
