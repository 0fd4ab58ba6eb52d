"""Finding and running tools, and cutting what they say."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.agent.tools.base import ToolSet, fitted, read_arguments, run_call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=30,
)


class Echo:
    name = "echo"
    description = "says it again"
    parameters: Mapping[str, Any] = {"type": "object"}

    async def call(self, arguments: str) -> str:
        return f"got {arguments}"


class Stuck(Echo):
    name = "stuck"

    async def call(self, arguments: str) -> str:
        await asyncio.Event().wait()
        return ""


SETS = (ToolSet(namespace="memories", tools=(Echo(), Stuck())),)


async def run(name: str, *, namespace: str | None = None, seconds_max: int = 5) -> str:
    call = {"type": "function_call", "name": name, "namespace": namespace, "arguments": "{}"}
    return await run_call(SETS, call, output_bytes_max=100, seconds_max=seconds_max)


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("echo", "memories"),
        ("memories__echo", None),
        ("memories__echo", "memories"),
        ("echo", None),
    ],
)
async def test_a_tool_is_found_by_each_of_its_names(name: str, namespace: str | None) -> None:
    assert await run(name, namespace=namespace) == "got {}"


async def test_what_does_not_exist_is_said_in_words() -> None:
    assert await run("nope", namespace="memories") == "unsupported call: memories.nope"
    assert await run("echo", namespace="other") == "unsupported call: other.echo"


async def test_a_tool_that_does_not_end_is_stopped() -> None:
    assert "longer than 0 seconds" in await run("stuck", seconds_max=0)


@given(value=JSON, bytes_max=st.integers(40, 400))
def test_cut_json_is_still_json_and_within_its_bound(value: Any, bytes_max: int) -> None:
    text = json.dumps(value)
    short = fitted(text, bytes_max=bytes_max)
    assert len(short.encode()) <= max(bytes_max, 0)
    json.loads(short)
    if len(text.encode()) <= bytes_max:
        assert short == text


def test_a_long_text_inside_json_says_that_it_was_cut() -> None:
    short = json.loads(fitted(json.dumps({"path": "a", "text": "x" * 5_000}), bytes_max=1_000))
    assert short["path"] == "a" and short["truncated"] is True
    assert 300 < len(short["text"]) < 1_000


def test_plain_text_is_cut_in_its_middle() -> None:
    short = fitted("a" * 500 + "b" * 500, bytes_max=200)
    assert short.startswith("a") and short.endswith("b") and len(short) < 300


def test_arguments_that_nobody_could_write_again_are_refused() -> None:
    """An item that holds them could be sent to no client, and its thread be read by none."""
    assert read_arguments("  ") == {}
    assert read_arguments('{"a": [1, "\\u00e9", null]}') == {"a": [1, "é", None]}
    for levels in (200, 5_000):
        with pytest.raises(ValueError, match="cannot be written"):
            read_arguments('{"a":' * levels + "1" + "}" * levels)
    for text in ("{", '{"a": NaN}', '{"a": "\\ud800"}'):
        with pytest.raises(ValueError):
            read_arguments(text)
