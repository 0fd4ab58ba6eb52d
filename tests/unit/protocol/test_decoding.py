"""Parameters: lenient where clients are careless, exact about what is wrong."""

from typing import Any

import pytest

from protocol.errors import WireError
from protocol.methods import METHODS_BY_NAME, decode_params, find_method

ID = "00000000-0000-7000-8000-000000000000"


def _refused(method: str, params: dict[str, Any] | None) -> WireError:
    with pytest.raises(WireError) as raised:
        decode_params(find_method(method), params)
    return raised.value


@pytest.mark.parametrize(
    ("method", "params", "sentence"),
    [
        ("thread/read", {}, "missing field `threadId`"),
        ("thread/list", None, "missing field `params`"),
        ("initialize", {"clientInfo": {"name": "x"}}, "missing field `version`"),
        ("thread/start", {"cwd": 5}, "invalid type: integer `5`, expected a string"),
        ("thread/start", {"cwd": True}, "invalid type: boolean `true`, expected a string"),
        ("thread/start", {"cwd": [1]}, "invalid type: sequence, expected a string"),
        ("thread/start", {"ephemeral": "x"}, 'invalid type: string "x", expected a boolean'),
        ("thread/start", {"config": 1}, "invalid type: integer `1`, expected a map"),
        (
            "thread/start",
            {"approvalPolicy": "on-failure"},
            "unknown variant `on-failure`, expected one of `untrusted`, `on-request`, `granular`, "
            "`never`",
        ),
        (
            "thread/start",
            {"approvalPolicy": {"granular": {"rules": True}}},
            "missing field `sandbox_approval`",
        ),
        (
            "memory/status",
            {"minConsolidatedThreads": -1},
            "invalid value: integer `-1`, expected u32",
        ),
        (
            "memory/status",
            {"minConsolidatedThreads": 1.5},
            "invalid type: floating point `1.5`, expected u32",
        ),
        (
            "thread/memoryMode/set",
            {"threadId": ID, "mode": "polluted"},
            "unknown variant `polluted`, expected `enabled` or `disabled`",
        ),
        ("thread/memoryMode/set", {"threadId": ID}, "missing field `mode`"),
        (
            "turn/start",
            {"threadId": ID, "input": [{"type": "bogus"}]},
            "unknown variant `bogus`, expected one of `text`, `image`, `localImage`, `audio`, "
            "`localAudio`, `skill`, `mention`",
        ),
        ("turn/start", {"threadId": ID, "input": [{}]}, "missing field `type`"),
        ("turn/start", {"threadId": ID, "input": {}}, "invalid type: map, expected a sequence"),
        ("thread/import", {"path": "/x", "sinse": "y"}, "unknown field `sinse`"),
    ],
)
def test_the_first_thing_wrong_is_told_as_clients_know_it(
    method: str, params: dict[str, Any] | None, sentence: str
) -> None:
    """The sentence is the original's, the code JSON-RPC's."""
    error = _refused(method, params)
    assert (error.code, error.message) == (-32602, f"Invalid request: {sentence}")


def test_what_is_there_and_wrong_comes_before_what_is_missing() -> None:
    """As a reader that stops at the first error."""
    error = _refused("thread/memoryMode/set", {"mode": "x"})
    assert error.message.startswith("Invalid request: unknown variant `x`")


def test_an_unknown_method_lists_those_there_are() -> None:
    """With the code that JSON-RPC names."""
    with pytest.raises(WireError) as raised:
        find_method("nope/nope")
    assert raised.value.code == -32601
    assert raised.value.message.startswith(
        "Invalid request: unknown variant `nope/nope`, expected one of `initialize`, "
    )
    assert all(f"`{name}`" in raised.value.message for name in METHODS_BY_NAME)


@pytest.mark.parametrize("method", ["thread/start", "thread/list", "turn/start", "initialize"])
def test_unknown_keys_and_explicit_nulls_are_fine(method: str) -> None:
    """Real clients send dozens of either."""
    model = METHODS_BY_NAME[method].params
    given: dict[str, Any] = {"somethingNew": {"x": 1}}
    for name, info in model.model_fields.items():
        if not info.is_required() and info.default is None:
            given[info.alias or name] = None
    given |= {"threadId": ID, "input": [], "clientInfo": {"name": "", "version": "", "user": 1}}
    decode_params(METHODS_BY_NAME[method], given)


def test_python_names_are_not_wire_names() -> None:
    """What the wire calls threadId has no second spelling."""
    assert "missing field `threadId`" in _refused("thread/read", {"thread_id": ID}).message


@pytest.mark.parametrize("method", ["memory/reset", "configRequirements/read", "memory/overview"])
@pytest.mark.parametrize("params", [None, {}])
def test_methods_without_parameters_take_none_or_an_empty_object(
    method: str, params: dict[str, Any] | None
) -> None:
    """Both are sent by clients."""
    decode_params(METHODS_BY_NAME[method], params)


def test_a_long_wrong_value_is_not_repeated_whole() -> None:
    """An error stays short."""
    error = _refused("thread/memoryMode/set", {"threadId": ID, "mode": "x" * 100_000})
    assert len(error.message) < 500
