"""What a client that never reads costs the nineteen beside it: delay of events, server memory.

The scene of `tests/acceptance/test_slow_client.py`: the installed server, twenty clients on every
transport, turns of a fifth of a megabyte until each of the others has got fifty. The delay is from
the server's stamp of an event to its arrival, in whole milliseconds; all clients and the model are
in this one process, so what they take stands in it too, and in the figures without the slow one.
"""

import asyncio
import tempfile
from pathlib import Path

from tests.bench.figures import Figures, options, percentile, report
from tests.support.homes import provider_config
from tests.support.owner_process import JOINING, Way, owner_serving
from tests.support.responses_server import ResponsesServer
from tests.support.slow_client import twenty

EVENT_BYTES = 50_000_000
WARM_BYTES = 40_000_000


async def measure(slow: Way | None, *, event_bytes: int) -> Figures:
    """One server; nobody is slow where `slow` is None."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder, "home")
        home.mkdir(mode=0o700)
        async with ResponsesServer() as model:
            (home / "config.toml").write_text(provider_config(model.base_url), "utf-8")
            async with (
                owner_serving(home, Path(folder)) as owner,
                twenty(owner, model, slow or "websocket", folder) as flood,
            ):
                await flood.run(WARM_BYTES)
                before, seen = flood.sizes_mib[-1], len(flood.turns)
                for one in flood.others:
                    one.delays_ms.clear()
                if slow is not None:
                    await flood.slow.pause()
                await flood.run(event_bytes)
                assert flood.closed.is_set() is (slow is not None)
    delays = [delay for one in flood.others for delay in one.delays_ms]
    name = slow or "nobody"
    return {
        f"{name} slow: delay median ms": percentile(delays, 50),
        f"{name} slow: delay p99 ms": percentile(delays, 99),
        f"{name} slow: delay longest ms": max(delays),
        f"{name} slow: grown MiB": max(flood.sizes_mib[seen:]) - before,
    }


def main(*, quick: bool) -> dict[str, Figures]:
    """Ours alone."""
    figures: Figures = {}
    for slow in (None, *JOINING):
        event_bytes = EVENT_BYTES // 5 if quick else EVENT_BYTES
        figures |= asyncio.run(measure(slow, event_bytes=event_bytes))
    return {"ours": figures}


if __name__ == "__main__":
    report("slow_client", main(quick=options(__doc__).quick))
