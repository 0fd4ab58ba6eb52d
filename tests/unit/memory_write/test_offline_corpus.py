"""The figures of the offline rules on the committed corpus do not fall."""

import json
import sys
from importlib.resources import files
from subprocess import run

import pytest

from server.evals.corpus import LANGUAGES, PARTS, Part, sessions
from server.evals.extraction import (
    as_object,
    as_table,
    measured,
)
from server.evals.learning import digest
from server.evals.scoring import Score, by_language, by_look_alike, figures

FLOORS = {"dev": (0.93, 0.945), "final": (0.80, 0.90)}
"""Recall and precision that each half keeps. The weights are learned from the first, so that its
floor only guards what holds; of the second this is what is asked for."""

_MEASURED: dict[Part, tuple[Score, ...]] = {}


async def _scores(part: Part) -> tuple[Score, ...]:
    """A half is measured once for all that is asked of it here."""
    if part not in _MEASURED:
        _MEASURED[part] = await measured(part)
    return _MEASURED[part]


def test_the_corpus_is_as_large_as_it_has_to_be() -> None:
    """Sixty sessions, 200 right statements, 200 look-alikes, five languages, two halves."""
    halves = {part: sessions(part) for part in PARTS}
    everything = [one for half in halves.values() for one in half]
    assert len(everything) >= 60
    assert sum(len(one.right) for one in everything) >= 200
    assert sum(len(one.look_alikes) for one in everything) >= 200
    for half in filter(None, halves.values()):
        assert {one.language for one in half} == set(LANGUAGES)
        assert sum(len(one.right) for one in half) >= 75
        assert sum(len(one.look_alikes) for one in half) >= 60
    names = [(one.language, one.name) for one in everything]
    assert len(set(names)) == len(names)
    assert min(sum(one.language == code for one in everything) for code in LANGUAGES) >= 9


@pytest.mark.parametrize("part", PARTS)
async def test_recall_and_precision_do_not_fall(part: Part) -> None:
    """Nor is anything learned that a tool, a file or the assistant alone said."""
    scores = await _scores(part)
    whole = figures("all", scores)
    recall, precision = FLOORS[part]
    assert whole.recall >= recall, as_table(part, scores)
    assert whole.precision >= precision, as_table(part, scores)
    kept = by_look_alike(scores)
    for sort in ("tool-output", "file", "assistant", "code", "log"):
        assert kept.get(sort, (0, 0))[0] == 0, sort


async def test_no_language_falls_behind() -> None:
    """What the whole reaches, each language nearly reaches by itself."""
    for row in by_language(await _scores("dev")):
        assert row.recall >= 0.88, row
        assert row.precision >= 0.92, row


async def test_the_figures_are_the_same_for_people_and_programs() -> None:
    """The table and the object come from the same scores."""
    scores = await _scores("dev")
    told = as_object("dev", scores)
    assert json.loads(json.dumps(told)) == told
    row = next(one for one in as_table("dev", scores) if one.startswith("all "))
    assert f"{told['recall']:.2f}" in row


def test_the_weights_are_learned_from_the_corpus_as_it_is() -> None:
    """Whoever changes the sessions learns anew: `python -m server.evals.learning`."""
    table = (files("memory_write.offline") / "weights.tsv").read_text("utf-8")
    assert table.startswith(f"# learned from {digest()}\n")


def test_the_rules_are_read_without_the_corpus() -> None:
    """Nothing of the rules can depend on the labels."""
    code = "import sys, memory_write.offline.heard; sys.exit('server.evals' in str(sys.modules))"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
