"""What tests of forgetting need: a memory that rests on two threads, and ways for one to go."""

import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from memory_write.phase2.run import Phase2
from memory_write.ports import ConsolidationReport, ConsolidationRequest, ModelFailed
from state.ids import ThreadId
from state.recovery import State
from state.stores.outputs import Output
from state.stores.withdrawal import change_memory_mode, delete_thread_memory, pollute_thread
from tests.support.consolidation import SETTINGS, phase2_of
from tests.support.consolidators import ScriptedConsolidator, Tools
from tests.support.learning import put_thread

CANARY = "zanzibar-7731"
FACT = f"the staging host is called {CANARY} and needs the blue badge"
OTHER = "commits are small and titles are short"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A published memory that rests on two threads."""

    going: ThreadId
    staying: ThreadId
    folder: Path
    published: dict[str, str]


async def stored(state: State, version: str, text: str, hours: float) -> ThreadId:
    """A thread and what was taken from it, handed on."""
    thread_id = await put_thread(state, text, idle_hours=hours)
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id)
        assert row is not None
        await state.outputs.put(
            tx,
            Output(
                version=version,
                thread_id=thread_id,
                source_updated_at_ms=row.updated_at_ms,
                raw_memory=f"---\ntask: work\n---\n\n- {text}\n" if version == "v1" else "",
                rollout_summary=f"# Work\n\n- {text}",
                rollout_slug="work",
                generated_at_ms=state.clock.now_ms(),
            ),
        )
        await state.jobs.enqueue_consolidation(tx, version=version, watermark_ms=row.updated_at_ms)
    return thread_id


async def write_both(tools: Tools, request: ConsolidationRequest) -> None:
    """What a good consolidator makes of the recaps that are there."""
    blocks: list[str] = []
    wishes: list[str] = []
    pointers: list[str] = []
    for path, thread_id in await tools.recaps():
        recap = (await tools.json("read", path=path))["content"]
        assert isinstance(recap, str)
        body = recap.split("\n\n", 1)[1].strip().splitlines()[-1].removeprefix("- ")
        blocks.append(
            f"# Task Group: work {thread_id[-4:]}\n\nscope: work\n"
            "applies_to: cwd=/home/ada/shop; reuse_rule=same project\n\n"
            f"## Task 1: {body}, success\n\n### rollout_summary_files\n\n"
            f"- {path} (cwd=/home/ada/shop, thread_id={thread_id})\n\n### keywords\n\n"
            f"- {', '.join(body.split())}\n\n## Reusable knowledge\n\n- Note: {body} [Task 1]\n"
        )
        wishes.append(f"- {body}.")
        pointers.append(f"- {path} \u2014 {body}; thread_id={thread_id}")
    if request.version == "v1":
        await tools("write", path="MEMORY.md", content="\n".join(blocks))
        body = "\n".join(wishes)
        await tools(
            "write",
            path="skills/staging/SKILL.md",
            content=f"---\nname: staging\ndescription: work\n---\n\n# Steps\n\n{body}\n",
        )
    await tools("write", path="memory_summary.md", content=_summary(wishes, pointers))


def _summary(wishes: list[str], pointers: list[str]) -> str:
    return (
        "v1\n\n## User Profile\n\nWorks at a shop.\n\n## User preferences\n\n"
        + "\n".join(wishes)
        + "\n\n## General Tips\n\n## What's in Memory\n\n### /home/ada/shop\n\n#### 2026-11-18\n\n"
        + "\n".join(pointers)
        + "\n"
    )


async def remembered(state: State, version: str) -> Remembered:
    """Published memory of that version."""
    going = await stored(state, version, FACT, 12)
    staying = await stored(state, version, OTHER, 11)
    report = await phase2_for(state, version, ScriptedConsolidator(write_both)).run(
        ignore_cooldown=True
    )
    assert report.status == "published", report
    folder = state.home.memories(version)
    assert CANARY in (folder / "memory_summary.md").read_text()
    return Remembered(going, staying, folder, _texts(folder))


def phase2_for(state: State, version: str, agent: ScriptedConsolidator, **more: object) -> Phase2:
    """Phase 2 of one version."""
    return phase2_of(state, agent, settings=SETTINGS.of_version(version), **more)  # type: ignore[arg-type]


def _texts(folder: Path) -> dict[str, str]:
    names = ("MEMORY.md", "memory_summary.md", "skills/staging/SKILL.md")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


async def deleted(state: State, thread_id: ThreadId) -> None:
    """As a client deletes it."""
    async with state.database.writing() as tx:
        await delete_thread_memory(
            tx,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=thread_id,
            now_ms=state.clock.now_ms(),
        )
        await state.threads.delete(tx, thread_id)


async def polluted(state: State, thread_id: ThreadId) -> None:
    """As outside context bars it."""
    async with state.database.writing() as tx:
        await pollute_thread(
            tx,
            threads=state.threads,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=thread_id,
            now_ms=state.clock.now_ms(),
        )


async def set_mode(state: State, thread_id: ThreadId, mode: str) -> None:
    """As a client sets it."""
    async with state.database.writing() as tx:
        await change_memory_mode(
            tx,
            threads=state.threads,
            jobs=state.jobs,
            outputs=state.outputs,
            thread_id=thread_id,
            mode=mode,  # type: ignore[arg-type]
            now_ms=state.clock.now_ms(),
        )


async def disabled(state: State, thread_id: ThreadId) -> None:
    """As a client disables it."""
    await set_mode(state, thread_id, "disabled")


Going = Callable[[State, ThreadId], Awaitable[None]]
GOING: dict[str, Going] = {"deleted": deleted, "polluted": polluted, "disabled": disabled}


def consolidator(kind: str, memory: Remembered) -> ScriptedConsolidator:
    """One that behaves in this way from now on."""

    async def obedient(tools: Tools, request: ConsolidationRequest) -> None:
        await write_both(tools, request)

    async def ignores(tools: Tools, request: ConsolidationRequest) -> None:
        """Writes again what it wrote before."""
        for path, text in memory.published.items():
            await tools("write", path=path, content=text)

    async def idle(tools: Tools, request: ConsolidationRequest) -> None:
        """Says that it is done."""

    async def smuggles(tools: Tools, request: ConsolidationRequest) -> None:
        """Puts it where nothing of it is cited, and beside what stays."""
        await write_both(tools, request)
        summary = (await tools.json("read", path="memory_summary.md"))["content"]
        assert isinstance(summary, str)
        head = "## User preferences\n\n"
        await tools(
            "write",
            path="memory_summary.md",
            content=summary.replace(head, f"{head}- Staging is {CANARY}.\n"),
        )
        if request.version == "v1":
            handbook = (await tools.json("read", path="MEMORY.md"))["content"]
            assert isinstance(handbook, str)
            smuggled = f"{handbook}- The host {CANARY} wants a blue badge [Task 1]\n"
            await tools("write", path="MEMORY.md", content=smuggled)

    async def down(tools: Tools, request: ConsolidationRequest) -> None:
        raise ModelFailed("connection refused", transient=True)

    async def capped(tools: Tools, request: ConsolidationRequest) -> None:
        await ignores(tools, request)

    scripts = {
        "obedient": obedient,
        "ignores": ignores,
        "idle": idle,
        "smuggles": smuggles,
        "down": down,
        "capped": capped,
    }
    report = ConsolidationReport(stopped_by="turns") if kind == "capped" else None
    return ScriptedConsolidator(scripts[kind], report)


def holding(folder: Path, needle: str) -> list[str]:
    """Every file below a folder that holds a text, plainly or in an object of git."""
    found: list[str] = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        try:
            unpacked = zlib.decompress(data)
        except zlib.error:
            unpacked = b""
        if needle.encode() in data.lower() or needle.encode() in unpacked.lower():
            found.append(str(path.relative_to(folder)))
    return found
