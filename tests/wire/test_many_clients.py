"""Many clients at once, good and bad ones: nobody who behaves misses anything."""

import statistics
from pathlib import Path

import pytest

from tests.bench.figures import percentile
from tests.bench.sides import rss_mib
from tests.support.homes import provider_config
from tests.support.installed import environment
from tests.support.many_clients import GARBAGE, THREADS, Load, lags_ms, probed
from tests.support.responses_server import Recorded, Reply, ResponsesServer

ANSWER = "A few words of an answer that comes in pieces, one after the other, not at once."
MINUTE = 110
GROWTH_MIB_MAX = 32


def _streaming(request: Recorded) -> Reply:
    return Reply(text=ANSWER, tokens_per_s=50)


@pytest.mark.timeout(600)
@pytest.mark.requirement("FR-T2", "FR-T3")
@pytest.mark.parametrize(
    "rounds", [8, pytest.param(MINUTE, marks=pytest.mark.slow)], ids=["seconds", "a minute"]
)
async def test_fifty_clients_are_told_everything_once(rounds: int, tmp_path: Path) -> None:
    """Beside one that reads nothing, one that comes and leaves, and one that sends garbage."""
    home = tmp_path / "home"
    home.mkdir()
    async with ResponsesServer() as model:
        model.choose = _streaming
        (home / "config.toml").write_text(provider_config(model.base_url))
        async with probed(home, environment(home)) as (process, url):
            sizes: list[float] = []
            load = Load(url, "go on", str(tmp_path))
            measured = await load.run(rounds, lambda: sizes.append(rss_mib(process.pid)))
            lags = await lags_ms(process)
    assert measured.faults == []
    assert measured.turns == rounds * THREADS
    assert measured.reconnects >= 1 and measured.garbage >= len(GARBAGE)
    quarter = max(1, len(sizes) // 4)
    early = statistics.median(sizes[quarter : 2 * quarter])
    growth = statistics.median(sizes[-quarter:]) - early
    late = percentile(lags, 99)
    print(f"\n{measured.turns} turns in {measured.seconds:.1f} s, loop lag p99 {late:.1f} ms,")
    print(f"{measured.deltas_per_s:.0f} deltas/s, {early:.0f} MiB and {growth:+.1f}")
    assert growth < GROWTH_MIB_MAX
