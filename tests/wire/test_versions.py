"""Both memory versions over the wire: learned by a model, read by threads, counted and reset."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.cli.render import consolidated, overview
from tests.support.consolidators import SUMMARY
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import (
    Call,
    Recorded,
    Reply,
    ResponsesServer,
    calls,
    says,
    says_json,
    status,
)
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
LEARNED = {
    "rollout_summary": "# The linter comes first\n",
    "rollout_slug": "linter",
    "raw_memory": "- linter first",
}
FILES = {
    "v1": {"MEMORY.md": "# Task Group: all\n", "memory_summary.md": SUMMARY + "- MARK-ONE\n"},
    "v2": {"memory_summary.md": SUMMARY + "- MARK-TWO\n"},
}


def version_of(request: Recorded) -> str:
    """Whose prompt a consolidation has."""
    return "v2" if "compact memory" in str(request.body["instructions"]) else "v1"


def learns(request: Recorded) -> Reply | None:
    """A model that extracts and consolidates well in either version."""
    if request.structured:
        schema = request.body["text"]["format"]["schema"]
        return says_json({key: LEARNED[key] for key in schema["properties"]})
    if "write" not in request.tool_names:
        return None
    if any(item.get("type") == "function_call_output" for item in request.body["input"]):
        return says("done")
    files = FILES[version_of(request)]
    return calls(
        *(Call(name="write", arguments={"path": p, "content": t}) for p, t in files.items())
    )


def config(model: ResponsesServer, **memories: Any) -> str:
    """A model for everything, and these settings of memory."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in memories.items()]
    return "\n".join([provider_config(model.base_url), "[memories]", *lines])


async def learned(client: WireClient) -> dict[str, Any]:
    """Import the samples and consolidate."""
    await client.request("thread/import", {"path": str(SAMPLES)})
    return dict(await client.request("memory/consolidate/start", {"wait": True}))


def developer_texts(request: Recorded) -> list[str]:
    """The parts of the developer message."""
    return [
        part["text"]
        for item in request.body["input"]
        if item.get("role") == "developer"
        for part in item["content"]
    ]


@pytest.mark.requirement("MW-8.2-v2-alone")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_model_extracts_and_consolidates_in_either_version(
    tmp_path: Path, version: str
) -> None:
    """One call a session with the version's own schema, then an agent with the version's rules."""
    async with ResponsesServer() as model:
        model.choose = learns
        settings = config(model, version=version)
        async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
            result = await learned(client)
            folder = home.home.memories(version)
            other = home.home.memories("v1" if version == "v2" else "v2")
            assert not other.exists()
            for path, text in FILES[version].items():
                assert (folder / path).read_text() == text
            assert (folder / "raw_memories.md").exists() is (version == "v1")
    assert result["consolidation"]["status"] == "published"
    assert [one["version"] for one in result["versions"]] == [version]
    extractions = [one for one in model.requests if one.structured]
    assert len(extractions) == result["extraction"]["succeeded"] == 5
    keys = ["rollout_summary", "rollout_slug", *(["raw_memory"] if version == "v1" else [])]
    for request in extractions:
        schema = request.body["text"]["format"]
        assert schema["strict"] is True
        assert schema["schema"]["required"] == keys
        assert request.body["reasoning"]["effort"] == "low"
        assert not request.body.get("tools")
    text = "".join(extractions[0].user_texts)
    assert ("[human user]" in text) is (version == "v2")
    agents = [one for one in model.requests if not one.structured]
    assert {version_of(one) for one in agents} == {version}


@pytest.mark.requirement("MW-8.2-chunks")
async def test_the_evidence_of_v2_comes_in_bounded_messages(tmp_path: Path) -> None:
    """At most 8,900 bytes each; joined they are the whole prompt."""
    rollout = tmp_path / "long.jsonl"
    lines = [json.loads(line) for line in next(SAMPLES.glob("*.jsonl")).read_text().splitlines()]
    for line in lines:
        if line["type"] == "response_item" and line["payload"].get("role") == "user":
            line["payload"]["content"][-1]["text"] += " Größer! " * 900
    rollout.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    async with ResponsesServer() as model:
        model.choose = learns
        settings = config(model, version="v2")
        async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
            await client.request("thread/import", {"path": str(rollout)})
            await client.request("memory/consolidate/start", {"wait": True})
    [request] = [one for one in model.requests if one.structured]
    sizes = [len(text.encode()) for text in request.user_texts]
    assert len(sizes) >= 2 and max(sizes) <= 8_900
    joined = "".join(request.user_texts)
    assert joined.startswith("Read the session below")
    assert joined.rstrip().endswith("Answer now with the JSON object.")
    assert "- git branch, as a hint: " in joined


