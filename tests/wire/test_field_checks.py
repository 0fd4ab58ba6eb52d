"""Checks of the field reports about learning that need a whole server."""

from pathlib import Path

import pytest

from server.cli.render import consolidated
from tests.support.homes import provider_config, serving
from tests.support.responses_server import Recorded, Reply, ResponsesServer, says, status

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"


@pytest.mark.requirement("FR-G3")
async def test_one_thread_is_learned_while_somebody_waits(tmp_path: Path) -> None:
    """The answer comes after the commit and holds its id; a repeat does nothing."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        listed = await client.request("thread/list", {"limit": 10})
        thread = listed["data"][0]["id"]
        order = {"threadId": thread, "wait": True}
        done = await client.request("memory/consolidate/start", order)
        assert (done["status"], done["extraction"]["claimed"]) == ("finished", 1)
        edition = done["consolidation"]["editionId"]
        assert edition is not None
        assert (home.home.memories("v1") / "memory_summary.md").exists()
        again = await client.request("memory/consolidate/start", order)
        assert (again["extraction"]["claimed"], again["inputTokens"]) == (0, 0)
        overview = await client.request("memory/overview", {})
        assert overview["lastEdition"]["editionId"] == edition
        begun = await client.request("memory/consolidate/start", {**order, "wait": False})
        assert begun["status"] == "running" and begun["jobId"]


@pytest.mark.requirement("FR-G2", "FR-E5")
async def test_an_endpoint_that_ignores_the_schema_stores_nothing_and_says_why(
    tmp_path: Path,
) -> None:
    """A minimal stub: no headers, prose where a strict schema was asked for."""
    async with ResponsesServer() as model:
        model.choose = lambda request: says("Sure, I remember it all.")
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await client.request("thread/import", {"path": str(SAMPLES)})
            done = await client.request("memory/consolidate/start", {"wait": True})
            assert done["extraction"]["succeeded"] == 0
            assert sum(done["extraction"]["failed"].values()) == 5
            told = "\n".join(consolidated(done))
            assert "heard 5 sessions: 0 with something to remember, 0 without, 5 failed" in told
            assert all(reason.startswith("bad_output") for reason in done["extraction"]["failed"])
            assert done["consolidation"]["reason"] == "no_extraction_succeeded"


@pytest.mark.requirement("FR-C2")
async def test_five_failures_are_no_success_and_are_told_with_the_next_try(tmp_path: Path) -> None:
    """None of five could be heard: the class of the error and the time of the next try."""

    def choose(request: Recorded) -> Reply | None:
        return status(503) if request.structured else None

    async with ResponsesServer() as model:
        model.choose = choose
        config = provider_config(model.base_url)
        async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
            await client.request("thread/import", {"path": str(SAMPLES)})
            done = await client.request("memory/consolidate/start", {"wait": True})
            assert sum(done["extraction"]["failed"].values()) == 5
            assert done["consolidation"]["status"] != "published"
            overview = await client.request("memory/overview", {})
            waiting = [one for one in overview["waiting"] if one["kind"] == "extraction"]
            assert len(waiting) == 5
            assert {one["attemptsLeft"] for one in waiting} == {3}
            assert all(one["reason"] and one["retryAtMs"] for one in waiting)


@pytest.mark.requirement("FR-E10")
async def test_learning_anew_is_chosen_over_the_wire_and_outlives_a_lost_database(
    tmp_path: Path,
) -> None:
    """A reset for good, then one that lets all be learned anew; the journal knows the last."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        await client.request("memory/reset", {})
        held = await client.request("memory/consolidate/start", {"wait": True})
        assert held["extraction"]["succeeded"] == 0
        await client.request("memory/reset", {"relearn": True})
    home.home.database.unlink()
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        anew = await client.request("memory/consolidate/start", {"wait": True})
        assert anew["extraction"]["succeeded"] > 0
