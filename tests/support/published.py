"""A published memory of version 1, small enough to be compared whole."""

from pathlib import Path

from state.workspace.repo import Baseline
from state.workspace.snapshot import take_snapshot
from tests.support.rows import NOW_MS

SUMMARY = """v1

## User Profile
Writes Python.

## User preferences
- Small commits.

## General Tips
- Run `make check`.

## What's in Memory
- [app] how tests run
"""
HANDBOOK = (
    "# Handbook\n\n- tests run with make check\n- rollout 0194f5a6-89ab-7cde-8123-000000000001\n"
)


def publish(folder: Path) -> None:
    """Make what stands in the folder the published state."""
    snapshot = take_snapshot(folder, files_max=1_000, bytes_max=10_000_000)
    Baseline(folder).fresh_commit(snapshot, "edition", NOW_MS // 1000)
