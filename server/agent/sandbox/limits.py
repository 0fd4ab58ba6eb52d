"""Bounds of one confined command, each for one process of it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyLimits:
    """Bounds of the look for repositories inside writable folders, before each command.

    The nearest folders are looked at first, so what lies beyond is deep or one of very many.
    """

    folders_max: int = 1_000
    entries_max: int = 20_000
    depth_max: int = 8
    found_max: int = 64
    inner_max: int = 256
    """What stays writable of a folder that may not change itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Generous for builds, narrow enough that a runaway does not take the machine along."""

    processes_max: int = 4_096
    """Of the sandbox; where the server runs as root the kernel does not count, so we do."""
    private_bytes_max: int = 16 << 30
    """Writable private memory; what is only reserved does not count."""
    file_bytes_max: int = 16 << 30
    open_files_max: int = 65_536
    cpu_seconds_max: int = 6 * 3_600

    def as_rlimits(self) -> Mapping[str, int]:
        """By the names of the system."""
        return {
            "RLIMIT_CORE": 0,
            "RLIMIT_NPROC": self.processes_max,
            "RLIMIT_DATA": self.private_bytes_max,
            "RLIMIT_FSIZE": self.file_bytes_max,
            "RLIMIT_NOFILE": self.open_files_max,
            "RLIMIT_CPU": self.cpu_seconds_max,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimits:
    """Bounds of the test that a sandbox must pass before it is used."""

    seconds_max: int = 20
    answer_bytes_max: int = 65_536
