"""What a model writes into a tool call."""

import pytest

from memory_read.arguments import FieldType, parse_arguments
from state.errors import PathRefused

FIELDS: dict[str, FieldType] = {
    "path": "string",
    "count": "integer",
    "flag": "boolean",
    "queries": "strings",
    "mode": "object",
}


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"path":null}'])
def test_nothing_given_is_nothing(text: str) -> None:
    """Null counts as not given."""
    assert parse_arguments(text, FIELDS) == {}


def test_values_of_the_right_type_come_through() -> None:
    """As they were written."""
    text = '{"path":"a","count":0,"flag":false,"queries":[],"mode":{"type":"any"}}'
    assert parse_arguments(text, FIELDS, required=("path",)) == {
        "path": "a",
        "count": 0,
        "flag": False,
        "queries": [],
        "mode": {"type": "any"},
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "invalid arguments: "),
        ("[" * 100_000, "invalid arguments: "),
        ("[]", "invalid type: a list, expected an object"),
        ("null", "invalid type: null, expected an object"),
        ('{"x":1}', "unknown field `x`, expected one of `path`, `count`"),
        ("{}", "missing field `path`"),
        ('{"path":null}', "missing field `path`"),
        ('{"path":1}', "invalid type for `path`: number `1`, expected a string"),
        ('{"path":"a","count":1.5}', "invalid type for `count`: number `1.5`"),
        ('{"path":"a","count":true}', "invalid type for `count`: boolean `true`"),
        ('{"path":"a","count":"1"}', "invalid type for `count`: a string"),
        ('{"path":"a","count":-1}', "invalid value for `count`"),
        ('{"path":"a","count":1e400}', "invalid type for `count`"),
        ('{"path":"a","flag":1}', "invalid type for `flag`"),
        ('{"path":"a","queries":"x"}', "invalid type for `queries`: a string"),
        ('{"path":"a","queries":["x",1]}', "invalid type for `queries`: a list"),
        ('{"path":"a","mode":"any"}', "invalid type for `mode`: a string, expected an object"),
    ],
)
def test_mistakes_are_told_in_a_sentence(text: str, sentence: str) -> None:
    """Each names the field it is about."""
    with pytest.raises(PathRefused) as caught:
        parse_arguments(text, FIELDS, required=("path",))
    assert str(caught.value).startswith(sentence)


def test_two_fields_are_named_with_or() -> None:
    """The way a person would say it."""
    fields: dict[str, FieldType] = {"filename": "string", "note": "string"}
    with pytest.raises(PathRefused, match="expected `filename` or `note`"):
        parse_arguments('{"x":1}', fields)
