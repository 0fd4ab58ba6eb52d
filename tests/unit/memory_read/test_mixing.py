"""Words and meaning in one order."""

import pytest

from memory_read.semantic.mixing import mixed


def test_by_how_much_one_is_better_counts_not_its_rank() -> None:
    """The second by words is far behind there and far ahead by meaning, and the other way round."""
    words = {1: 10.0, 2: 9.5, 3: 1.0, 4: 0.0}
    meaning = {1: 0.1, 2: 0.9, 3: 0.15, 4: 0.1}
    scores = mixed(words, meaning, share=0.5)
    assert max(scores, key=lambda unit: scores[unit]) == 2
    # By ranks the two would swap places with every wobble of the least of the differences.
    closer = mixed(words | {2: 10.5}, meaning, share=0.5)
    assert closer[2] > closer[1] > closer[3]


@pytest.mark.parametrize(("share", "best"), [(0.0, 1), (1.0, 2)])
def test_the_share_says_what_counts(share: float, best: int) -> None:
    """None of it leaves the words, all of it the meaning."""
    scores = mixed({1: 5.0, 2: 1.0}, {1: 0.1, 2: 0.8}, share=share)
    assert max(scores, key=lambda unit: scores[unit]) == best


def test_neither_scale_matters() -> None:
    """A question of many words has higher scores by words, and no less meaning for that."""
    few = mixed({1: 2.0, 2: 1.0, 3: 0.0}, {1: 0.2, 2: 0.3, 3: 0.1})
    many = mixed({1: 20.0, 2: 10.0, 3: 0.0}, {1: 0.2, 2: 0.3, 3: 0.1})
    assert few == pytest.approx(many)


def test_one_without_a_vector_counts_as_an_average_one() -> None:
    """As what is not embedded yet: it keeps what its words are worth."""
    scores = mixed({1: 5.0, 2: 5.0, 3: 5.0}, {1: 0.9, 2: 0.1})
    assert scores[1] > scores[3] > scores[2]
    assert min(scores.values()) == 1


def test_scores_that_are_all_alike_say_nothing() -> None:
    """And none at all give none."""
    assert mixed({1: 3.0, 2: 3.0}, {}) == {1: 1.0, 2: 1.0}
    assert mixed({}, {}) == {}
