"""A reply is the strict shape or nothing of it is kept."""

import json

import pytest

from memory_write.errors import BadOutput
from memory_write.phase1.output import ReplyV1, parse_v1
from memory_write.recipes import V1

GOOD = {"rollout_summary": "# Recap", "rollout_slug": "slug", "raw_memory": "body"}


def test_a_reply_of_the_shape_is_read() -> None:
    """All three fields come out as they were said."""
    extracted = parse_v1(json.dumps(GOOD), bytes_max=1_000)
    assert (extracted.rollout_summary, extracted.rollout_slug, extracted.raw_memory) == (
        "# Recap",
        "slug",
        "body",
    )
    assert not extracted.is_empty


@pytest.mark.requirement("MW-8.2-schema")
def test_the_slug_may_be_null() -> None:
    """It is the one field that need not hold a text."""
    assert parse_v1(json.dumps(GOOD | {"rollout_slug": None}), bytes_max=1_000).rollout_slug is None


@pytest.mark.requirement("MW-9-26")
@pytest.mark.parametrize("blank", ["", "  ", "\n"])
@pytest.mark.parametrize("field", ["rollout_summary", "raw_memory"])
def test_a_blank_text_makes_the_result_empty(field: str, blank: str) -> None:
    """A line break is no content either."""
    assert parse_v1(json.dumps(GOOD | {field: blank}), bytes_max=1_000).is_empty


@pytest.mark.requirement("FR-E5")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "nothing"),
        ("   \n", "nothing"),
        ("Here is your memory: the user likes tea.", "prose"),
        ('Sure!\n{"rollout_summary": "a", "rollout_slug": "b", "raw_memory": "c"}', "prose"),
        ('```json\n{"rollout_summary":"a","rollout_slug":"b","raw_memory":"c"}\n```', "prose"),
        ('{"rollout_summary":"a","rollout_slug":"b","raw_memory":"c"} Done.', "prose"),
        ('{"rollout_summary":"a","rollout_slug":"b","raw_memo', "cut"),
        ('{"rollout_summary":"a","rollout_slug":"b","raw_memory":"c"', "cut"),
        ("[]", "not_an_object"),
        ('"text"', "not_an_object"),
        ("null", "not_an_object"),
        ("{}", "empty_object"),
        (" { } ", "empty_object"),
        ('{"rollout_summary":"a","rollout_slug":"b"}', "missing_keys"),
        ('{"rollout_summary":"a","raw_memory":"c"}', "missing_keys"),
        (json.dumps(GOOD | {"confidence": 1}), "extra_keys"),
        ('{"memory":"a"}', "extra_keys"),
        (json.dumps(GOOD | {"raw_memory": None}), "wrong_types"),
        (json.dumps(GOOD | {"rollout_summary": 5}), "wrong_types"),
        (json.dumps(GOOD | {"rollout_slug": ["a"]}), "wrong_types"),
    ],
)
def test_any_other_reply_is_refused_with_its_kind(text: str, kind: str) -> None:
    """The kind goes into the job's reason; nothing of the text does."""
    with pytest.raises(BadOutput) as refused:
        parse_v1(text, bytes_max=1_000)
    assert refused.value.reason == f"bad_output:{kind}"


@pytest.mark.requirement("FR-E5", "MW-9-23")
def test_a_reply_over_the_bound_is_refused_before_it_is_read() -> None:
    """Counted in bytes, so that wide characters do not slip through."""
    for text in ("x" * 5_000_000, json.dumps(GOOD | {"raw_memory": "ü" * 600}, ensure_ascii=False)):
        with pytest.raises(BadOutput) as refused:
            parse_v1(text, bytes_max=1_000)
        assert refused.value.kind == "too_large"


@pytest.mark.requirement("MW-8.2-schema")
def test_the_schema_asks_for_just_what_is_parsed() -> None:
    """The recipe's schema and the parser name the same fields, all required, no others."""
    schema = ReplyV1.model_json_schema()
    assert set(V1.reply_schema["properties"]) == set(schema["properties"])
    assert set(V1.reply_schema["required"]) == set(schema["required"])
    assert V1.reply_schema["additionalProperties"] is schema["additionalProperties"] is False