@pytest.mark.requirement("FR-E2")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_prompt_that_the_model_refuses_is_halved_once(tmp_path: Path, version: str) -> None:
    """Never sent again as it was; the second answer counts."""
    async with ResponsesServer() as model:
        refused: list[Recorded] = []

        def choose(request: Recorded) -> Reply | None:
            if request.structured and not refused:
                refused.append(request)
                return status(400, "too long", code="context_length_exceeded")
            return learns(request)

        model.choose = choose
        settings = config(model, version=version)
        async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
            sample = next(SAMPLES.glob("*.jsonl"))
            await client.request("thread/import", {"path": str(sample)})
            result = await client.request("memory/consolidate/start", {"wait": True})
    assert result["extraction"]["succeeded"] == 1
    first, second = [one for one in model.requests if one.structured]
    assert len("".join(second.user_texts)) < 0.8 * len("".join(first.user_texts))


@pytest.mark.requirement("MW-8.2-dual-stores")
async def test_dual_write_learns_both_and_threads_read_their_own(tmp_path: Path) -> None:
    """A thread may name its version when it starts, and keeps it."""
    async with ResponsesServer() as model:
        model.choose = learns
        settings = config(model, dual_write=True)
        async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
            result = await learned(client)
            assert [one["version"] for one in result["versions"]] == ["v1", "v2"]
            assert {one["consolidation"]["status"] for one in result["versions"]} == {"published"}
            assert len([one for one in model.requests if one.structured]) == 10
            lines = "\n".join(consolidated(result))
            assert "v1: memory is published" in lines and "v2: memory is published" in lines
            view = await client.request("memory/overview", {})
            assert [one["version"] for one in view["versions"]] == ["v1", "v2"]
            assert [one["isRead"] for one in view["versions"]] == [True, False]
            assert {one["outputs"] for one in view["versions"]} == {5}
            assert view["lastEdition"] == view["versions"][0]["lastEdition"]
            assert "v2 (written too), in " in "\n".join(overview(view, joined=True))
            for version, mark, absent in (
                (None, "MARK-ONE", "MARK-TWO"),
                ("v1", "MARK-ONE", "MARK-TWO"),
                ("v2", "MARK-TWO", "MARK-ONE"),
            ):
                chosen = {} if version is None else {"config": {"memories.version": version}}
                thread = await started(client, **chosen)
                read = await client.request("thread/memory/read", {"threadId": thread})
                assert mark in read["summary"] and absent not in read["summary"]
                await said(client, thread, "hello")
                parts = developer_texts(model.requests[-1])
                assert mark in "".join(parts) and absent not in "".join(parts)
                wanted = home.home.memories(version or "v1")
                assert f"`{wanted}`" in "".join(parts)
            error = await error_of(
                client, "thread/start", {"config": {"memories": {"version": "v3"}}}
            )
            assert (error["code"], error["message"]) == (
                -32600,
                "failed to load configuration: unknown variant `v3`, expected `v1` or `v2`",
            )


async def test_a_thread_of_v2_reads_and_notes_in_its_own_folder(tmp_path: Path) -> None:
    """Its tools know no other."""
    settings = '[memories]\nversion = "v2"\n'
    async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        thread = await started(client, cwd="/home/sam/webshop")
        [item] = (await said(client, thread, "How do I run the tests?"))["items"]
        assert "make check" in item["text"]
        cited = item["memoryCitation"]
        assert [one["path"].startswith("rollout_summaries/") for one in cited["entries"]] == [True]
        assert len(cited["threadIds"]) == 1
        other = await started(client)
        await said(client, other, "Remember that the staging host is called otter.")
        [note] = (home.home.memories("v2") / "extensions/ad_hoc/notes").iterdir()
        assert "otter" in note.read_text()
        assert not home.home.memories("v1").exists()
        state = home.server.services.state
        async with state.database.reading() as read:
            rows = await state.outputs.latest(read, version="v2", outputs_max=10)
        assert sorted(row.output.usage_count for row in rows) == [0, 0, 0, 1]


