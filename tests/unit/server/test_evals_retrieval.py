"""The eval of search: what it counts, and that our own conversations are still answered."""

import json
from pathlib import Path

import pytest

from server.errors import CommandFailed
from server.evals.conversations import beam, locomo, our_own
from server.evals.retrieval import as_object, as_table, measured, reached
from tests.support.meaning import StemEmbedder


async def test_our_own_conversations_are_answered_better_than_by_plain_ways() -> None:
    """A guard against a ranker that got worse; the public figures are in the README."""
    found = {"own": await measured(our_own())}
    assert reached(found)
    own = found["own"]
    # One question less of twenty: the bare index finds one by its "to" and "we" (17 and 18).
    assert own["search"].turns >= own["fts"].turns - 1
    assert own["search"].turns > own["grep"].turns
    told = as_object(found)
    assert set(told) == {"own", "mode", "baselines"}
    assert told["mode"] == "lexical"
    assert set(told["baselines"]) == {"grep", "fts"}


async def test_by_meaning_the_figures_stand_beside_those_by_words() -> None:
    """In the places of the figures that were asked for; the others say how they came about."""
    pytest.importorskip("numpy", reason="numpy comes with the extras `semantic` and `dev`")
    found = {"own": await measured(our_own(), embedder=StemEmbedder(dimensions=64))}
    told = as_object(found)
    assert set(told) == {"own", "mode", "lexical", "baselines"}
    assert told["mode"] == "semantic"
    assert told["own"]["questions"] == found["own"]["semantic"].questions > 0
    assert found["own"]["semantic"].turns > found["own"]["grep"].turns
    assert any("semantic" in line for line in as_table(found))


def test_public_conversations_are_read_without_what_has_no_answer(tmp_path: Path) -> None:
    """Adversarial questions, abstentions, and evidence that is not there are left out."""
    file = tmp_path / "locomo10.json"
    talk = {
        "session_1_date_time": "1 May",
        "session_1": [
            {"speaker": "A", "dia_id": "D1:1", "text": "hi", "blip_caption": "a red boat"},
            {"speaker": "B", "dia_id": "D1:2", "text": "ho"},
        ],
    }
    asked = [
        {"question": "q", "evidence": ["D1:1; D1:02"], "category": 1},
        {"question": "q", "evidence": ["D1:1"], "category": 5},
        {"question": "q", "evidence": ["D9:9"], "category": 1},
    ]
    file.write_text(json.dumps([{"sample_id": "c", "conversation": talk, "qa": asked}]))
    [one] = locomo(file)
    assert [question.evidence for question in one.questions] == [frozenset({"D1:1", "D1:2"})]
    assert one.sessions[0].turns[0].text == "A: hi [shows a red boat]"
    chat = tmp_path / "beam" / "1"
    (chat / "probing_questions").mkdir(parents=True)
    message = {"role": "user", "id": 4, "content": "hello ->-> 1,1"}
    (chat / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": [[message]]}]))
    probing = {
        "abstention": [{"question": "none", "source_chat_ids": [4]}],
        "update": [{"question": "q", "source_chat_ids": {"a": [4], "b": [99]}}],
    }
    (chat / "probing_questions" / "probing_questions.json").write_text(json.dumps(probing))
    [one] = beam(tmp_path / "beam")
    assert [question.evidence for question in one.questions] == [frozenset({"4"})]
    assert one.sessions[0].turns[0].text == "user: hello"
    with pytest.raises(CommandFailed, match="holds no"):
        beam(tmp_path)
    with pytest.raises(CommandFailed, match="cannot be read"):
        locomo(tmp_path / "missing.json")
