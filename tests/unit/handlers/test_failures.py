"""The table of failures: every error of ours has its row, and nothing unknown gets out."""

import inspect
from pathlib import Path
from types import ModuleType

import pytest

import memory_write.errors
import memory_write.ports
import server.agent.errors
import server.errors
import state.errors
from protocol.errors import WireError, refused
from server.handlers.failures import FAILURES, to_wire
from state.errors import DatabaseBusy, DatabaseTooNew, RolloutMissing, WorkspaceUnsafe

ROOMS = (
    memory_write.errors,
    memory_write.ports,
    server.agent.errors,
    server.errors,
    state.errors,
)


def _leaves(module: ModuleType) -> list[type[Exception]]:
    """The error classes of a module that none of its own derives from."""
    made = [
        one
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Exception) and one.__module__ == module.__name__
    ]
    return [one for one in made if not any(issubclass(two, one) for two in made if two is not one)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_every_leaf_error_has_a_row(room: ModuleType) -> None:
    """A new one without a row would reach clients as an incident."""
    assert [error.__name__ for error in _leaves(room) if error not in FAILURES] == []


def test_the_modules_of_errors_are_all_looked_at() -> None:
    """A new room with errors of its own comes into the list above."""
    root = Path(__file__).resolve().parents[3]
    rooms = ("state", "memory_read", "memory_write", "server")
    found = {path for room in rooms for path in (root / room).rglob("errors.py")}
    named = {Path(str(room.__file__)) for room in ROOMS if room is not memory_write.ports}
    assert found == named


def test_what_clients_know_is_sent_as_they_know_it() -> None:
    """They look into the sentence."""
    error = to_wire(RolloutMissing("some-id"))
    assert error is not None
    assert error.to_wire() == {"code": -32600, "message": "no rollout found for thread id some-id"}


def test_other_failures_say_their_kind_and_whether_to_try_again() -> None:
    """Clients branch on that, not on the sentence."""
    busy = to_wire(DatabaseBusy(Path("/x")))
    assert busy is not None and busy.code == -32603
    assert busy.data == {"kind": "databaseBusy", "retryable": True}
    unsafe = to_wire(WorkspaceUnsafe(Path("/m"), "it is a link"))
    assert unsafe is not None and "/m" in unsafe.message


def test_the_nearest_class_counts() -> None:
    """A too new database is told as such."""
    error = to_wire(DatabaseTooNew(Path("/x"), 9, 1))
    assert error is not None and error.data is not None
    assert error.data["kind"] == "databaseTooNew"


def test_an_unknown_error_has_no_wire_error() -> None:
    """The dispatcher gives it an incident number and tells nothing else."""
    assert to_wire(KeyError("secret")) is None
    assert to_wire(OSError(28, "No space left on device")) is None


def test_a_wire_error_passes_through() -> None:
    """A handler's own refusal."""
    error = refused("no")
    assert to_wire(error) is error
    assert isinstance(error, WireError)
