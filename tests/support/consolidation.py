"""What tests of phase 2 need: stored outputs, a Phase2 with a scripted agent, looks at folders."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings, Phase2Limits
from memory_write.phase2.run import Phase2
from memory_write.ports import Announcer, Consolidator, Quota, Steps, no_steps
from state.ids import ThreadId
from state.recovery import State
from state.stores.jobs import JobRow
from state.stores.outputs import Output
from tests.support.consolidators import (
    OpenQuota,
    ScriptedConsolidator,
    ScriptedModels,
    write_well,
)
from tests.support.learning import put_thread

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SETTINGS = MemorySettings()


async def put_output(
    state: State, text: str, *, idle_hours: float = 10, slug: str | None = "work"
) -> ThreadId:
    """A thread and what phase 1 took from it, handed on to the consolidation."""
    thread_id = await put_thread(state, text, idle_hours=idle_hours)
    await change_output(state, thread_id, text, slug=slug)
    return thread_id


async def change_output(
    state: State, thread_id: ThreadId, text: str, *, slug: str | None = "work"
) -> None:
    """Store another text for a thread."""
    async with state.database.writing() as tx:
        row = await state.threads.get(tx, thread_id)
        assert row is not None
        await state.outputs.put(
            tx,
            Output(
                version="v1",
                thread_id=thread_id,
                source_updated_at_ms=row.updated_at_ms,
                raw_memory=f"---\ntask: work\n---\n\n- {text}\n",
                rollout_summary=f"# Work\n\n- {text}",
                rollout_slug=slug,
                generated_at_ms=state.clock.now_ms(),
            ),
        )
        await state.jobs.enqueue_consolidation(tx, version="v1", watermark_ms=row.updated_at_ms)


async def drop_output(state: State, thread_id: ThreadId) -> None:
    """Take a thread's output away."""
    async with state.database.writing() as tx:
        await state.outputs.delete(tx, "v1", thread_id)


def phase2_of(
    state: State,
    consolidator: Consolidator,
    *,
    settings: MemorySettings = SETTINGS,
    steps: Steps = no_steps,
    quota: Quota | None = None,
    announce: Announcer = lambda _: None,
) -> Phase2:
    """Phase 2 over a scripted agent."""
    return Phase2(
        state, ScriptedModels(consolidator), quota or OpenQuota(), announce, settings, steps
    )


async def job_of(state: State) -> JobRow:
    """The consolidation's row."""
    async with state.database.reading() as read:
        row = await state.jobs.get(read, version="v1", kind="consolidation", key="global")
    assert row is not None
    return row


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, git's own included."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def git(folder: Path, *arguments: str) -> str:
    """What the real git says about a folder, with no configuration but the folder's."""
    result = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        },
    )
    return result.stdout


def open_modes(folder: Path) -> list[str]:
    """Files and folders that somebody else than their owner may touch."""
    return [str(path) for path in folder.rglob("*") if path.lstat().st_mode & 0o077]


async def published(
    state: State, agent: ScriptedConsolidator | None = None, limits: Phase2Limits | None = None
) -> ScriptedConsolidator:
    """One run that is published, and its agent."""
    made = agent or ScriptedConsolidator(write_well)
    settings = replace(MemorySettings(), phase2=limits or Phase2Limits())
    report = await phase2_of(state, made, settings=settings).run(ignore_cooldown=True)
    assert report.status == "published", report
    return made


async def consolidated(state: State, agent: ScriptedConsolidator | None = None) -> str | None:
    """One run that publishes; its reason."""
    agent = agent or ScriptedConsolidator(write_well)
    report = await phase2_of(state, agent).run(ignore_cooldown=True)
    assert report.status == "published", report
    return report.reason
