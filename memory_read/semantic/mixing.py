"""Orders candidates by their words and by their meaning together. Pure.

Both scores are standardised over the candidates of one question and added with their shares: by how
much one is better counts, which ranks would throw away. The constants were chosen on the even
conversations of `memoryd eval retrieval`, one setting for both sets; figures are told for all.
"""

import math
from collections.abc import Mapping, Sequence

DENSE_SHARE = 0.55
NEAR_MIN = 0.2
"""A unit that holds no word of the question is told from here on."""


def mixed(
    lexical: Mapping[int, float], cosines: Mapping[int, float], *, share: float = DENSE_SHARE
) -> dict[int, float]:
    """By unit its score, the lowest 1; one without a vector counts as an average one."""
    of_words = _standardised(lexical)
    of_meaning = _standardised(cosines)
    found = {
        unit: (1 - share) * of_words.get(unit, 0.0) + share * of_meaning.get(unit, 0.0)
        for unit in lexical.keys() | cosines.keys()
    }
    least = min(found.values(), default=0.0)
    return {unit: 1 + score - least for unit, score in found.items()}


def _standardised(scores: Mapping[int, float]) -> dict[int, float]:
    """By how many deviations each one is above their mean; zeros where all are alike."""
    values: Sequence[float] = list(scores.values())
    if not values:
        return {}
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / len(values))
    if not deviation:
        return dict.fromkeys(scores, 0.0)
    return {unit: (score - mean) / deviation for unit, score in scores.items()}
