"""Recorded facts of the original, where they lie beside the checkout; absent in a clean clone."""

from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
SHARED: Path | None = _BESIDE if _BESIDE.is_dir() else None
needs_shared = pytest.mark.skipif(SHARED is None, reason="the recorded data is not beside the tree")


def shared(*parts: str) -> Path:
    """A path in the recorded data; call only behind `needs_shared`."""
    assert SHARED is not None
    return SHARED.joinpath(*parts)
