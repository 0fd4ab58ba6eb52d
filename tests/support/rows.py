"""Rows of the state room with everything filled in, to be changed where a test cares."""

from typing import Any

from state.ids import ThreadId
from state.stores.outputs import Output
from state.stores.threads import ThreadRow

NOW_MS = 1_795_000_000_000
DAY_MS = 86_400_000
HOUR_MS = 3_600_000


def thread_id(number: int) -> ThreadId:
    """The id of the numbered thread; ids sort as their numbers."""
    return ThreadId(f"0194f5a6-89ab-7cde-8123-{number:012d}")


def a_thread(number: int, **changes: Any) -> ThreadRow:
    """The numbered thread: enabled, from an IDE, begun and changed at that many milliseconds."""
    values: dict[str, Any] = {
        "thread_id": thread_id(number),
        "rollout_path": f"sessions/2026/11/18/rollout-{number}.jsonl",
        "created_at_ms": number,
        "updated_at_ms": number,
        "cwd": "/home/user/project",
        "preview": f"Please do thing {number}",
        "name": None,
        "source": '"vscode"',
        "thread_source": None,
        "model_provider": "offline",
        "model": None,
        "cli_version": "0.1.0",
        "originator": None,
        "history_mode": "paginated",
        "memory_mode": "enabled",
        "archived": False,
        "git_branch": None,
        "git_sha": None,
        "git_origin_url": None,
        "forked_from_id": None,
        "imported_from": None,
        "imported_digest": None,
        "imported_at_ms": None,
    }
    return ThreadRow(**(values | changes))


def an_output(number: int, **changes: Any) -> Output:
    """What v1 took from the numbered thread."""
    values: dict[str, Any] = {
        "version": "v1",
        "thread_id": thread_id(number),
        "source_updated_at_ms": NOW_MS - DAY_MS,
        "raw_memory": f"raw {number}",
        "rollout_summary": f"recap {number}",
        "rollout_slug": f"slug-{number}",
        "generated_at_ms": NOW_MS,
    }
    return Output(**(values | changes))
