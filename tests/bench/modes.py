"""Changes of a thread's memory mode while learning runs: loaded, stored, and learned from.

Two kinds of learning: extractions that wait for a model of half a second, eight at once, and the
embedded provider, which works in the server itself. A change of a thread whose words stand in
published memory withholds them from readers and has them taken out of the files behind its answer;
it is shown apart from the others.
"""

import asyncio
from pathlib import Path

from tests.bench.clients import Client, ws_client
from tests.bench.figures import Figures, options, percentile, report
from tests.bench.sessions import write_sessions
from tests.bench.sides import home_of, model, sides, ws_server

SESSIONS = 400
LATENCY_MS = 500
CHANGES = 100
SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
MODES = ("disabled", "enabled")


async def measure(*, offline: bool, changes: int) -> Figures:
    """So many changes of each kind of thread while the backlog is worked off."""
    ours = sides(None)[0]
    with model(LATENCY_MS) as model_port, home_of(ours, model_port=model_port) as home:
        if offline:
            (home.path / "config.toml").write_text("[memories]\nmax_rollouts_per_startup = 64\n")
        source = home.user / "elsewhere"
        write_sessions(source / "sessions", SESSIONS)
        with ws_server(home) as (_, port):
            async with ws_client(port) as client:
                return await _changes(client, home.user, source, offline=offline, changes=changes)


async def _changes(
    client: Client, user: Path, source: Path, *, offline: bool, changes: int
) -> Figures:
    loaded = await client.start_thread(str(user))
    await client.turn(loaded, "Please make the change.")
    learned: list[str] = []
    if offline:
        await client.call("thread/import", {"path": str(SAMPLES)})
        await client.call("memory/consolidate/start", {"wait": True})
        listed = await client.call("thread/list", {"limit": 50, "modelProviders": []})
        learned = [one["id"] for one in listed["data"] if one["id"] != loaded]
    await client.call("memory/pause", {"paused": True})
    await client.call("thread/import", {"path": str(source)})
    listed = await client.call("thread/list", {"limit": 100, "modelProviders": []})
    stored = next(one["id"] for one in listed["data"] if one["id"] not in (loaded, *learned))
    kinds = {"loaded": loaded, "stored": stored}
    if learned:
        kinds["learned from"] = learned[0]
    name = "offline rules" if offline else f"model of {LATENCY_MS} ms"
    alone = await _timed(client, loaded, changes)
    figures = _told(f"{name}, nothing is learned", alone)
    await client.call("memory/pause", {"paused": False})
    begun = await client.call("memory/consolidate/start", {"wait": False})
    before = (await client.call("memory/overview", {}))["outputs"]
    for kind, thread in kinds.items():
        times = await _timed(client, thread, changes)
        figures |= _told(f"{name}, {kind}", times)
        ratio = percentile(times, 50) / percentile(alone, 50)
        figures[f"{name}, {kind} / nothing is learned"] = ratio
    after = (await client.call("memory/overview", {}))["outputs"]
    figures[f"{name}, outputs stored meanwhile"] = after - before
    assert begun["status"] in ("running", "done")
    return figures


async def _timed(client: Client, thread: str, changes: int) -> list[float]:
    times = []
    for number in range(changes):
        params = {"threadId": thread, "mode": MODES[number % 2]}
        times.append(await client.timed("thread/memoryMode/set", params))
        await asyncio.sleep(0.005)
    return times


def _told(name: str, times: list[float]) -> Figures:
    return {
        f"{name} median ms": percentile(times, 50),
        f"{name} p99 ms": percentile(times, 99),
        f"{name} most ms": max(times),
    }


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Ours; the reference's mode changes stand in `reads`."""
    changes = CHANGES // 5 if quick else CHANGES
    figures: Figures = {}
    for offline in (False, True):
        figures |= asyncio.run(measure(offline=offline, changes=changes))
    return {"ours": figures}


if __name__ == "__main__":
    given = options(__doc__)
    report("modes", main(given.reference, quick=given.quick))
