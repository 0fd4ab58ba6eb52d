"""The judgement of a staged folder, over snapshots made by hand."""

from dataclasses import replace

import pytest

from memory_write.limits import Phase2Limits
from memory_write.phase2.sources import cited_in, compare_sources, published_sources
from memory_write.phase2.verify import Case, artefact_findings, judge, share_removed
from memory_write.recipes import V1
from state.workspace.snapshot import FileContent, Snapshot
from tests.support.consolidators import SUMMARY

ONE = "01a22885-8dbe-7421-9db2-2b79cd77fa67"
TWO = "01a22885-8fee-7c31-85b4-3360a829bf3c"
GHOST = "01a22885-0000-7000-8000-000000000000"
NAMES = {ONE: "2026-11-29T18-16-10-i49F-one.md", TWO: "2026-11-29T18-16-11-VV9i-two.md"}
WORDS = " ".join(f"word{number}" for number in range(100))


def _handbook(*thread_ids: str, words: str = WORDS) -> str:
    return "\n".join(
        f"# Task Group: {one}\n\n- rollout_summaries/{NAMES[one]} (thread_id={one})\n\n{words}\n"
        for one in thread_ids
    )


def _folder(handbook: str, *thread_ids: str, recap: str = "text", **more: str) -> Snapshot:
    texts = {"MEMORY.md": handbook, "memory_summary.md": SUMMARY, **more}
    for one in thread_ids:
        texts[f"rollout_summaries/{NAMES[one]}"] = f"thread_id: {one}\n\n{recap}\n"
    return Snapshot(
        files={path: FileContent(data=text.encode()) for path, text in sorted(texts.items())}
    )


def _case(published: Snapshot, written: Snapshot, offered: Snapshot | None = None) -> Case:
    offered = offered or written
    before, after = published_sources(published), published_sources(offered)
    return Case(
        recipe=V1,
        limits=Phase2Limits(),
        published=published,
        offered=offered,
        written=written,
        published_sources=before,
        sources=after,
        inputs=compare_sources(before, after),
        holds_secret=lambda text: "SECRET" in text,
    )


def _said(case: Case) -> list[str]:
    return [str(finding) for finding in judge(case)]


def test_a_sound_folder_has_nothing_against_it() -> None:
    published = _folder(_handbook(ONE), ONE)
    assert _said(_case(published, _folder(_handbook(ONE, TWO), ONE, TWO))) == []
    assert _said(_case(Snapshot(files={}), _folder(_handbook(ONE), ONE))) == []


@pytest.mark.requirement("MW-8.3-v1-summary")
def test_the_first_line_and_the_four_headings_must_be_there() -> None:
    for summary, finding in (
        ("", "empty in memory_summary.md"),
        (SUMMARY.replace("v1\n", "v2\n", 1), "first_line in memory_summary.md: must be v1"),
        (f"\n{SUMMARY}", "first_line in memory_summary.md: must be v1"),
        (
            SUMMARY.replace("## What's in Memory", "## What is in Memory"),
            "heading_missing in memory_summary.md: ## What's in Memory",
        ),
    ):
        folder = _folder(_handbook(ONE), ONE, **{"memory_summary.md": summary})
        assert [str(one) for one in artefact_findings(folder, V1)] == [finding]
    crlf = _folder(_handbook(ONE), ONE, **{"memory_summary.md": SUMMARY.replace("\n", "\r\n")})
    assert artefact_findings(crlf, V1) == ()


def test_secrets_and_bad_bytes_are_found_in_what_the_agent_writes_only() -> None:
    written = _folder(_handbook(ONE), ONE, recap="SECRET", **{"skills/a/x.md": "SECRET"})
    assert _said(_case(Snapshot(files={}), written)) == ["secret in skills/a/x.md"]
    files = {**written.files, "skills/a/x.md": FileContent(data=b"\xff")}
    assert _said(_case(Snapshot(files={}), Snapshot(files=files))) == ["not_text in skills/a/x.md"]


