"""Remember and correct over the wire: kept word for word, in force for the next thread.

Longer than the habit: all that may become of a note, over one way in.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_read.framed import BEGINS, CORRECTIONS_BEGIN, ENDS, NOTES_BEGIN
from memory_read.tools import memory_tools
from server.handlers.notes import line_digest
from state.home import Home
from tests.support.homes import Serving, serving
from tests.support.methods import error_of, said, started
from tests.support.sections import told
from tests.support.wire import WireClient

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"
SECRET = "sk-" + "a1B2" * 8
AD_HOC = "extensions/ad_hoc"
NOTES = f"{AD_HOC}/notes"
OLD = "The tests run with `make check`, which sets the path."


@asynccontextmanager
async def attached(tmp_path: Path, config: str = "") -> AsyncIterator[tuple[Serving, WireClient]]:
    """A server and one client of it."""
    async with serving(tmp_path, config=config) as home, home.wire.client("pair") as client:
        yield home, client


async def learned(client: WireClient) -> None:
    """Memory of the sample sessions, published."""
    await client.request("thread/import", {"path": str(SAMPLES)})
    result = await client.request("memory/consolidate/start", {"wait": True})
    assert result["consolidation"]["status"] == "published"


def texts(home: Home, version: str = "v1") -> dict[str, str]:
    """The notes of a version, by file name."""
    folder = home.memories(version) / NOTES
    return {path.name: path.read_bytes().decode() for path in sorted(folder.glob("*"))}


def outside(folder: Path) -> set[str]:
    """What a home has below its memory folder and around it, but for the notes and its own."""
    home = folder / "home"
    own = ("state.sqlite", "journal.jsonl", "run", "keys", "sessions", "staging", "archived")
    found = {path.relative_to(home).as_posix() for path in home.rglob("*")}
    assert {path.name for path in folder.iterdir()} <= {"home"}
    return {one for one in found if not one.startswith((*own, f"memories/{AD_HOC}"))}


def place_of(home: Home, words: str, file: str = "memory_summary.md") -> str:
    """The id of the line of a memory file that has these words."""
    lines = (home.memories("v1") / file).read_text("utf-8").split("\n")
    [number] = [n for n, line in enumerate(lines, start=1) if words in line]
    return f"{file}:{number}"


@pytest.mark.requirement("P13", "FR-R6", "FR-U6", "FR-C11", "FR-R14")
async def test_a_note_is_in_force_for_the_next_thread_and_says_so(tmp_path: Path) -> None:
    """Kept to the byte, with a receipt, before anything was learned."""
    text = "The staging database is read only.\r\n ☕ on Fridays "
    async with attached(tmp_path) as (home, client):
        receipt = await client.request("memory/remember", {"text": text})
        assert receipt == {
            "noteId": receipt["noteId"],
            "base": receipt["base"],
            "durable": True,
            "path": f"{NOTES}/{receipt['noteId']}.md",
            "version": "v1",
            "versions": ["v1"],
            "missing": [],
            "inForce": "next thread",
            "masked": False,
            "withheld": 0,
            "corrects": None,
        }
        assert texts(home.home) == {f"{receipt['noteId']}.md": text}
        section = await told(client, home.home.root)
        assert "The staging database is read only." in section.split(NOTES_BEGIN)[1]


async def test_a_line_that_no_thread_is_told_is_counted_in_the_receipt(tmp_path: Path) -> None:
    """It is kept all the same; of a correction the new words count."""
    long = "x" * 5_000
    async with attached(tmp_path) as (home, client):
        receipt = await client.request("memory/remember", {"text": f"The token map:\n{long}"})
        assert receipt["withheld"] == 1
        assert long in texts(home.home)[f"{receipt['noteId']}.md"]
        assert long not in await told(client, home.home.root)
        params = {"text": f"Plain.\n{long}\n{long}", "id": receipt["noteId"]}
        assert (await client.request("memory/correct", params))["withheld"] == 2


async def test_a_switched_off_memory_keeps_the_note_and_says_that_it_waits(tmp_path: Path) -> None:
    """No thread is told of it until memory is on again."""
    async with attached(tmp_path, "[memories]\nuse_memories = false\n") as (home, client):
        receipt = await client.request("memory/remember", {"text": "use tabs"})
        assert receipt["inForce"] == "when memory is on"
        assert await told(client, home.home.root) == ""


async def test_every_version_that_is_written_has_the_note(tmp_path: Path) -> None:
    """The one that was asked for first; each read version tells it."""
    async with attached(tmp_path, "[memories]\ndual_write = true\n") as (home, client):
        receipt = await client.request("memory/remember", {"text": "use tabs", "version": "v2"})
        assert (receipt["version"], receipt["versions"]) == ("v2", ["v2", "v1"])
        assert texts(home.home, "v1") == texts(home.home, "v2") != {}
        for version in ("v1", "v2"):
            config = {"memories.version": version}
            assert "use tabs" in await told(client, home.home.root, config=config)
        thread = await started(client, config={"memories.version": "v2"})
        receipt = await client.request("memory/remember", {"text": "b", "threadId": thread})
        assert receipt["version"] == "v2"


async def test_a_version_that_cannot_have_it_is_named(tmp_path: Path) -> None:
    """The note stands where it is read; the one asked for failing is an error, nothing written."""
    async with attached(tmp_path, "[memories]\ndual_write = true\n") as (home, client):
        home.home.memories("v2").symlink_to(tmp_path)
        receipt = await client.request("memory/remember", {"text": "use tabs"})
        assert receipt["versions"] == ["v1"]
        [missing] = receipt["missing"]
        assert missing["version"] == "v2" and str(home.home.memories("v2")) in missing["reason"]
        error = await error_of(client, "memory/remember", {"text": "b", "version": "v2"})
        assert error["data"]["kind"] in ("workspaceUnsafe", "pathRefused")
        assert len(texts(home.home)) == 1


@pytest.mark.requirement("FR-R14", "FR-F18")
async def test_only_a_bare_secret_is_refused(tmp_path: Path) -> None:
    """Trivial words are kept; a secret in a sentence is masked and the receipt says so."""
    async with attached(tmp_path) as (home, client):
        for text in ("ok", "I like tea.", "7", "🙂🙂"):
            receipt = await client.request("memory/remember", {"text": text})
            assert texts(home.home)[f"{receipt['noteId']}.md"] == text
        receipt = await client.request("memory/remember", {"text": f"key {SECRET} for staging"})
        assert receipt["masked"] is True
        kept = texts(home.home)[f"{receipt['noteId']}.md"]
        assert SECRET not in kept and kept.endswith("for staging")
        count = len(texts(home.home))
        for method, params in (
            ("memory/remember", {"text": f" {SECRET}\n"}),
            ("memory/correct", {"text": SECRET, "id": receipt["noteId"]}),
        ):
            error = await error_of(client, method, params)
            assert "nothing but a secret; nothing was saved" in error["message"]
            assert SECRET not in str(error)
        assert len(texts(home.home)) == count


@pytest.mark.requirement("FR-U7")
async def test_whatever_the_words_the_name_is_ours(tmp_path: Path) -> None:
    """Path-like, reserved, hidden, long, odd and equal texts each make one plain file."""
    hostile = [
        "../../../etc/passwd",
        "/abs/olute.md",
        ".hidden",
        "CON",
        "a\0b",
        "..",
        "~/.ssh/config",
        "x" * 5_000,
        "\u202e\u200bword",
        "C:\\windows\\system32",
        "same words",
        "same words",
        "same words",
    ]
    async with attached(tmp_path) as (home, client):
        for text in hostile:
            await client.request("memory/remember", {"text": text})
        assert len(texts(home.home)) == len(hostile)
        assert sorted(texts(home.home).values()) == sorted(hostile)
        assert all(name.isascii() and len(name) <= 128 for name in texts(home.home))
        assert outside(tmp_path) == {"memories", "memories/extensions"}
        for text in ("", " \n\t", "x" * 40_000):
            error = await error_of(client, "memory/remember", {"text": text})
            assert error["data"]["kind"] == "pathRefused"
        assert len(texts(home.home)) == len(hostile)


@pytest.mark.requirement("FR-U6")
async def test_a_full_store_takes_a_note_as_fast_as_an_empty_one(tmp_path: Path) -> None:
    """Hundreds of notes, a summary over its budget, no room for another session."""
    async with attached(tmp_path, "[memories]\nmax_raw_memories_for_consolidation = 1\n") as (
        home,
        client,
    ):
        await learned(client)
        folder = home.home.memories("v1")
        (folder / "memory_summary.md").write_text("v1\n" + "- a line of memory\n" * 12_000)
        (folder / NOTES).mkdir(parents=True, exist_ok=True)
        for number in range(400):
            name = f"2026-01-01T00-{number // 60:02d}-{number % 60:02d}-n{number}.md"
            (folder / NOTES / name).write_text(f"note {number} " + "word " * 50)
        receipt = await client.request("memory/remember", {"text": "use tabs from now on"})
        assert receipt["durable"] is True
        assert "use tabs from now on" in await told(client, home.home.root)


@pytest.mark.requirement("FR-S8", "FR-U6")
async def test_two_clients_at_once_lose_no_note(tmp_path: Path) -> None:
    """A hundred rounds of two notes each, in the same second and with the same words."""
    async with serving(tmp_path) as home, home.wire.client("pair") as one:
        async with home.wire.client("websocket") as other:
            for number in range(100):
                await asyncio.gather(
                    one.request("memory/remember", {"text": f"round {number} of one"}),
                    other.request("memory/remember", {"text": f"round {number} of other"}),
                )
        found = texts(home.home)
        assert len(found) == 200
        assert set(found.values()) == {
            f"round {number} of {who}" for number in range(100) for who in ("one", "other")
        }


@pytest.mark.requirement("FR-S8")
async def test_a_stale_base_is_refused_with_what_stands_there_now(tmp_path: Path) -> None:
    """Of a note and of a line; nothing is written."""
    async with attached(tmp_path) as (home, client):
        await learned(client)
        receipt = await client.request("memory/remember", {"text": "use tabs"})
        path = home.home.memories("v1") / receipt["path"]
        path.write_text("use two spaces")
        params = {"id": receipt["noteId"], "text": "use four", "base": receipt["base"]}
        error = await error_of(client, "memory/correct", params)
        assert error["data"]["kind"] == "staleBase"
        current = error["data"]["current"]
        assert current["text"] == "use two spaces"
        again = await client.request("memory/correct", {**params, "base": current["base"]})
        assert again["corrects"] == receipt["path"]
        place = place_of(home.home, OLD)
        stale = {"id": place, "text": "x y", "base": line_digest("- another line")}
        error = await error_of(client, "memory/correct", stale)
        assert error["data"]["kind"] == "staleBase"
        assert OLD in error["data"]["current"]["text"]
        assert len(texts(home.home)) == 2


@pytest.mark.requirement("FR-F1", "FR-S8", "P13")
async def test_of_several_corrections_of_one_thing_the_last_alone_holds(tmp_path: Path) -> None:
    """Within one second too, of a note and of a line; who saw an older one is refused."""
    async with attached(tmp_path) as (home, client):
        await learned(client)
        note = await client.request("memory/remember", {"text": "The API listens on 8080"})
        for target in (note["noteId"], place_of(home.home, OLD)):
            for words in ("zebra 8081", "yak 8082", "aardvark 8083"):
                await client.request("memory/correct", {"id": target, "text": words})
            found = await client.request("memory/search", {"query": "zebra yak aardvark"})
            assert [hit["text"] for hit in found["hits"]] == ["aardvark 8083"]
            thread = await started(client)
            await said(client, thread, "hello")
            report = await client.request("thread/memory/report", {"threadId": thread})
            assert report["corrections"] == 1
            for one in sorted((home.home.memories("v1") / NOTES).glob("*-correct-*")):
                one.unlink()
        one = await client.request("memory/correct", {"id": note["noteId"], "text": "It is 9"})
        stale = {"id": note["noteId"], "text": "It is 10", "base": note["base"]}
        error = await error_of(client, "memory/correct", stale)
        assert error["data"]["current"] == {"base": one["base"], "text": "It is 9"}
        await client.request("memory/correct", {**stale, "base": one["base"]})


@pytest.mark.parametrize("text", ["", " \n", "\0", "\u200b\u2060"])
async def test_what_nobody_could_see_is_no_note(text: str, tmp_path: Path) -> None:
    """A correction that says nothing would hide what it corrects."""
    async with attached(tmp_path) as (home, client):
        note = await client.request("memory/remember", {"text": "use tabs"})
        for method, params in (
            ("memory/remember", {"text": text}),
            ("memory/correct", {"id": note["noteId"], "text": text}),
        ):
            assert (await error_of(client, method, params))["code"] == -32600
        assert len(texts(home.home)) == 1


async def test_a_line_that_moved_is_found_again_by_its_digest(tmp_path: Path) -> None:
    """Somebody put lines above it since the caller looked."""
    async with attached(tmp_path) as (home, client):
        await learned(client)
        summary = home.home.memories("v1") / "memory_summary.md"
        place = place_of(home.home, OLD)
        number = int(place.rpartition(":")[2])
        digest = line_digest(summary.read_text().split("\n")[number - 1])
        summary.write_text("\n\n\n" + summary.read_text())
        receipt = await client.request(
            "memory/correct", {"id": f"{place}#{digest}", "text": "They run with just."}
        )
        assert receipt["corrects"] == f"memory_summary.md:{number + 3}"


async def test_several_lines_are_corrected_at_once(tmp_path: Path) -> None:
    """As a search names what it found, by its first and last line."""
    async with attached(tmp_path) as (home, client):
        folder = home.home.memories("v1")
        folder.mkdir()
        text = "v1\n\n- The port is 8080.\n\n- The host is shop-1.\n- Tea at five.\n"
        (folder / "memory_summary.md").write_text(text)
        params = {"id": "memory_summary.md:3-5", "text": "Both moved: shop-2, port 9090."}
        receipt = await client.request("memory/correct", params)
        assert receipt["corrects"] == "memory_summary.md:3-5"
        section = await told(client, home.home.root)
        assert "Both moved: shop-2, port 9090." in section
        assert "8080" not in section and "shop-1" not in section and "Tea at five" in section


@pytest.mark.parametrize(
    "given",
    [
        "no-such-note",
        "memory_summary.md:9999",
        "memory_summary.md:1",
        "../config.toml:1",
        ".git/HEAD:1",
        "memory_summary.md:0",
        "memory_summary.md:3-2",
        "memory_summary.md:1-2",
        "memory_summary.md:1-900",
        "x" * 500,
        "",
    ],
)
async def test_an_id_that_names_nothing_is_an_error_and_writes_nothing(
    tmp_path: Path, given: str
) -> None:
    """Unknown notes and lines, lines that state nothing, paths out of the folder."""
    async with attached(tmp_path) as (home, client):
        await client.request("memory/remember", {"text": "one"})
        folder = home.home.memories("v1")
        (folder / "memory_summary.md").write_text("## User Profile\n\n- likes tea\n")
        params = {"id": given, "text": "something else"}
        error = await error_of(client, "memory/correct", params)
        assert error["code"] == -32600
        assert len(texts(home.home)) == 1


async def test_parameters_that_fit_nothing_are_told(tmp_path: Path) -> None:
    """Unknown threads and versions, relative folders, unknown keys."""
    nobody = "00000000-0000-7000-8000-000000000000"
    async with attached(tmp_path) as (home, client):
        for more, word in (
            ({"threadId": nobody}, "no rollout found"),
            ({"version": "v9"}, "it is one of v1, v2"),
            ({"cwd": "here"}, "cwd must be absolute"),
            ({"scope": "user"}, "unknown field"),
        ):
            error = await error_of(client, "memory/remember", {"text": "a", **more})
            assert word in error["message"], error
        assert texts(home.home) == {}


@pytest.mark.requirement("FR-F2", "FR-F11")
async def test_a_correction_outranks_every_use_of_what_it_corrects(tmp_path: Path) -> None:
    """The wrong fact was cited nine times; the correction is injected, found, and answered."""
    async with attached(tmp_path) as (home, client):
        await learned(client)
        for _ in range(9):
            thread = await started(client)
            turn = await said(client, thread, "How do I run the tests in webshop?")
            assert "make check" in turn["items"][-1]["text"]
        params = {"id": place_of(home.home, OLD), "text": "The tests run with `just test`."}
        receipt = await client.request("memory/correct", params)
        assert receipt["corrects"] == params["id"]
        section = await told(client, home.home.root)
        assert section.index("The tests run with `just test`.") < section.index(BEGINS)
        assert OLD not in section
        tools = {
            tool.name: tool for tool in memory_tools(home.home, "v1", home.server.services.clock)
        }
        found = await tools["search"].call('{"queries":["tests run with"]}')
        assert "just test" in found and OLD not in found.replace(f"Forget: {OLD}", "")
        read = await tools["read"].call('{"path":"MEMORY.md"}')
        assert OLD not in read
        thread = await started(client)
        turn = await said(client, thread, "How do I run the tests in webshop?")
        assert "just test" in turn["items"][-1]["text"]
        assert "make check" not in turn["items"][-1]["text"]


@pytest.mark.requirement("FR-F11", "P13")
async def test_what_a_user_corrects_in_a_turn_holds_in_the_next_thread(tmp_path: Path) -> None:
    """By the note that the agent leaves with its tool, in the same turn."""
    async with attached(tmp_path) as (home, client):
        await learned(client)
        thread = await started(client)
        turn = await said(client, thread, "Remember that the tests now run with `just test`.")
        assert "note" in turn["items"][-1]["text"]
        assert "just test" in (await told(client, home.home.root)).split(NOTES_BEGIN)[1]


@pytest.mark.requirement("FR-F2", "P13", "FR-F1")
async def test_a_consolidation_works_corrections_and_notes_in(tmp_path: Path) -> None:
    """Then the summary says it and nothing is pending; the old statement is gone from it."""
    async with attached(tmp_path, "[memories]\ndual_write = true\n") as (home, client):
        await learned(client)
        params = {"id": place_of(home.home, OLD), "text": "The tests run with `just test`."}
        await client.request("memory/correct", params)
        await client.request("memory/remember", {"text": "The mascot is a heron."})
        result = await client.request("memory/consolidate/start", {"wait": True})
        assert [one["consolidation"]["status"] for one in result["versions"]] == ["published"] * 2
        for version in ("v1", "v2"):
            section = await told(client, home.home.root, config={"memories.version": version})
            assert NOTES_BEGIN not in section and CORRECTIONS_BEGIN not in section
            summary = section.split(BEGINS)[1].split(ENDS)[0]
            assert "just test" in summary and "heron" in summary
            assert OLD not in summary


async def test_correcting_a_note_takes_its_words_out_of_the_next_section(tmp_path: Path) -> None:
    """And a correction may be corrected in turn, back to the first words too."""
    async with attached(tmp_path) as (home, client):
        first = await client.request("memory/remember", {"text": "The port is 8080 here."})
        params: dict[str, Any] = {"id": first["noteId"], "text": "The port is 9090 here."}
        second = await client.request("memory/correct", params)
        section = await told(client, home.home.root)
        assert "The port is 9090 here." in section and "The port is 8080 here." not in section
        params = {"id": second["noteId"], "text": "The port is 8080 here."}
        await client.request("memory/correct", params)
        section = await told(client, home.home.root)
        assert "The port is 8080 here." in section and "The port is 9090 here." not in section
