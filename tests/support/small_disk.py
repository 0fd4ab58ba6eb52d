"""A small disk of its own, to be filled, emptied and made read-only; needs root on Linux."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FILLER = "filler"
_BLOCK = bytes(65_536)


class SmallDisk:
    """A mounted tmpfs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fill(self) -> None:
        """Leave not one block free."""
        descriptor = os.open(self.root / FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (len(_BLOCK), 4_096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(descriptor, _BLOCK[:size])
        finally:
            os.close(descriptor)

    def fill_but(self, kib: int) -> None:
        """Leave so much and no more."""
        self.fill()
        filler = self.root / FILLER
        os.truncate(filler, max(0, filler.stat().st_size - kib * 1_024))

    def free(self) -> None:
        """Give the space back."""
        (self.root / FILLER).unlink(missing_ok=True)

    def read_only(self, yes: bool) -> None:
        """Let nobody write, or everybody again."""
        # With `-n` no table of mounts is written; open files keep a disk from becoming read-only,
        # so the mount point is covered by itself.
        _mount("-o", f"remount,{'ro' if yes else 'rw'}", str(self.root))


@contextlib.contextmanager
def small_disk(root: Path, *, mib: int = 8) -> Iterator[SmallDisk]:
    """A disk of that size at that folder; the test is skipped where none can be made."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a small disk needs root on Linux")
    root.mkdir(exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={mib}m,mode=700", "memoryd-test", str(root))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be mounted here ({error})")
    try:
        yield SmallDisk(root)
    finally:
        subprocess.run(["umount", "-l", str(root)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