def test_a_recap_or_thread_that_is_no_input_must_not_be_named() -> None:
    handbook = (
        _handbook(ONE)
        + f"- rollout_summaries/ghost.md\n- {NAMES[TWO]}\n- thread_id: `{GHOST}`\n"
        + f"- the request {GHOST} failed, see rollout_summaries/\n"
    )
    assert _said(_case(Snapshot(files={}), _folder(handbook, ONE))) == [
        f"recap_unknown in MEMORY.md: {NAMES[TWO]}",
        "recap_unknown in MEMORY.md: ghost.md",
        f"thread_unknown in MEMORY.md: {GHOST}",
    ]


@pytest.mark.requirement("MW-9-6")
def test_a_topic_whose_inputs_stand_may_be_reworded_and_not_dropped() -> None:
    published = _folder(_handbook(ONE, TWO), ONE, TWO)
    reworded = f"# Task Group: both\n\n{WORDS} {WORDS}\n- {NAMES[ONE]}\n- thread_id={TWO}\n"
    assert _said(_case(published, _folder(reworded, ONE, TWO))) == []
    dropped = _folder(_handbook(ONE), ONE, TWO)
    assert _said(_case(published, dropped)) == [f"topic_removed in MEMORY.md: {TWO}"]
    without = _folder(_handbook(ONE), ONE)
    assert _said(_case(published, without)) == [], "its input went, so may the topic"


@pytest.mark.parametrize(
    ("kept", "findings"),
    [(60, []), (30, ["share_removed in MEMORY.md: 57 percent, at most 50"])],
)
def test_most_of_the_text_may_not_go_while_its_inputs_stand(kept: int, findings: list[str]) -> None:
    published = _folder(_handbook(ONE, TWO), ONE, TWO)
    words = " ".join(WORDS.split()[:kept])
    case = _case(published, _folder(_handbook(ONE, TWO, words=words), ONE, TWO))
    assert _said(case) == findings


def test_more_may_go_the_more_inputs_went_or_changed() -> None:
    published = _folder(_handbook(ONE, TWO), ONE, TWO)
    left = _folder(_handbook(ONE, words="new"), ONE)
    assert _said(_case(published, left)) == []
    changed = _folder(_handbook(ONE, TWO, words="new"), ONE, TWO, recap="other text")
    assert _said(_case(published, changed)) == []


def test_inputs_must_stand_as_they_were_offered() -> None:
    offered = _folder(_handbook(ONE), ONE, **{"raw_memories.md": "a", "notes": "b"})
    written = _folder(_handbook(ONE), ONE, **{"raw_memories.md": "x", "README.md": "c"})
    assert _said(_case(Snapshot(files={}), written, offered)) == [
        "input_touched in README.md",
        "input_touched in notes",
        "input_touched in raw_memories.md",
    ]


def test_links_are_named_and_sizes_are_held() -> None:
    written = replace(_folder(_handbook(ONE), ONE), odd=("skills/\udcff",))
    assert _said(_case(Snapshot(files={}), written)) == ["link_or_special_file in skills/?"]
    case = _case(Snapshot(files={}), _folder(_handbook(ONE), ONE))
    limits = Phase2Limits(file_bytes_max=500, folder_bytes_max=1_000, folder_files_max=2)
    assert _said(replace(case, limits=limits)) == [
        "too_large in MEMORY.md: at most 500 bytes",
        "too_large in .: at most 1000 bytes",
        "too_many_files in .: at most 2",
    ]


def test_findings_are_bounded() -> None:
    many = "\n".join(f"rollout_summaries/{number}.md" for number in range(1_000))
    assert len(_said(_case(Snapshot(files={}), _folder(many, ONE)))) == 50


def test_the_share_removed_counts_words_whatever_their_order() -> None:
    assert share_removed("a b c d", "d c b a") == 0
    assert share_removed("a b c d", "a b") == 50
    assert share_removed("a a a a", "a") == 75
    assert share_removed("", "") == 0


def test_citations_are_read_in_the_forms_that_handbooks_use() -> None:
    cited = cited_in(
        f"- rollout_summaries/{NAMES[ONE]} (cwd=/x, thread_id={TWO.upper()}, x=1)\n"
        f"see `{NAMES[TWO]}`, thread_id: {ONE}; ## Thread `{GHOST}`"
    )
    assert cited.names == set(NAMES.values())
    assert cited.thread_ids == {ONE, TWO}