async def test_a_long_summary_of_v2_is_injected_in_parts(tmp_path: Path) -> None:
    """Each of at most 8,900 bytes, in one developer message; v1 stays one part."""
    async with ResponsesServer() as model:
        settings = config(model)
        async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
            for version in ("v1", "v2"):
                folder = home.home.memories(version)
                folder.mkdir(exist_ok=True)
                (folder / "memory_summary.md").write_text(SUMMARY + "- déjà vu\n" * 800)
            sizes: dict[str, list[int]] = {}
            for version in ("v1", "v2"):
                thread = await started(client, config={"memories.version": version})
                await said(client, thread, "hello")
                texts = developer_texts(model.requests[-1])
                sizes[version] = [len(text.encode()) for text in texts]
    assert len(sizes["v1"]) == 1 and sizes["v1"][0] > 8_900
    assert len(sizes["v2"]) == 2 and max(sizes["v2"]) <= 8_900


@pytest.mark.requirement("MR-9-18")
async def test_the_status_counts_threads_of_v2_and_says_when_it_is_ready(tmp_path: Path) -> None:
    """The count outlives a deletion and ends with a reset; a summary must be sound."""
    settings = "[memories]\ndual_write = true\n"
    async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
        told = _status(client)
        assert await told(None) == (0, True), "without a folder of v1 there is nothing to wait for"
        home.home.memories("v1").mkdir()
        assert await told(None) == (0, False)
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        assert await told(None) == (4, False)
        assert await told(4) == (4, True)
        summary = home.home.memories("v2") / "memory_summary.md"
        text = summary.read_text()
        for unsound in (
            text.replace("## General Tips", "## Tips"),
            text + "x" * 10_000,
            "v2" + text,
        ):
            summary.write_text(unsound)
            assert await told(4) == (4, False)
        summary.write_text(text)
        [thread, *_] = (await client.request("thread/list", {"sourceKinds": []}))["data"]
        await client.request("thread/delete", {"threadId": thread["id"]})
        assert await told(4) == (4, True)
        await client.request("memory/reset")
        assert await told(1) == (0, False), "an empty folder of v1 counts as one"
        assert not home.home.memories("v3").exists()


def _status(client: WireClient) -> Callable[[int | None], Any]:
    async def told(least: int | None) -> tuple[int, bool]:
        params = {} if least is None else {"minConsolidatedThreads": least}
        result = await client.request("memory/status", params)
        return result["v2ConsolidatedThreads"], result["v2Ready"]

    return told


@pytest.mark.requirement("MR-9-22")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_what_only_a_deleted_thread_said_is_gone_when_the_deletion_returns(
    tmp_path: Path, version: str
) -> None:
    """By code and at once, in every version that is written; what others said stays."""
    settings = f'[memories]\nversion = "{version}"\ndual_write = true\n'
    async with serving(tmp_path, config=settings) as home, home.wire.client("pair") as client:
        await client.request("thread/import", {"path": str(SAMPLES)})
        await client.request("memory/consolidate/start", {"wait": True})
        folders = [home.home.memories(one) for one in ("v1", "v2")]

        def texts() -> list[str]:
            return [
                "\n".join(
                    path.read_text("utf-8", "replace")
                    for path in folder.rglob("*")
                    if path.is_file() and ".git" not in path.parts
                )
                for folder in folders
            ]

        assert all("Lisbon" in text and "make check" in text for text in texts())
        every = (await client.request("thread/list", {"sourceKinds": []}))["data"]
        listed = [one for one in every if one["cwd"].endswith("essays")]
        for thread in listed:
            await client.request("thread/delete", {"threadId": thread["id"]})
        for text in texts():
            assert "Lisbon" not in text
            assert all(thread["id"] not in text for thread in listed)
            assert "make check" in text
        view = await client.request("memory/overview", {})
        assert {one["outputs"] for one in view["versions"]} == {3}
