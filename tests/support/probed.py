"""A server in a process of its own that notes how late its loop wakes: `probed_server.py`."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

PROBED = Path(__file__).with_name("probed_server.py")


@asynccontextmanager
async def probed(home: Path, env: Mapping[str, str]) -> AsyncIterator[tuple[Process, str]]:
    """A server in a process of its own that notes how late its loop wakes, and its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROBED),
        home,
        env=env,
        stdin=PIPE,
        stdout=PIPE,
        limit=1 << 24,
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        assert url, "the server did not start"
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def lags_ms(process: Process) -> list[float]:
    """Stop such a server; the lags of its loop."""
    return [late for late, _ in await gaps_ms(process)]


async def gaps_ms(process: Process) -> list[tuple[float, float]]:
    """Stop such a server; the lags of its loop, and what processor time it took in each."""
    out, _ = await asyncio.wait_for(process.communicate(b""), 60)
    return [(late, busy) for late, busy in json.loads(out)]
