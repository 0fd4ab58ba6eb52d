"""The life of a turn: all pairs of phase and event."""

from itertools import product

import pytest

from server.agent.errors import ImpossibleStep
from server.agent.turn import END_STATUS, TABLE, Event, Phase, TurnLife, after

PAIRS = list(product(Phase, Event))


@pytest.mark.parametrize(("phase", "event"), PAIRS)
def test_a_pair_leads_where_the_table_says_or_is_refused(phase: Phase, event: Event) -> None:
    following = TABLE[phase].get(event)
    if following is None:
        with pytest.raises(ImpossibleStep):
            after(phase, event)
    else:
        assert after(phase, event) is following


def test_no_event_leads_out_of_the_end() -> None:
    assert not TABLE[Phase.ENDED]


def test_every_phase_can_be_interrupted_and_can_fail() -> None:
    for phase in Phase:
        if phase is not Phase.ENDED:
            assert after(phase, Event.INTERRUPTED) is Phase.ENDED
            assert after(phase, Event.FAILED) is Phase.ENDED


def test_what_ends_a_turn_has_a_status_and_nothing_else_does() -> None:
    ending = {event for row in TABLE.values() for event, to in row.items() if to is Phase.ENDED}
    assert ending == set(END_STATUS)


def test_every_phase_is_reached_from_the_admission() -> None:
    reached, waiting = set(), [Phase.ADMITTED]
    while waiting:
        phase = waiting.pop()
        if phase not in reached:
            reached.add(phase)
            waiting.extend(TABLE[phase].values())
    assert reached == set(Phase)


def test_a_life_with_tools_and_a_question_ends_completed() -> None:
    life = TurnLife()
    for event in (
        Event.BEGUN,
        Event.TOOLS_CALLED,
        Event.APPROVAL_NEEDED,
        Event.APPROVAL_SETTLED,
        Event.TOOLS_RETURNED,
        Event.STEERED,
    ):
        life.take(event)
        assert life.open and life.status == "inProgress"
    life.take(Event.ANSWERED)
    assert (life.open, life.status) == (False, "completed")
    with pytest.raises(ImpossibleStep):
        life.take(Event.INTERRUPTED)
