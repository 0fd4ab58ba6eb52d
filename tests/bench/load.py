"""Fifty WebSocket clients on ten threads, and three bad ones: what is relayed, how soon it answers.

Each turn streams two hundred pieces a millisecond apart to five subscribers; pieces that arrive
together may be told as one notification, so both are counted. Ours runs a second
time in a server that notes how late its event loop wakes, which the first is not to be burdened by.
With `--minutes 10` ours alone is loaded that long, and what is lost or grows meanwhile is counted:
as with people who work, threads are compacted, are left after a while, and others begin.
"""

import asyncio
from pathlib import Path

from tests.bench.clients import ws_client
from tests.bench.figures import Figures, options, percentile, report, spread
from tests.bench.sides import Side, cpu_s, home_of, model, rss_mib, sides, ws_server
from tests.support.many_clients import CLIENTS, THREADS, Load, flat_mib, for_rounds, for_seconds
from tests.support.probed import gaps_ms, probed

PIECES = 200
TEXT = f"paced:{PIECES}"
SUBSCRIBERS = CLIENTS // THREADS
TURNS_PER_THREAD = 150
COMPACTED_TOKENS = 40_000
"""A thread comes to it twice or so."""
IDLE_S = 10
"""How long a thread that was left stays loaded."""


async def measure(side: Side, *, rounds: int) -> Figures:
    """One load; of ours a second one for the lag."""
    with model() as model_port:
        with home_of(side, model_port=model_port) as home, ws_server(home) as (process, port):
            async with ws_client(port):  # it is up
                pass
            load = Load(f"ws://127.0.0.1:{port}", TEXT, str(home.user))
            before, resident = cpu_s(process.pid), rss_mib(process.pid)
            measured = await load.run(for_rounds(rounds))
            figures = {
                "pieces relayed per s": measured.turns * PIECES * SUBSCRIBERS / measured.seconds,
                "delta notifications per s": measured.deltas_per_s,
                "turns per s": measured.turns / measured.seconds,
                "CPU ms a turn": (cpu_s(process.pid) - before) / measured.turns * 1000,
                "resident before MiB": resident,
                "resident MiB": rss_mib(process.pid),
                "faults": len(measured.faults),
            }
            figures |= spread("thread/start", measured.start_ms)
            figures |= spread("turn/start answered", measured.answered_ms)
        if side.ours:
            with home_of(side, model_port=model_port) as home:
                async with probed(home.path, home.environment) as (process, url):
                    await Load(url, TEXT, str(home.user)).run(for_rounds(rounds))
                    figures |= _lags(await gaps_ms(process))
    return figures


def _lags(gaps: list[tuple[float, float]]) -> Figures:
    lags, busy = zip(*gaps, strict=True)
    return {
        "loop lag median ms": percentile(lags, 50),
        "loop lag p99 ms": percentile(lags, 99),
        "loop lag longest ms": max(lags),
        "between two wakes, processor time p99 ms": percentile(busy, 99),
        "between two wakes, processor time longest ms": max(busy),
    }


async def soak(side: Side, *, minutes: float) -> Figures:
    """Ours for so long, in the server that notes its lags."""
    with model() as model_port, home_of(side, model_port=model_port) as home:
        config = home.path / "config.toml"
        config.write_text(
            f"model_auto_compact_token_limit = {COMPACTED_TOKENS}\n{config.read_text()}\n"
            f"[server]\nthread_idle_s = {IDLE_S}\n"
        )
        async with probed(home.path, home.environment) as (process, url):
            sizes: list[float] = []
            load = Load(url, TEXT, str(home.user), turns_per_thread=TURNS_PER_THREAD)
            going = for_seconds(minutes * 60)
            measured = await load.run(going, lambda: sizes.append(rss_mib(process.pid)))
            gaps = await gaps_ms(process)
    early, late = flat_mib(sizes)
    return _lags(gaps) | {
        "minutes": measured.seconds / 60,
        "turns": measured.turns,
        "delta notifications per s": measured.deltas_per_s,
        "faults": len(measured.faults),
        "reconnects": measured.reconnects,
        "garbage": measured.garbage,
        "garbage answered": measured.garbage_answered,
        "resident in the second quarter MiB": early,
        "resident in the last quarter MiB": late,
    }


def main(reference: Path | None, *, quick: bool) -> dict[str, Figures]:
    """Every side."""
    rounds = 10 if quick else 50
    found: dict[str, Figures] = {}
    for side in sides(reference):
        try:
            found[side.name] = asyncio.run(measure(side, rounds=rounds))
        except AssertionError:
            if side.ours:
                raise
            # The original refuses turns as overload under this load, now and then all of them.
            found[side.name] = {"refused": 1.0}
    return found


if __name__ == "__main__":
    given = options(__doc__, minutes=True)
    if given.minutes:
        [ours] = sides(None)
        report("load", {"ours": asyncio.run(soak(ours, minutes=given.minutes))})
    else:
        report("load", main(given.reference, quick=given.quick))
