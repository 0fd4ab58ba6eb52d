"""What the offline consolidator keeps of a person's edits and of restored memory, and where."""

from pathlib import Path

import pytest

from memory_write.hand_lines import places_of
from memory_write.offline.restored import RESTORED_HEADING, restored_entries
from state.workspace.layout import HANDBOOK, RESTORED, SUMMARY
from tests.support.offline_folder import Folder, thread_of


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "memories")


@pytest.mark.requirement("FR-C5")
async def test_hand_edits_are_kept_under_their_own_heading(folder: Folder) -> None:
    """Added lines stay, removed ones stay away, both from one edition to the next."""
    folder.hears((1, "/w/shop", ["I prefer small commits.", "I use vim."]))
    await folder.consolidate()
    handbook = folder.text(HANDBOOK).replace("- The user prefers small commits. [Task 1]\n", "")
    (folder.root / HANDBOOK).write_text(f"{handbook}\n- Ask Kim about releases.\n")
    summary = folder.text(SUMMARY).replace("## General Tips", "- Be kind.\n\n## General Tips")
    (folder.root / SUMMARY).write_text(summary)
    for _ in range(2):
        handbook, summary = await folder.consolidate()
        _, kept, kept_of_shop = handbook.split("## Kept as edited by hand")
        assert "- Be kind." in kept and "- Ask Kim about releases." in kept_of_shop
        kept = summary.split("### Kept as edited by hand")[1]
        assert "- Be kind.\n" in kept and "- Ask Kim about releases. (in shop)\n" in kept
        assert "small commits" not in handbook + summary
        assert "uses vim" in handbook + summary
    folder.hears((1, "/w/shop", ["I prefer small commits."]), (2, "/w/shop", ["I like it."]))
    handbook, summary = await folder.consolidate()
    assert "Ask Kim" in handbook and "prefers small commits" not in handbook + summary
    (folder.root / HANDBOOK).write_text(handbook.replace("- Ask Kim about releases.\n", ""))
    handbook, summary = await folder.consolidate()
    assert "Ask Kim" not in handbook + summary and "Be kind" in summary


@pytest.mark.requirement("FR-C5")
async def test_what_a_person_writes_inside_a_project_s_block_holds_for_that_project(
    folder: Folder,
) -> None:
    """From one edition to the next, also when nobody works there any more."""
    sessions = [(1, "/w/shop", ["I use vim."]), (2, "/w/blog", ["I write British English."])]
    folder.hears(*sessions)
    handbook, summary = await folder.consolidate()
    for cwd, line in (("/w/shop", "Ask Kim."), ("/w/blog", "Ask Lee.")):
        block = handbook[handbook.index(f"applies_to: cwd={cwd};") :]
        last = block.split("\n# Task Group")[0].rstrip()
        handbook = handbook.replace(last, f"{last}\n- {line}", 1)
    (folder.root / HANDBOOK).write_text(handbook)
    topics = summary.replace("### /w/shop\n", "### /w/shop\n\n- Ask Max.\n", 1)
    tips = "- Drink tea. (in shop)\n- Write in ink. (in x)\n\n## General Tips"
    (folder.root / SUMMARY).write_text(topics.replace("## General Tips", tips))
    wanted = {"Ask Kim.": "/w/shop", "Ask Lee.": "/w/blog", "Ask Max.": "/w/shop"}
    wanted |= {"Drink tea.": "/w/shop", "Write in ink. (in x)": ""}
    for heard in (sessions, sessions, sessions[:1], []):
        folder.hears(*heard)
        handbook, summary = await folder.consolidate()
        places = dict(zip(handbook.split("\n"), places_of(handbook), strict=True))
        assert {line: places.get(f"- {line}") for line in wanted} == wanted
        assert "- Ask Kim. (in shop)" in summary and "- Ask Lee. (in blog)" in summary


@pytest.mark.requirement("FR-C5")
async def test_a_line_that_a_person_moves_stays_theirs_and_holds_where_it_is_put(
    folder: Folder,
) -> None:
    """A statement of a session that is moved is told once, as before."""
    folder.hears((1, "/w/shop", ["I use vim.", "We deploy with make ship."]))
    await folder.consolidate()
    (folder.root / HANDBOOK).write_text(f"# Task Group: me\n\n- Tea.\n\n{folder.text(HANDBOOK)}")
    handbook, _ = await folder.consolidate()
    vim = "- The user uses vim. [Task 1]\n"
    assert handbook.count("- Tea.\n") == handbook.count(vim) == 1
    moved = handbook.replace("- Tea.\n", "").replace(vim, "")
    ours = moved.index("\n# Task Group: edits by hand")
    (folder.root / HANDBOOK).write_text(f"{moved[:ours]}- Tea.\n{vim}{moved[ours:]}")
    for _ in range(2):
        handbook, _ = await folder.consolidate()
        assert handbook.count("- Tea.\n") == handbook.count("uses vim. [") == 1
        lines = dict(zip(handbook.split("\n"), places_of(handbook), strict=True))
        assert lines["- Tea."] == "/w/shop"


async def test_a_lost_file_is_made_anew_and_forgets_nothing(folder: Folder) -> None:
    """A wiped handbook is no wish to have every line of it gone."""
    folder.hears((1, "/w/shop", ["I prefer small commits."]))
    first = await folder.consolidate()
    (folder.root / HANDBOOK).unlink()
    assert await folder.consolidate() == first
    (folder.root / HANDBOOK).write_text("")
    (folder.root / SUMMARY).unlink()
    assert await folder.consolidate() == first


