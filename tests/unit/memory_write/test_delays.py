"""How long is waited after what, and how much of a window a conversation may take."""

import pytest

from memory_write.limits import Phase1Limits
from memory_write.phase1.allowance import day_of, next_day_ms
from memory_write.phase1.extract import conversation_tokens_max
from memory_write.phase1.job import transient_delay_ms
from state.ids import ThreadId


def test_transient_failures_wait_twice_as_long_each_time_up_to_a_bound() -> None:
    """And threads are spread, so that they do not all come back at once."""
    delays = [transient_delay_ms(ThreadId("a"), times) for times in range(40)]
    assert delays == sorted(delays)
    assert 60_000 <= delays[0] <= 75_000
    assert delays[1] == pytest.approx(2 * delays[0], abs=2)
    assert delays[-1] == delays[-2] <= 3_600_000 * 1.25
    assert len({transient_delay_ms(ThreadId(str(number)), 0) for number in range(50)}) > 30


@pytest.mark.requirement("MW-8.3-truncated")
@pytest.mark.parametrize(
    ("window", "tokens"),
    [(None, 150_000), (0, 150_000), (-5, 150_000), (1, 1), (100_001, 70_000), (272_000, 190_400)],
)
def test_a_conversation_takes_seventy_percent_of_a_known_window(
    window: int | None, tokens: int
) -> None:
    """An unknown window is taken as large enough for the default."""
    assert conversation_tokens_max(window, Phase1Limits()) == tokens


def test_a_budget_day_is_a_day_of_utc() -> None:
    """It ends at midnight, wherever the machine stands."""
    assert day_of(0) == "1970-01-01"
    assert next_day_ms(0) == 86_400_000
    assert next_day_ms(86_399_999) == 86_400_000
    assert day_of(next_day_ms(1_795_000_000_000)) == day_of(1_795_000_000_000 + 86_400_000)
