"""How a consolidation ends: for whoever ordered it, and for the job's row."""

from dataclasses import dataclass, field
from typing import Literal

from memory_write.ports import ModelUse

Status = Literal["published", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase2Report:
    """How a run ended; `reason` says why nothing was published."""

    status: Status
    reason: str | None = None
    edition_id: int | None = None
    use: ModelUse = field(default_factory=ModelUse)
    retry_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run published nothing, and when it may be tried again."""

    reason: str
    retry_at_ms: int
    uses_retry: bool = False
