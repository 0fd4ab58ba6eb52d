"""Folders that keep a name taken while commands run."""

from pathlib import Path

from server.agent.sandbox.placeholders import Placeholders


def test_it_goes_with_the_last_command_that_needs_it(tmp_path: Path) -> None:
    """Of two at once."""
    place, placeholders = tmp_path / ".codex", Placeholders()
    first, second = placeholders.hold((str(place),)), placeholders.hold((str(place),))
    assert first == second == (str(place),)
    placeholders.let_go(first)
    assert place.is_dir()
    placeholders.let_go(second)
    assert not place.exists()


def test_what_somebody_else_made_stays(tmp_path: Path) -> None:
    """Before it, or inside it."""
    place, placeholders = tmp_path / ".codex", Placeholders()
    place.mkdir()
    assert placeholders.hold((str(place),)) == ()
    place.rmdir()
    held = placeholders.hold((str(place),))
    (place / "config.toml").write_text("x")
    placeholders.let_go(held)
    assert (place / "config.toml").exists()


def test_where_none_can_be_made_nothing_is_held(tmp_path: Path) -> None:
    """No command can make one there either."""
    assert Placeholders().hold((str(tmp_path / "missing" / ".codex"),)) == ()
