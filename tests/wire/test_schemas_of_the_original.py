"""What our server sends fits the schemas that the original exports.

Every result, notification and request of a session that uses all methods is checked;
`python -m tests.bench.schemas` prints how many there are.
"""

import json
from pathlib import Path

import pytest

from protocol.methods import NOTIFICATIONS
from protocol.server_requests import COMMAND_APPROVAL, FILE_CHANGE_APPROVAL
from server.agent.asking import Subject
from tests.support.conformance import (
    OURS,
    RESULTS,
    checked_notifications,
    checked_requests,
    checked_results,
    names_of_notifications,
)
from tests.support.every_method import Session, whole_session
from tests.support.questions import SUBJECTS, asked
from tests.support.shared_data import needs_shared

pytestmark = needs_shared


@pytest.fixture
async def session(tmp_path: Path) -> Session:
    """One that used every method and is over."""
    return await whole_session(tmp_path)


async def test_every_result_fits_the_schema_of_its_method(session: Session) -> None:
    """With the definitions that the original exports."""
    found = checked_results(session)
    assert found.claimed == {method for method, schema in RESULTS.items() if schema}
    assert found.seen == set(RESULTS)
    assert found.faults == []


async def test_every_notification_fits_its_schema(session: Session) -> None:
    """Envelope and parameters."""
    found = checked_notifications(session)
    assert found.claimed - found.seen == set()
    assert found.faults == []


async def test_every_request_of_that_session_fits_its_schema(session: Session) -> None:
    """As a client gets them in the middle of turns."""
    found = checked_requests(session.requests)
    assert found.seen == {COMMAND_APPROVAL.name, FILE_CHANGE_APPROVAL.name}
    assert found.faults == []


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_each_question_fits_the_schema_of_the_original(subject: Subject) -> None:
    """Clients decode them with types made from it."""
    assert checked_requests([await asked(subject)]).faults == []


async def test_no_frame_of_that_session_is_longer_than_clients_can_read(session: Session) -> None:
    """Three clients of the field break for good above 64 KiB."""
    for frame in (*session.notifications, *(result for _, result in session.results)):
        assert len(json.dumps(frame)) < 64 * 1024


def test_all_names_of_notifications_are_the_originals_or_known_to_be_ours() -> None:
    """No name is mistyped."""
    assert {one.name for one in NOTIFICATIONS} - names_of_notifications() == OURS
