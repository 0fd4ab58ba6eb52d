"""How a consolidation ends: for whoever ordered it, and for the job's row."""

from dataclasses import dataclass, field, replace
from typing import Literal

from memory_write.ports import ModelUse
from state.errors import PathRefused, WorkspaceUnsafe

Status = Literal["published", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase2Report:
    """How a run ended; `reason` says why nothing was published."""

    status: Status
    reason: str | None = None
    edition_id: int | None = None
    use: ModelUse = field(default_factory=ModelUse)
    retry_at_ms: int | None = None
    withdrawn: bool = False
    """Whether code alone took out what inputs that went had supported."""
    lines_cut: int = 0
    ids_ignored: int = 0
    """Names of recaps and threads that were no inputs and were left out."""

    def then(self, follow: "Phase2Report") -> "Phase2Report":
        """This withdrawal and the run that came after it, as one."""
        if follow.status in ("unchanged", "skipped"):
            return self
        return replace(
            follow,
            edition_id=self.edition_id if follow.edition_id is None else follow.edition_id,
            withdrawn=True,
            lines_cut=self.lines_cut + follow.lines_cut,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run published nothing, and when it may be tried again."""

    reason: str
    retry_at_ms: int
    uses_retry: bool = False


def reason_of(error: Exception) -> str:
    """What went wrong with a run that nothing else explains, as its row tells it."""
    match error:
        case WorkspaceUnsafe():
            return f"workspace_unsafe: {error.reason}"
        case PathRefused():
            return f"workspace_refused: {error}"
        case OSError():
            return f"files: {error.strerror or type(error).__name__}"
        case _:
            return f"internal: {type(error).__name__}"
