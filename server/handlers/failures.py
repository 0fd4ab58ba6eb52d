"""The one table from our errors to those of the wire; clients branch on `data.kind`.

The nearest class of an error's own counts. What is not in the table is unexpected: the dispatcher
gives it an incident number and tells nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory_write import errors as learning
from memory_write.ports import ModelFailed
from protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, WireError
from server import errors as own
from server.agent import errors as agent
from state import errors as lasting


@dataclass(frozen=True, slots=True)
class Failure:
    """How one class of errors goes out."""

    code: int
    kind: str
    retryable: bool = False
    sentence: Callable[[Exception], str] = str
    plain: bool = False
    """Without data, as the original sends it."""


def _not_cleared(error: Exception) -> str:
    """The sentence that clients of `memory/reset` know, with ours for every other place."""
    assert isinstance(error, lasting.WorkspaceUnsafe)
    return f"refusing to touch memory root {error.path}: {error.reason}"


FAILURES: Mapping[type[Exception], Failure] = {
    lasting.HomeUnusable: Failure(INTERNAL_ERROR, "homeUnusable"),
    lasting.HomeBusy: Failure(INTERNAL_ERROR, "homeBusy", retryable=True),
    lasting.DatabaseUnusable: Failure(INTERNAL_ERROR, "databaseUnusable"),
    lasting.DatabaseTooNew: Failure(INTERNAL_ERROR, "databaseTooNew"),
    lasting.DatabaseBroken: Failure(INTERNAL_ERROR, "databaseBroken"),
    lasting.DatabaseFull: Failure(INTERNAL_ERROR, "diskFull", retryable=True),
    lasting.JournalUnusable: Failure(INTERNAL_ERROR, "journalUnusable", retryable=True),
    lasting.DatabaseBusy: Failure(INTERNAL_ERROR, "databaseBusy", retryable=True),
    lasting.MigrationChanged: Failure(INTERNAL_ERROR, "migrationChanged"),
    lasting.RolloutMissing: Failure(INVALID_REQUEST, "rolloutMissing", plain=True),
    lasting.RolloutUnreadable: Failure(INTERNAL_ERROR, "rolloutUnreadable"),
    lasting.TurnMissing: Failure(INVALID_REQUEST, "turnMissing", plain=True),
    lasting.WorkspaceUnsafe: Failure(INTERNAL_ERROR, "workspaceUnsafe", sentence=_not_cleared),
    lasting.ExportRefused: Failure(INVALID_REQUEST, "exportRefused"),
    lasting.PathRefused: Failure(INVALID_REQUEST, "pathRefused"),
    lasting.LeaseLost: Failure(INTERNAL_ERROR, "leaseLost", retryable=True),
    learning.BadOutput: Failure(INTERNAL_ERROR, "badOutput", retryable=True),
    learning.NothingToImport: Failure(INVALID_REQUEST, "nothingToImport"),
    learning.WorkCancelled: Failure(INTERNAL_ERROR, "workCancelled", retryable=True),
    ModelFailed: Failure(INTERNAL_ERROR, "modelFailed", retryable=True),
    agent.ProviderFailed: Failure(INTERNAL_ERROR, "providerFailed", retryable=True),
    agent.UnknownProvider: Failure(INVALID_REQUEST, "unknownProvider"),
    agent.ThreadNotLoaded: Failure(INVALID_REQUEST, "threadNotLoaded", plain=True),
    agent.ThreadClosing: Failure(INVALID_REQUEST, "threadClosing", retryable=True),
    agent.ThreadBusy: Failure(INVALID_REQUEST, "threadBusy", retryable=True),
    agent.TurnInProgress: Failure(INVALID_REQUEST, "turnInProgress", retryable=True),
    agent.McpServerMissing: Failure(INVALID_REQUEST, "mcpServerMissing", retryable=True),
    agent.NotMarked: Failure(INTERNAL_ERROR, "notMarked", retryable=True),
    agent.ImpossibleStep: Failure(INTERNAL_ERROR, "impossibleStep"),
    own.ConfigRefused: Failure(INVALID_REQUEST, "configRefused"),
    own.ConfigEditRefused: Failure(INVALID_REQUEST, "configEditRefused"),
    own.ListenRefused: Failure(INTERNAL_ERROR, "listenRefused"),
    own.CommandFailed: Failure(INTERNAL_ERROR, "commandFailed"),
}


def to_wire(error: Exception) -> WireError | None:
    """The wire error of a known exception; None for one that nobody expected."""
    if isinstance(error, WireError):
        return error
    for known in type(error).__mro__:
        failure = FAILURES.get(known)
        if failure is not None:
            data = {"kind": failure.kind, "retryable": failure.retryable}
            return WireError(failure.code, failure.sentence(error), None if failure.plain else data)
    return None