async def test_a_hand_written_line_with_a_secret_or_a_lost_source_is_not_kept(
    folder: Folder,
) -> None:
    """It would not pass the gate, and a kept one would block every later edition."""
    folder.hears((1, "/w/shop", ["I use vim."]))
    await folder.consolidate()
    more = f'\n- password = "hunter2hunter2"\n- See thread_id={thread_of(77)}.\n- Tea at four.\n'
    (folder.root / HANDBOOK).write_text(folder.text(HANDBOOK) + more)
    handbook, _ = await folder.consolidate()
    assert "hunter2" not in handbook and str(thread_of(77)) not in handbook
    assert "Tea at four." in handbook


@pytest.mark.requirement("FR-U8")
async def test_restored_memory_stands_as_its_statements_and_yields_to_what_is_said_here(
    folder: Folder,
) -> None:
    """Of a restored handbook the lines are merged, apart from what the user said here."""
    resources = folder.root / RESTORED
    resources.mkdir(parents=True)
    (resources.parent / "instructions.md").write_text("# Restored\n")
    (resources / "0123456789abcdef-v1-handbook.md").write_text(
        "# Task Group: shop\n\nscope: shop\napplies_to: cwd=~/shop; reuse_rule=hold here\n\n"
        "## Task 1: deploys, success\n\n### keywords\n\n- deploys\n\n"
        "## User preferences\n\n- The user prefers deploys on Tuesday. [Task 1]\n"
        "- The user prefers tabs over spaces in Go. [Task 1]\n- [withheld: forgotten]\n\n"
        "## Reusable knowledge\n\n- The user lives in Lisbon. [Task 1]\n"
    )
    folder.hears((1, "/w/shop", ["I prefer small commits.", "I live in Hamburg."]))
    handbook, summary = await folder.consolidate()
    restored = handbook.split("# Task Group: restored from an export")[1]
    assert (
        "### Restored statements for ~/shop\n\n- The user prefers deploys on Tuesday." in restored
    )
    assert "deploys on Tuesday. (in restored memory)" in summary.split(RESTORED_HEADING)[1]
    for text in (handbook, summary):
        assert "Lisbon" not in text and "Hamburg" in text
        assert "withheld" not in text and "thread_id=restored" not in text
    assert "Tuesday" not in summary.split("## General Tips")[0]
    assert await folder.consolidate() == (handbook, summary)
    assert [one.cwd for one in restored_entries([handbook]) if "Tuesday" in one.text] == ["~/shop"]
    await _forgets_restored_lines(folder, handbook)


async def _forgets_restored_lines(folder: Folder, handbook: str) -> None:
    """Taken out by hand or by a note, a restored line stays away."""
    line = "- The user prefers deploys on Tuesday. [Task 1]\n"
    assert line in handbook
    (folder.root / HANDBOOK).write_text(handbook.replace(line, ""))
    folder.noted("2026-11-29T10-00-00-a.md", "Forget that tabs over spaces in Go.")
    for text in await folder.consolidate():
        assert "Tuesday" not in text and "tabs over spaces in Go. [" not in text


@pytest.mark.requirement("FR-U8")
@pytest.mark.parametrize("place", ["$FOLDER/shop", "git:git.example.org/acme/shop", "~/shop"])
async def test_a_restored_statement_of_a_project_that_says_the_same_here_stands_once(
    folder: Folder, place: str
) -> None:
    """Under the project's own folder; what a project of another name says stands beside it."""
    restored = folder.root / RESTORED
    restored.mkdir(parents=True)
    (restored.parent / "instructions.md").write_text("# Restored\n")
    (restored / "0123456789abcdef-v1-handbook.md").write_text(
        f"# Task Group: shop\n\nscope: shop\napplies_to: cwd={place}; reuse_rule=hold here\n\n"
        "## User preferences\n\n- In this repo, type hints on every function. [Task 1]\n"
        "- In this repo, never push to main. [Task 1]\n"
    )
    (restored / "0123456789abcdef-v1-summary.md").write_text(
        "v1\n\n## User preferences\n\n- In this repo, keep lines under 90 signs. (in shop)\n"
    )
    said = [
        "In this repo, always put type hints on every function.",
        "In this repo, keep lines under 90 signs.",
    ]
    folder.hears((1, "/w/shop", said), (2, "/w/blog", ["In this repo, never push to main."]))
    handbook, summary = await folder.consolidate()
    own, apart = handbook.split("# Task Group: restored from an export")
    for text in ("type hints on every function", "lines under 90 signs"):
        assert text in own.split("applies_to: cwd=/w/shop")[1]
        assert text not in apart + summary.split(RESTORED_HEADING)[1]
    assert f"### Restored statements for {place}\n" in apart
    assert "never push to main" in own and "never push to main" in apart


@pytest.mark.requirement("FR-U8")
async def test_a_restored_line_of_a_summary_holds_where_it_held(folder: Folder) -> None:
    """It names its project behind the statement; without a handbook that is all there is."""
    [entry] = restored_entries(["## User preferences\n\n- Lines under 90 signs. (in shop)\n"])
    assert (entry.text, entry.cwd) == ("Lines under 90 signs.", "$FOLDER/shop")
    text = "### Restored from an export\n\n- Lines under 90 signs. (in restored memory)\n"
    assert [one.cwd for one in restored_entries([text])] == [""]
