"""Which kind of file system a home lies on, since databases on shared ones need another way.

A write-ahead log needs memory that is shared between processes and locks that hold; network file
systems give neither for sure. There the database keeps a rollback journal instead.
"""

from dataclasses import dataclass
from pathlib import Path

SHARED_KINDS = frozenset(
    {
        "nfs", "nfs4", "afs", "cifs", "smb2", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre",
        "beegfs", "gpfs", "ncpfs", "coda", "davfs", "prl_fs", "vboxsf", "vmhgfs", "virtiofs",
        "webdav", "afpfs", "drvfs", "acfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone",
        "fuse.glusterfs", "fuse.davfs", "fuse.vmhgfs-fuse", "fuse.grpcfuse", "fuse.osxfs",
    }
)  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The file system of a folder."""

    kind: str | None
    """As the kernel names it; None where it does not tell."""

    @property
    def shared(self) -> bool:
        """Whether other machines or systems may use it at the same time."""
        return self.kind in SHARED_KINDS


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> FileSystem:
    """The file system that a folder lies on; blocking."""
    try:
        text = mounts.read_text("utf-8", "surrogateescape")
        wanted = folder.resolve()
    except OSError:
        # Not Linux, or a kernel that hides it: as good as a local disk, the usual case.
        return FileSystem(None)
    best: tuple[int, str | None] = (-1, None)
    for line in text.splitlines():
        before, bar, after = line.partition(" - ")
        fields = before.split(" ")
        if not bar or len(fields) < 5 or not after:
            continue
        place = Path(_unescaped(fields[4]))
        depth = len(place.parts)
        # The last mount on a place covers those before it.
        if depth >= best[0] and wanted.is_relative_to(place):
            best = (depth, after.split(" ", 1)[0])
    return FileSystem(best[1])


def _unescaped(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
