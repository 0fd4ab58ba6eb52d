"""What every test shares: nothing of the user's own home or keys is ever read or written."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Homes in a temporary folder, and no key that would reach a real provider."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    # The same on every machine, whether the extra `semantic` is there or not.
    monkeypatch.setenv("MEMORYD_SEMANTIC_SEARCH", "off")
    monkeypatch.setenv("MEMORYD_HOME", str(tmp_path / "unused-home"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked slow unless it was asked for."""
    if config.getoption("-m"):
        return
    skip = pytest.mark.skip(reason="slow: run with -m slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)
