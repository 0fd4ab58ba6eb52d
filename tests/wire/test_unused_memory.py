"""Memory that is switched off is not lost without a word: where it lies, and what says so."""

import logging
from pathlib import Path

import pytest

from server.settings import load_settings
from server.unused_memory import unused_memory
from state.home import Home
from tests.support.homes import serving


def kept(folder: Path) -> Home:
    """A home with a little memory of version 1."""
    home = Home(folder / "home")
    home.prepare()
    home.memories("v1").mkdir()
    (home.memories("v1") / "memory_summary.md").write_text("v1\n- likes tea\n")
    return home


CASES = (
    ("[features]\nmemories = false\n", (), None, "`features.memories = false` in {config}:2"),
    (
        "[memories]\n# by another tool\nuse_memories = false\n",
        (),
        None,
        "`memories.use_memories = false` in {config}:3",
    ),
    (
        "",
        ("memories.use_memories=false",),
        None,
        "`memories.use_memories = false`, given when the server was started",
    ),
    ("", (), "off", "MEMORYD_USE_MEMORIES in the environment of the server"),
)


@pytest.mark.requirement("FR-U9")
@pytest.mark.parametrize(("config", "overrides", "variable", "by"), CASES)
def test_the_switch_is_named_with_its_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    overrides: tuple[str, ...],
    variable: str | None,
    by: str,
) -> None:
    """By the file and its line, by the command line, by the environment."""
    home = kept(tmp_path)
    home.config.write_text(config)
    if variable is not None:
        monkeypatch.setenv("MEMORYD_USE_MEMORIES", variable)
    settings = load_settings(home, overrides)
    said = unused_memory(home, settings.memory_off_by)
    assert said is not None
    assert f"memory is kept in {home.memories('v1')} (1 file)" in said
    assert by.format(config=home.config) in said


@pytest.mark.requirement("FR-U9")
def test_nothing_is_said_where_memory_is_used_or_nothing_is_kept(tmp_path: Path) -> None:
    """No word without a reason."""
    home = kept(tmp_path)
    assert unused_memory(home, load_settings(home).memory_off_by) is None
    (home.memories("v1") / "memory_summary.md").unlink()
    home.config.write_text("[features]\nmemories = false\n")
    assert unused_memory(home, load_settings(home).memory_off_by) is None


@pytest.mark.requirement("FR-U9")
async def test_a_server_says_it_once_and_its_overview_when_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log at its start; a person who asks gets the same sentence, and no memory text."""
    home = kept(tmp_path)
    with caplog.at_level(logging.WARNING):
        async with serving(tmp_path, config="[memories]\nuse_memories = false\n") as running:
            async with running.wire.client("pair") as client:
                for _ in range(2):
                    result = await client.request("memory/overview", {})
                    [note] = [one for one in result["notes"] if "no thread is told of it" in one]
    assert str(home.memories("v1")) in note and "tea" not in note
    assert [record.getMessage() for record in caplog.records].count(note) == 1
