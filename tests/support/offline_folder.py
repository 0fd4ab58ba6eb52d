"""A memory folder that the offline consolidator works on, whose inputs are what users typed."""

from collections.abc import Sequence
from pathlib import Path

from memory_write.limits import Phase2Limits
from memory_write.offline.consolidation import OfflineConsolidator
from memory_write.offline.heard import listen
from memory_write.offline.recap import raw_memory
from memory_write.phase2.brief import render_diff_file
from memory_write.phase2.tools import ToolMeter, staged_tools
from memory_write.ports import Budget, ConsolidationRequest, ModelChoice
from state.ids import ThreadId
from state.workspace.diff import FileVersion, compare
from state.workspace.layout import DIFF_FILE, HANDBOOK, NOTES, RAW_MEMORIES, SUMMARY
from tests.support.transcripts import typed

OURS = (HANDBOOK, SUMMARY)


class Folder:
    """A memory folder whose inputs are given as what users typed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.published: dict[str, FileVersion] = {}

    def hears(self, *sessions: tuple[int, str, Sequence[str]]) -> None:
        """Lay down the raw memories of these sessions: day, working folder, what was typed."""
        pieces = ["# Raw Memories\n\n"]
        for day, cwd, texts in sessions:
            thread_id = thread_of(day)
            heard = listen(typed(*texts, cwd=cwd, thread_id=thread_id))
            pieces.append(
                f"## Thread `{thread_id}`\nupdated_at: 2026-11-{day:02}T10:00:00+00:00\n"
                f"cwd: {cwd}\nrollout_path: sessions/{thread_id}.jsonl\n"
                f"rollout_summary_file: 2026-11-{day:02}T10-00-00-abcd-work.md\n\n"
                f"{raw_memory(heard, cwd=cwd).strip()}\n\n"
            )
        (self.root / RAW_MEMORIES).write_text("".join(pieces))

    def noted(self, name: str, text: str) -> None:
        """Lay down a note."""
        (self.root / NOTES).mkdir(parents=True, exist_ok=True)
        (self.root / NOTES / name).write_text(text)

    async def consolidate(self) -> tuple[str, str]:
        """Run it as phase 2 does; the handbook and the summary."""
        now = {
            path: FileVersion(data=(self.root / path).read_bytes())
            for path in OURS
            if (self.root / path).exists()
        }
        diff = compare(self.published, now, bytes_max=1_000_000)
        (self.root / DIFF_FILE).write_text(render_diff_file(diff, bytes_max=1_000_000))
        report = await OfflineConsolidator().run(request(self.root))
        assert report.stopped_by is None
        (self.root / DIFF_FILE).unlink()
        self.published = {path: FileVersion(data=(self.root / path).read_bytes()) for path in OURS}
        return self.text(HANDBOOK), self.text(SUMMARY)

    def text(self, path: str) -> str:
        """A file's text."""
        return (self.root / path).read_text()


def thread_of(day: int) -> ThreadId:
    """The thread of a day."""
    return ThreadId(f"01a228dc-d6af-71b0-a8b0-f85aecaab7{day:02}")


def request(root: Path) -> ConsolidationRequest:
    """A request with the real tools on that folder."""
    limits = Phase2Limits()
    return ConsolidationRequest(
        version="v1",
        instructions="",
        brief="",
        tools=staged_tools(root, ToolMeter(limits)),
        budget=Budget(turns_max=1, tokens_max=1, seconds_max=60),
        model=ModelChoice(),
        job_key="v1",
    )
