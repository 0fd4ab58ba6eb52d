"""From raw parameters to a model, with the sentences that clients of this protocol know.

One error is told, as a reader would that stops at the first: what is there and wrong comes before
what is missing.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from protocol.base import RequestParams, StrictParams
from protocol.errors import WireError, invalid_params, unknown_variant

_SENTENCE = "wire_sentence"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_SHOWN_CHARACTERS_MAX = 200
_EXPECTED = {
    "string_type": "a string",
    "bool_type": "a boolean",
    "int_type": "u32",
    "int_from_float": "u32",
    "float_type": "a number",
    "list_type": "a sequence",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


def decode(
    model: type[RequestParams] | type[StrictParams], params: Mapping[str, Any]
) -> RequestParams | StrictParams:
    """Make the model of a request's parameters.

    Raises: WireError.
    """
    try:
        return model.model_validate(params, by_alias=True, by_name=False)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> WireError:
    """The wire error for parameters that do not fit."""
    return invalid_params(_sentence(error))


def sentence_error(sentence: str) -> PydanticCustomError:
    """For validators: an error whose sentence goes out as it is."""
    return PydanticCustomError(_SENTENCE, "{sentence}", {"sentence": sentence})


def unexpected(value: object) -> str:
    """How a sentence names a value that was not expected."""
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{'true' if value else 'false'}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f"string {orjson.dumps(value[:_SHOWN_CHARACTERS_MAX]).decode()}"
        case list() | tuple():
            return "sequence"
        case _:
            return "map"


def _sentence(error: ValidationError) -> str:
    details = error.errors(include_url=False)
    # Of a choice between a word and an object, the object's own error says more.
    telling = [d for d in details if d["type"] != "literal_error" or isinstance(d["input"], str)]
    details = telling or details
    present = [detail for detail in details if detail["type"] != "missing"]
    return _one_sentence(present[0] if present else details[0])


def _one_sentence(detail: ErrorDetails) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    field = str(detail["loc"][-1]) if detail["loc"] else "params"
    match kind:
        case "missing":
            return f"missing field `{field}`"
        case "extra_forbidden":
            return f"unknown field `{field}`"
        case "literal_error":
            known = _QUOTED.findall(str(context.get("expected", "")))
            if isinstance(value, str):
                return unknown_variant(value[:_SHOWN_CHARACTERS_MAX], known)
            return f"invalid type: {unexpected(value)}, expected a string"
        case "union_tag_invalid":
            known = _QUOTED.findall(str(context.get("expected_tags", "")))
            return unknown_variant(str(context.get("tag"))[:_SHOWN_CHARACTERS_MAX], known)
        case "union_tag_not_found":
            name = str(context.get("discriminator", "type")).strip("'")
            return f"missing field `{name}`"
        case "greater_than_equal" | "less_than_equal":
            return f"invalid value: {unexpected(value)}, expected u32"
        case "wire_sentence":
            return str(context["sentence"])
        case _ if kind in _EXPECTED:
            return f"invalid type: {unexpected(value)}, expected {_EXPECTED[kind]}"
        case _:
            return f"invalid value for field `{field}`"
