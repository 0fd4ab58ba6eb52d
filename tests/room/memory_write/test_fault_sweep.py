"""Every durable call of claim, store, publish, prune, reset, delete and withdraw, broken once each.

The points are not listed here: a first run without a fault counts them, so a new durable call is
swept as soon as it is there. After each fault the home is opened again: what it holds is the old
state or the new one, and the same operation then goes through.
"""

import asyncio
import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_write.phase2.steps import CONSOLIDATED, CONSOLIDATING, PHASE2_STEPS, VERIFIED
from state.errors import StateError
from tests.support import fault_seams
from tests.support.fault_seams import SHORT, TORN, Point, Seams, installed, takes
from tests.support.reference_model import Seen, broken_jobs, look
from tests.support.rows import HOUR_MS
from tests.support.swept_operations import ON_STATE, PUBLISHED, prepare, settled

JOB_SOURCE = Path(__file__).resolve().parents[3] / "memory_write" / "phase1" / "job.py"
NAMED_STEPS = {
    "store": tuple(re.findall(r'_steps\("(phase1/\w+)"\)', JOB_SOURCE.read_text("utf-8"))),
    "publish": PHASE2_STEPS,
    # Code alone: nobody consolidates, and there is nothing of a model to verify.
    "withdraw": tuple(set(PHASE2_STEPS) - {CONSOLIDATING, CONSOLIDATED, VERIFIED}),
}
Where = tuple[Point, int]
"""The point, and the error or the signal that came there."""
OPERATIONS = tuple(ON_STATE)
LATER_MS = 5 * HOUR_MS
OF_A_TOOL = re.compile(
    r"/staging/[^/]*/\.(?:MEMORY|memory_summary)\.md\.part|fsync /staging/[^/]*$"
)
"""Points in a write of the consolidator's own tools, or that may be."""


def _seen(home: Path) -> Seen:
    return look(home / "state.sqlite", {"v1": home / "memories"})["v1"]


def _kept(seen: Seen) -> dict[str, Any]:
    """What an operation changes as one; times, fences and the order of attempts are left out."""
    return {
        "outputs": [(one["thread_id"], one["raw_memory"], one["selected"]) for one in seen.outputs],
        "threads": [(one["thread_id"], one["memory_mode"]) for one in seen.threads],
        "folder": {path: file.data for path, file in seen.folder.files.items()},
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with published memory, and with work for every operation."""
    root = tmp_path_factory.mktemp("swept") / "home"
    asyncio.run(prepare(root))
    assert _seen(root).facts == {"fact-000001", "fact-000005"}
    return root


async def _carried_out(home: Path, operation: str) -> Seen:
    """What the home is when the operation went through, after a start like any other.

    Hours later: what failed for want of a disk may be tried again.
    """
    async with settled(home, "next", later_ms=LATER_MS) as state:
        await ON_STATE[operation](state, None)
        async with state.database.reading() as read:
            assert await state.editions.open_ones(read) == []
        if operation != "claim":
            assert list(state.home.staging.iterdir()) == []
    return _seen(home)


def _sound(before: Seen, found: Seen, after: Seen, where: Where) -> None:
    """The invariants that hold in the moment of the fault."""
    old, new = _kept(before), _kept(after)
    assert broken_jobs(found) == [], where
    assert found.fence >= before.fence, where
    for part in ("outputs", "threads"):
        assert _kept(found)[part] in (old[part], new[part]), (where, part)
    if _kept(found)["folder"] not in (old["folder"], new["folder"]):
        assert OF_A_TOOL.search(where[0][0]), where
        # The consolidator was told that its write failed; what it left is an edition all the same.
        heads = [one["commit_id"] for one in found.editions if one["state"] == "published"]
        assert found.head in heads and found.differing == (), where


async def _recovered(home: Path, operation: str, before: Seen, after: Seen, where: Where) -> None:
    found = _seen(home)
    if operation == "reset":
        # Rows go first and the folder entry by entry: what stays is a subset, never a mixture.
        standing = found.folder.files.items()
        assert standing <= before.folder.files.items(), where
        assert broken_jobs(found) == [], where
    else:
        _sound(before, found, after, where)
    ended = await _carried_out(home, operation)
    for part in ("outputs", "threads"):
        assert _kept(ended)[part] == _kept(after)[part], (where, part)
    assert ended.facts == after.facts, where
    if not OF_A_TOOL.search(where[0][0]):
        assert _kept(ended)["folder"] == _kept(after)["folder"], where


@pytest.fixture
async def ends(home: Path, tmp_path: Path) -> dict[str, Seen]:
    """The state before, and what each operation makes of it."""
    made = {"": _seen(home)}
    for operation in OPERATIONS:
        shutil.copytree(home, tmp_path / "ends" / operation)
        made[operation] = await _carried_out(tmp_path / "ends" / operation, operation)
    return made


@pytest.mark.requirement("P11", "MW-F-kill-unvalidated")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_kill_at_any_durable_call_leaves_old_or_new(
    home: Path, tmp_path: Path, ends: dict[str, Seen], operation: str
) -> None:
    """A real kill -9, of a process of its own."""
    folder = tmp_path / "killed"
    folder.mkdir()
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, fault_seams.__file__, operation, str(home), str(folder)],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    killed = json.loads(ran.stdout.splitlines()[-1])
    names = {name for name, _ in killed.values()}
    for step in NAMED_STEPS.get(operation, ()):
        assert f"step {step}" in names, f"the sweep does not come to {step}"
    assert "commit before" in names and "step committed" in names
    for copy, point in killed.items():
        await _recovered(folder / copy, operation, ends[""], ends[operation], (point, 9))


async def _points(home: Path, operation: str) -> list[Point]:
    async with settled(home, "counted") as state:
        with installed(Seams(home)) as seams:
            await ON_STATE[operation](state, seams)
    return seams.distinct


@pytest.mark.requirement("P11", "FR-S13")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "number", (errno.EIO, errno.ENOSPC, SHORT, TORN), ids=("EIO", "ENOSPC", "short", "torn")
)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_an_error_of_the_disk_at_any_durable_call_leaves_old_or_new(
    home: Path, tmp_path: Path, ends: dict[str, Seen], operation: str, number: int
) -> None:
    """It is told or healed; the process goes on, and the next start finishes.

    A write that puts down a part and says so is no error: what it belongs to goes through whole.
    """
    shutil.copytree(home, tmp_path / "counted")
    points = await _points(tmp_path / "counted", operation)
    for place, point in enumerate(one for one in points if takes(one, number)):
        copy = tmp_path / str(place)
        shutil.copytree(home, copy)
        async with settled(copy, "worker") as state:
            with installed(Seams(copy, point).failing(number)) as seams:
                try:
                    await ON_STATE[operation](state, seams)
                except (StateError, OSError):
                    assert number != SHORT, "a short write is no error"
        if number == SHORT:
            for journal in copy.glob("journal.jsonl"):
                assert all(json.loads(line) for line in journal.read_bytes().splitlines()), point
        await _recovered(copy, operation, ends[""], ends[operation], (point, number))


def test_the_swept_thread_is_gone_with_every_row(home: Path, tmp_path: Path) -> None:
    """The deletion that the sweep repeats is a whole one."""
    shutil.copytree(home, tmp_path / "deleted")
    after = asyncio.run(_carried_out(tmp_path / "deleted", "delete"))
    assert after.output(PUBLISHED) is None and after.job("extraction", PUBLISHED) is None
