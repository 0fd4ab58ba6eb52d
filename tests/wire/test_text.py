"""Odd and secret text in what clients send."""

from pathlib import Path

import pytest

from tests.support.homes import serving
from tests.support.wire import KINDS, Kind

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_string_cut_between_surrogates_still_makes_a_turn(
    tmp_path: Path, kind: Kind
) -> None:
    """As clients cut long texts; whole pairs and escaped backslashes stay what they are."""
    async with serving(tmp_path) as home, home.wire.client(kind) as client:
        thread = (await client.request("thread/start", {"cwd": "/tmp"}))["thread"]["id"]
        waiting = client.expect("odd")
        await client.link.send(
            b'{"id":"odd","method":"turn/start","params":{"threadId":"%b","input":'
            b'[{"type":"text","text":"cut \\ud83d, whole \\ud83d\\ude00, not one \\\\ud83d"}]}}'
            % thread.encode()
        )
        assert "result" in await waiting
        item = (await client.notification("item/completed"))["item"]
        assert item["content"][0]["text"] == "cut \ufffd, whole \U0001f600, not one \\ud83d"


@pytest.mark.requirement("P9")
async def test_a_name_holds_no_secret(tmp_path: Path) -> None:
    """Neither the reply, nor the broadcast, nor what is stored."""
    async with (
        serving(tmp_path) as home,
        home.wire.client("pair") as client,
        home.wire.client("pair") as other,
    ):
        thread = (await client.request("thread/start", {"cwd": "/tmp"}))["thread"]["id"]
        say = {"threadId": thread, "input": [{"type": "text", "text": "hello"}]}
        await client.request("turn/start", say)
        await client.notification("turn/completed")
        await client.request("thread/name/set", {"threadId": thread, "name": f"key {SECRET}"})
        told = await other.notification("thread/name/updated")
        listed = (await client.request("thread/list", {}))["data"][0]
    assert told["threadName"].startswith("key ")
    assert SECRET not in told["threadName"] and SECRET not in listed["name"]
    assert SECRET.encode() not in home.home.database.read_bytes()
