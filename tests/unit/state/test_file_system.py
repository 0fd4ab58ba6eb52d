"""From a table of mounts to the kind of file system under a folder."""

from pathlib import Path

import pytest

from state.file_system import FileSystem, file_system_of

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / {root} rw,relatime - nfs4 server:/export rw
31 30 0:26 / {root}/local\\040disk rw - xfs /dev/sdb1 rw
32 30 0:27 / {root}/share rw - tmpfs tmpfs rw
33 30 0:28 / {root}/share rw - cifs //server/share rw
not a line of that kind
"""


@pytest.mark.requirement("FR-S3")
@pytest.mark.parametrize(
    ("folder", "kind", "shared"),
    [
        (".", "nfs4", True),
        ("deep/er", "nfs4", True),
        ("local disk/home", "xfs", False),
        ("share", "cifs", True),
    ],
)
def test_the_nearest_and_last_mount_counts(
    tmp_path: Path, folder: str, kind: str, shared: bool
) -> None:
    """Blanks in a path are written as codes, and a later mount covers an earlier one."""
    table = tmp_path / "mounts"
    table.write_text(MOUNTS.format(root=tmp_path))
    found = file_system_of(tmp_path / folder, table)
    assert (found.kind, found.shared) == (kind, shared)


def test_a_system_that_tells_nothing_counts_as_local(tmp_path: Path) -> None:
    """There the database is kept as everywhere."""
    assert file_system_of(tmp_path, tmp_path / "none") == FileSystem(None)
    assert not FileSystem(None).shared
