"""Finished turns of a loaded thread: the same items as before, held small and within a bound."""

import gc

from server.agent.finished_turns import FinishedTurns
from state.rollouts.items import RecordedItem, RecordedTurn
from state.rollouts.packed import PackedItems


def item(turn: int, text: str = "words", *, at: int = 0) -> RecordedItem:
    return RecordedItem(
        item_id=f"item-{turn}-{at}",
        turn_id=f"turn-{turn}",
        type="agentMessage",
        body={"text": text, "phase": None, "memoryCitation": None},
        started_at_ms=1,
        completed_at_ms=2,
    )


def turn(number: int, text: str = "words", *, items: int = 1) -> RecordedTurn:
    made = tuple(item(number, text, at=at) for at in range(items))
    return RecordedTurn(turn_id=f"turn-{number}", status="completed", items=made)


def test_a_finished_turn_reads_as_it_ended() -> None:
    turns = FinishedTurns([turn(0, "ä first", items=3)])
    turns.add(turn(1))
    assert turns.all() == [turn(0, "ä first", items=3), turn(1)]
    assert len(turns) == 2


def test_an_item_costs_no_objects_that_the_collector_walks_over() -> None:
    turns = FinishedTurns()
    given = [turn(number, items=50) for number in range(20)]
    gc.collect()
    before = len(gc.get_objects())
    for one in given:
        turns.add(one)
    gc.collect()
    assert len(gc.get_objects()) - before < 20 * 5


def test_beyond_the_bound_the_oldest_items_go_and_their_turns_stay() -> None:
    turns = FinishedTurns(bytes_max=5_000)
    for number in range(50):
        turns.add(turn(number, "x" * 500))
    held = [len(one.items) for one in turns.all()]
    assert len(held) == 50
    assert held == sorted(held) and 5 <= sum(held) <= 9


def test_the_newest_turn_is_whole_however_long_it_is() -> None:
    turns = FinishedTurns([turn(0), turn(1, "y" * 9_000)], bytes_max=1_000)
    assert [len(one.items) for one in turns.all()] == [0, 1]


def test_an_item_that_outlived_its_turn_stands_in_it_as_it_ended() -> None:
    turns = FinishedTurns([turn(0, items=2), turn(1)], bytes_max=100_000)
    turns.put(item(0, "the whole output", at=1))
    assert [one.body["text"] for one in turns.all()[0].items] == ["words", "the whole output"]
    assert isinstance(turns.all()[0].items, PackedItems)


def test_what_such_an_item_grows_by_counts() -> None:
    turns = FinishedTurns([turn(0), turn(1), turn(2)], bytes_max=2_000)
    turns.put(item(2, "z" * 5_000))
    assert [len(one.items) for one in turns.all()] == [0, 0, 1]


def test_an_item_of_a_turn_that_is_unknown_or_let_go_changes_nothing() -> None:
    turns = FinishedTurns([turn(0, "x" * 900), turn(1, "x" * 900)], bytes_max=1_200)
    before = turns.all()
    turns.put(item(0, "late"))
    turns.put(item(7, "of a turn that goes on"))
    assert turns.all() == before
