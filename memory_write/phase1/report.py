"""What one pass of phase 1 came to; a failure, a wait and an empty result are kept apart."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_write.phase1.commit import Delay, Ended
from memory_write.ports import ModelUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase1Report:
    """Counts of one pass; every claimed thread is in exactly one of the others."""

    claimed: int = 0
    succeeded: int = 0
    empty: int = 0
    """Heard, and nothing was worth keeping."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """By reason: model, reply, file, lost lease."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """By reason: not claimed, or claimed and made to wait (`budget`, `not_enabled`)."""
    use: ModelUse = field(default_factory=ModelUse)
    stopped_by: str | None = None
    """Why the pass claimed no more although there was more to do."""
    more: bool = False
    """Whether another pass would find work at once."""
    retry_at_ms: int | None = None
    """When what stopped the pass is over, where that is known."""

    @property
    def failures(self) -> int:
        """How many threads failed, for whatever reason."""
        return sum(self.failed.values())


class Tally:
    """Counts while a pass runs."""

    def __init__(self) -> None:
        self.claimed = 0
        self._ended: Counter[Ended] = Counter()
        self._failed: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._use = ModelUse()

    def skip(self, reason: str, count: int = 1) -> None:
        """Threads that were not worked on."""
        if count > 0:
            self._skipped[reason] += count

    def spend(self, use: ModelUse) -> None:
        """Tokens of one job."""
        self._use += use

    def end(self, ended: Ended, delay: Delay | None) -> None:
        """How one claimed job ended."""
        self._ended[ended] += 1
        if ended is Ended.FAILED:
            self._failed[_class_of(delay.reason) if delay else "unknown"] += 1
        elif ended is Ended.WAITING:
            self._skipped[delay.reason if delay else "not_enabled"] += 1

    def fail(self, reason: str) -> None:
        """A job that ended without a word in its row."""
        self._failed[reason] += 1

    def report(
        self, *, stopped_by: str | None, more: bool, retry_at_ms: int | None = None
    ) -> Phase1Report:
        """The counts as they stand."""
        return Phase1Report(
            claimed=self.claimed,
            succeeded=self._ended[Ended.LEARNED],
            empty=self._ended[Ended.EMPTY],
            failed=dict(self._failed),
            skipped=dict(self._skipped),
            use=self._use,
            stopped_by=stopped_by,
            more=more,
            retry_at_ms=retry_at_ms,
        )


def _class_of(reason: str) -> str:
    """`model:rateLimitExceeded: try later` and its like count as one reason."""
    return ":".join(reason.split(":")[:2])
