"""Why a job may not be claimed now, from what a claim finds of it; pure.

Invariant: no instant that was stored under a clock which was wrong binds for longer than one that
was stored under a right one could.
"""

from dataclasses import dataclass
from typing import Literal

JobStatus = Literal["pending", "running", "done", "failed"]
SkipReason = Literal["up_to_date", "running", "capped", "alone", "backoff", "exhausted", "cooldown"]

LEASE_MAX_MS = 3_600_000
"""The longest lease; one that ends further ahead was written by a clock that was wrong."""
RETRY_MAX_MS = 86_400_000
"""The longest wait for another try; one that ends further ahead was written by such a clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The job is not to be done now."""

    reason: SkipReason
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A job as a claim finds it; a job that is not there looks as if never tried."""

    status: JobStatus | None
    lease_until_ms: int | None
    retry_at_ms: int
    attempts_left: int
    watermark_ms: int | None
    done_ms: int
    cooldown_from_ms: int | None
    others_running: int
    deaths: int
    """How often in a row a process died over it."""
    suspects_running: int
    """Others that run and over which a process died before."""

    def is_newer(self, watermark_ms: int) -> bool:
        """Whether the source changed since the job was last tried."""
        return watermark_ms > (-1 if self.watermark_ms is None else self.watermark_ms)

    def is_held(self, now_ms: int) -> bool:
        """Whether a worker holds it with a lease that has not ended."""
        return is_held(self.status, self.lease_until_ms, now_ms)

    def waits(self, now_ms: int) -> bool:
        """Whether it failed so lately that it is not tried again yet."""
        return 0 < self.retry_at_ms - now_ms <= RETRY_MAX_MS


def is_held(status: str | None, lease_until_ms: int | None, now_ms: int) -> bool:
    """Whether a job runs under a lease that binds at that time.

    One that was left by a clock far ahead would bind for as long as that clock was wrong. A holder
    that lives renews its lease by the present clock with its next heartbeat.
    """
    ahead_ms = (lease_until_ms or 0) - now_ms
    return status == "running" and 0 < ahead_ms <= LEASE_MAX_MS


def extraction_refusal(
    seen: Seen, watermark_ms: int, now_ms: int, running_max: int
) -> Skipped | None:
    """Why an extraction of the source at that watermark is not begun; None when it is."""
    newer = seen.is_newer(watermark_ms)
    if seen.done_ms >= watermark_ms:
        return Skipped(reason="up_to_date")
    if seen.attempts_left <= 0 and not newer:
        return Skipped(reason="exhausted")
    if seen.waits(now_ms) and not newer:
        return Skipped(reason="backoff", until_ms=seen.retry_at_ms)
    if seen.is_held(now_ms):
        return Skipped(reason="running", until_ms=seen.lease_until_ms)
    if seen.suspects_running or (seen.deaths and seen.others_running):
        # Over one of them a process died. It runs alone, so that its next death is no other's.
        return Skipped(reason="alone")
    if seen.others_running >= running_max:
        return Skipped(reason="capped")
    return None


def consolidation_refusal(seen: Seen, now_ms: int, cooldown_ms: int) -> Skipped | None:
    """Why a consolidation is not begun; None when it is."""
    if seen.waits(now_ms):
        return Skipped(reason="backoff", until_ms=seen.retry_at_ms)
    if seen.is_held(now_ms):
        return Skipped(reason="running", until_ms=seen.lease_until_ms)
    start_ms = seen.cooldown_from_ms
    # A start that lies ahead of now was written by a clock that was wrong; it binds nobody.
    if start_ms is not None and start_ms <= now_ms < start_ms + cooldown_ms:
        return Skipped(reason="cooldown", until_ms=start_ms + cooldown_ms)
    return None
