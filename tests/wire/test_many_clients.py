"""Many clients at once, good and bad ones: nobody who behaves misses anything."""

from pathlib import Path

import pytest

from tests.bench.figures import percentile
from tests.bench.sides import rss_mib
from tests.support.homes import provider_config
from tests.support.installed import environment
from tests.support.many_clients import THREADS, Load, flat_mib, for_seconds
from tests.support.probed import lags_ms, probed
from tests.support.responses_server import Recorded, Reply, ResponsesServer

ANSWER = "A few words of an answer that comes in pieces, one after the other, not at once."
SECONDS = 60
TURNS_PER_THREAD = 10
GROWTH_MIB_MAX = 16


def _streaming(request: Recorded) -> Reply:
    return Reply(text=ANSWER, tokens_per_s=50)


@pytest.mark.timeout(600)
@pytest.mark.requirement("FR-T2", "FR-T3")
async def test_fifty_clients_are_told_everything_once(tmp_path: Path) -> None:
    """For a minute, beside one that reads nothing, one that reconnects and one of garbage."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        model.choose = _streaming
        (home / "config.toml").write_text(provider_config(model.base_url))
        async with probed(home, environment(home)) as (process, url):
            sizes: list[float] = []
            load = Load(url, "go on", str(tmp_path), turns_per_thread=TURNS_PER_THREAD)
            going = for_seconds(SECONDS)
            measured = await load.run(going, lambda: sizes.append(rss_mib(process.pid)))
            lags = await lags_ms(process)
    assert measured.faults == []
    assert measured.turns >= THREADS
    assert measured.reconnects >= 1
    assert measured.garbage_answered == measured.garbage > 0
    early, late = flat_mib(sizes)
    print(f"\n{measured.turns} turns in {measured.seconds:.1f} s, {early:.0f} and {late:.0f} MiB,")
    print(f"{measured.deltas_per_s:.0f} deltas/s, loop lag p99 {percentile(lags, 99):.1f} ms")
    assert late - early < GROWTH_MIB_MAX
