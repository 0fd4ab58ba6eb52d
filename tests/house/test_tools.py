"""Format, lint and types: one gate, the suite."""

import subprocess
import sys

import pytest

from tests.support.source import ROOT


def _run(*arguments: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


def test_the_tree_is_formatted() -> None:
    """`ruff format` would change nothing."""
    _run("ruff", "format", "--check", ".")


def test_the_linter_is_content() -> None:
    """`ruff check` finds nothing."""
    _run("ruff", "check", ".")


@pytest.mark.timeout(600)
def test_the_types_hold_strictly() -> None:
    """`mypy --strict` over rooms and tests."""
    _run("mypy")
