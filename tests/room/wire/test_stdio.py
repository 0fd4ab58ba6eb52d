"""The stdio server in a process of its own: what a spawning client sees."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.stdio_child import NOISE, spawn_arguments
from tests.support.wire import WAIT_S

HELLO = {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "n", "version": "1"}}}
LOOPS = ["asyncio", "uvloop"]


def lines(*messages: dict[str, Any] | bytes) -> bytes:
    """Messages as a client writes them."""
    raw = [one if isinstance(one, bytes) else orjson.dumps(one) for one in messages]
    return b"".join(one + b"\n" for one in raw)


def name(number: int, text: str) -> dict[str, Any]:
    """A request with that id."""
    params = {"threadId": "t", "name": text}
    return {"id": number, "method": "thread/name/set", "params": params}


def run(loop: str, data: bytes) -> tuple[list[dict[str, Any]], str]:
    """The replies and the standard error of a process that gets this input and then its end."""
    done = subprocess.run(spawn_arguments(loop), input=data, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.requirement("FR-T12")
def test_stdout_holds_messages_only_and_every_print_lands_on_stderr(loop: str) -> None:
    """Of Python, of C, of a child, of the bare descriptor, and of the log."""
    replies, err = run(loop, lines(HELLO, name(1, "n"), name(2, "break")))
    assert [reply["id"] for reply in replies] == [0, 1, 2]
    for word in NOISE:
        assert err.count(word) >= 2, word


@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_asked_before_the_end_of_input_is_answered(loop: str) -> None:
    """A shell pipe ends at once; the last line may lack its end."""
    data = lines(HELLO, *(name(number, "n") for number in range(1, 60))) + orjson.dumps(
        name(60, "n")
    )
    replies, _ = run(loop, data)
    assert sorted(reply["id"] for reply in replies) == list(range(61))


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("output", ["pipe", "file"])
@pytest.mark.parametrize("input_", ["file", "/dev/null"])
def test_files_and_dev_null_work_as_input_and_output(
    loop: str, output: str, input_: str, tmp_path: Path
) -> None:
    """An event loop cannot watch them, so threads read and write."""
    requests = tmp_path / "in"
    requests.write_bytes(lines(HELLO, name(1, "n")))
    source = Path("/dev/null") if input_ == "/dev/null" else requests
    target = tmp_path / "out"
    with source.open("rb") as stdin, target.open("wb") as file:
        done = subprocess.run(
            spawn_arguments(loop),
            stdin=stdin,
            stdout=file if output == "file" else subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=30,
        )
    assert done.returncode == 0, done.stderr.decode()
    text = target.read_bytes() if output == "file" else done.stdout
    assert len(text.splitlines()) == (2 if input_ == "file" else 0)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.requirement("FR-T13")
def test_header_framing_gets_one_clear_error_and_the_end(loop: str) -> None:
    """The process does not wait for a line that will never come."""
    body = orjson.dumps(HELLO)
    process = subprocess.Popen(
        spawn_arguments(loop),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdin and process.stdout
        process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        process.stdin.flush()  # and stdin stays open
        [line] = process.stdout.read().splitlines()
        assert process.wait(WAIT_S) == 0
    error = json.loads(line)
    assert error["id"] is None and "Content-Length" in error["error"]["message"]


@pytest.mark.requirement("FR-T11")
def test_large_lines_work_larger_ones_are_refused_by_id_and_the_next_one_works() -> None:
    """Five megabytes are a request; twenty are an error with the request's id."""
    five, twenty = name(1, "x" * (5 << 20)), name(2, "x" * (20 << 20))
    replies, _ = run("asyncio", lines(HELLO, five, twenty, name(3, "n")))
    by_id = {reply["id"]: reply for reply in replies}
    assert by_id[1]["result"] == {} and by_id[3]["result"] == {}
    assert "longer than" in by_id[2]["error"]["message"]


@pytest.mark.requirement("FR-T11")
async def test_a_stream_without_a_line_end_is_closed_and_memory_stays_bounded() -> None:
    """A hundred megabytes are offered; the process ends long before and stays small."""
    process = await asyncio.create_subprocess_exec(
        *spawn_arguments(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    assert process.stdin and process.stdout and process.stderr
    piece, sent = b"x" * (1 << 20), 0
    try:
        for _ in range(100):
            process.stdin.write(piece)
            await process.stdin.drain()
            sent += 1
    except (BrokenPipeError, ConnectionResetError):
        pass
    async with asyncio.timeout(WAIT_S):
        replies = (await process.stdout.read()).splitlines()
        assert await process.wait() == 0
    assert sent < 50
    assert [json.loads(reply)["id"] for reply in replies] == [None, None]
    grown = re.search(rb"grew by (\d+) KiB", await process.stderr.read())
    assert grown is not None and int(grown[1]) < 32 << 10


@pytest.mark.parametrize("loop", LOOPS)
def test_other_holders_of_the_pipe_still_block(loop: str) -> None:
    """A log on the same pipe as the messages never fails because the pipe would block."""
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$@" 2>&1', "sh", *spawn_arguments(loop)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, _ = process.communicate(lines(HELLO, name(1, "n")), timeout=30)
    assert process.returncode == 0
    assert out.count(b'"id":') == 2
