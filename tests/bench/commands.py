"""What a sandbox adds to a command, beside the same command started plainly.

`python -m tests.bench.commands [--quick]`: one `true` after the other, each way in turn, so that
the load of the machine bears on all alike. Also how fast output of a command is read.
"""

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from server.agent.sandbox.policy import FullAccess
from server.agent.sandbox.sandbox import MEANS, Missing
from tests.bench.figures import Figures, options, report, spread
from tests.support.confined import World, proved

ROUNDS = 100
FLOOD_BYTES = 100_000_000


async def _plain() -> None:
    process = await asyncio.create_subprocess_exec("/bin/true")
    await process.wait()


def _worked_s() -> float:
    """Processor time of this process and of all its children that ended."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _through(world: World, policy: FullAccess | None) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        process = await world.start(["/bin/true"], policy=policy)
        await process.ended.wait()

    return run


async def _flood(world: World, policy: FullAccess | None) -> float:
    """Megabytes a second from a command that prints all it can."""
    started = time.perf_counter()
    process = await world.start(
        ["/usr/bin/head", "-c", str(FLOOD_BYTES), "/dev/zero"], policy=policy
    )
    await process.ended.wait()
    return FLOOD_BYTES / (time.perf_counter() - started) / 1e6


async def _measured(rounds: int) -> Figures:
    ways: dict[str, Callable[[], Awaitable[None]]] = {"plain": _plain}
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        worlds: dict[str, tuple[World, FullAccess | None]] = {}
        for means in (*MEANS, None):
            if means is not None and isinstance(proved(means), Missing):
                continue
            root = Path(folder) / str(means)
            root.mkdir()
            world = World(root=root, means=means)
            world.build()
            worlds[means or "unconfined, supervised"] = (world, None if means else FullAccess())
        ways |= {name: _through(world, policy) for name, (world, policy) in worlds.items()}
        times: dict[str, list[float]] = {name: [] for name in ways}
        worked = dict.fromkeys(ways, 0.0)
        for _ in range(rounds):
            for name, run in ways.items():
                started, before = time.perf_counter(), _worked_s()
                await run()
                times[name].append((time.perf_counter() - started) * 1_000)
                worked[name] += _worked_s() - before
        for name, seconds in worked.items():
            figures[f"{name} processor ms"] = seconds * 1_000 / rounds
            figures[f"{name} processor / plain"] = seconds / worked["plain"]
        for name, spent in times.items():
            figures |= spread(name, spent)
        plain = statistics.median(times["plain"])
        figures |= {f"{n} / plain": statistics.median(t) / plain for n, t in times.items()}
        for name, (world, policy) in worlds.items():
            figures[f"{name} output MB/s"] = await _flood(world, policy)
    return figures


def main() -> None:
    """Print the figures."""
    given = options(__doc__)
    rounds = ROUNDS // 5 if given.quick else ROUNDS
    report("commands", {"ours": asyncio.run(_measured(rounds))})


if __name__ == "__main__":
    main()
