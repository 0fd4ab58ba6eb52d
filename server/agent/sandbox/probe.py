"""Tries a sandbox on itself before any command trusts it."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath as Path

from server.agent.sandbox.launch import Command, Launch
from server.agent.sandbox.limits import ProbeLimits
from server.agent.sandbox.policy import Places, Reach, WorkspaceWrite, reach_of

Confine = Callable[[Command, Reach], Launch]

_ATTEMPTS = """
import json, os, socket, sys
told = json.loads(sys.argv[1])
faults = []
def must_fail(what, attempt):
    try:
        attempt()
    except OSError:
        return
    faults.append(what)
def write(path):
    with open(path, "w") as file:
        file.write("probe")
def connect():
    with socket.create_connection(("127.0.0.1", told["port"]), timeout=2):
        pass
must_fail("a write outside succeeded", lambda: write(told["outside"] + "/written"))
must_fail("a hidden file could be read", lambda: open(told["secret"]).close())
must_fail("a protected folder could be written", lambda: write(told["work"] + "/.git/config"))
must_fail("a connection succeeded", connect)
if told["pid"]:
    must_fail("the server could be signalled", lambda: os.kill(told["pid"], 0))
try:
    if os.listdir(told["keys"]):
        faults.append("the keys of the server could be listed")
except OSError:
    pass
try:
    write(told["work"] + "/inside/written")
except OSError as error:
    faults.append(f"a write inside the working folder failed: {error}")
print(json.dumps({"faults": faults}))
"""


async def probe(
    confine: Confine,
    places: Places,
    *,
    shares_processes: bool,
    limits: ProbeLimits = ProbeLimits(),
) -> str | None:
    """The first thing this sandbox gets wrong, or None."""
    ground = await asyncio.to_thread(_make_ground)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        told = {
            "outside": f"{ground}/outside",
            "secret": f"{ground}/hidden/secret",
            "work": f"{ground}/work",
            "keys": str(places.home / "keys"),
            "port": port,
            "pid": os.getpid() if shares_processes else None,
        }
        return await _answer(confine, places, Path(ground), json.dumps(told), limits)
    except (OSError, ValueError) as error:
        return f"its test could not be run: {error}"
    finally:
        server.close()
        await asyncio.to_thread(shutil.rmtree, ground, True)


def _make_ground() -> str:
    ground = os.path.realpath(tempfile.mkdtemp(prefix="memoryd-probe-"))
    for folder in ("outside", "hidden", "work", "work/.git", "work/inside"):
        os.mkdir(f"{ground}/{folder}")
    with open(f"{ground}/hidden/secret", "w", encoding="ascii") as file:
        file.write("probe")
    return ground


async def _answer(
    confine: Confine, places: Places, ground: Path, told: str, limits: ProbeLimits
) -> str | None:
    policy = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir=True)
    hidden = replace(places, hidden=(*places.hidden, ground / "hidden"))
    # This interpreter may be installed inside our home.
    interpreter = (Path(sys.prefix), Path(sys.base_prefix))
    reach = reach_of(policy, ground / "work", hidden, readable=interpreter)
    if not isinstance(reach, Reach):
        return f"its test could not be run: {reach}"
    command = Command(
        argv=(sys.executable, "-I", "-S", "-c", _ATTEMPTS, told),
        cwd=str(ground / "work"),
        policy=policy,
        environment={"PATH": "/usr/bin:/bin"},
    )
    launch = await asyncio.to_thread(confine, command, reach)
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            env=dict(launch.environment),
            pass_fds=launch.fds,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        launch.release()
    try:
        async with asyncio.timeout(limits.seconds_max):
            out, err = await process.communicate()
    except TimeoutError:
        return f"its test took longer than {limits.seconds_max} seconds"
    finally:
        if launch.control is not None:
            os.close(launch.control)
        elif process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        launch.ended()
    return _verdict(out, err)


def _verdict(out: bytes, err: bytes) -> str | None:
    try:
        faults = json.loads(out)["faults"]
    except (ValueError, KeyError, TypeError):
        said = err.decode("utf-8", "replace").strip().splitlines()
        return said[-1][:300] if said else "its test gave no answer"
    return str(faults[0]) if faults else None
