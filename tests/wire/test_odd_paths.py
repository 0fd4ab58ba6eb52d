"""Paths that are no file or folder of use: the caller's mistake, told with its reason, at once."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import serving
from tests.support.methods import error_of, said, started

INVALID = (-32600, -32602)


def _odd(folder: Path) -> Mapping[str, str]:
    """Paths of every kind that is no use, by what they are."""
    file, pipe, locked = folder / "file", folder / "pipe", folder / "loop"
    file.write_text("{}")
    os.mkfifo(pipe)
    locked.symlink_to(locked)
    return {
        "device": "/dev/null",
        "pipe": str(pipe),
        "below a file": str(file / "below"),
        "link to itself": str(locked),
        "missing": str(folder / "missing"),
        "too long": f"/{'x' * 3_000}",
        "null byte": "/a\0b",
        "home of nobody": "~no-such-person/x",
        "relative": "a/b",
    }


@pytest.mark.parametrize(
    ("method", "name", "more"),
    [
        ("thread/import", "path", {}),
        ("thread/import", "path", {"format": "claude"}),
        ("memory/import", "path", {}),
        ("memory/restore", "folder", {}),
    ],
)
async def test_a_path_that_cannot_be_read_is_the_callers_mistake(
    method: str, name: str, more: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing of it is an internal error, and the next request works."""
    async with serving(tmp_path) as home, home.wire.client("websocket") as client:
        for what, path in _odd(tmp_path).items():
            error = await error_of(client, method, {name: path, **more})
            assert error["code"] in INVALID, (what, error)
            assert len(error["message"]) < 5_000
            assert "incident" not in error["message"]
        assert (await client.request("thread/list", {}))["data"] == []


async def test_a_folder_that_cannot_be_written_to_is_the_callers_mistake(tmp_path: Path) -> None:
    """Of an export; a missing folder is made."""
    async with serving(tmp_path) as home, home.wire.client("websocket") as client:
        await client.request("memory/remember", {"text": "I use tabs."})
        for what, path in _odd(tmp_path).items():
            if what != "missing":
                error = await error_of(client, "memory/export", {"folder": path})
                assert error["code"] in INVALID, (what, error)


async def test_no_path_of_a_thread_or_a_command_is_an_internal_error(tmp_path: Path) -> None:
    """A folder to work in need not exist; what cannot be one is refused or told of."""
    async with serving(tmp_path) as home, home.wire.client("websocket") as client:
        thread = await started(client)
        await said(client, thread, "hello")
        for what, path in _odd(tmp_path).items():
            for method, params in (
                ("thread/resume", {"threadId": thread, "path": path}),
                ("thread/fork", {"threadId": thread, "path": path}),
                ("thread/start", {"cwd": path}),
                ("thread/fork", {"threadId": thread, "cwd": path}),
                ("command/exec", {"command": ["true"], "cwd": path}),
                ("memory/search", {"query": "tabs", "cwd": path}),
                ("memory/remember", {"text": f"a note of {len(what)}", "cwd": path}),
                ("config/batchWrite", {"edits": [], "filePath": path}),
            ):
                reply = await client.reply(method, params)
                code = reply.get("error", {}).get("code")
                assert code in (None, *INVALID), (what, method, reply)
