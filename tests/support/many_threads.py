"""A database with very many threads in it, each learned from, written in a moment."""

import sqlite3
from pathlib import Path

_THREAD = (
    "insert into threads values (?, 'p', ?, ?, ?, 'preview text', null, '\"vscode\"', 'vscode', 1, "
    "null, 'offline', null, '1', null, 'paginated', 'enabled', 0, null, null, null, null, null, "
    "null, null, 1, 'preview text', null, null)"
)
_OUTPUT = (
    "insert into outputs (version, thread_id, source_updated_at_ms, raw_memory, "
    "rollout_summary, generated_at_ms, usage_count) values ('v1', ?, ?, 'raw', 'recap', 0, ?)"
)
_JOB = (
    "insert into jobs (version, kind, key, status, attempts_left, finished_at_ms, watermark_ms, "
    "success_watermark_ms) values ('v1', 'extraction', ?, 'done', 3, ?, ?, ?)"
)


def many_threads(database: Path, count: int, *, begun_ms: int = 0, gap_ms: int = 1) -> list[str]:
    """That many threads of a home that is migrated and not open; their ids, the oldest first.

    They lie `gap_ms` apart; one in a thousand is of the project /rare, the others of /p0 to /p9.
    """
    ids = [f"0194f5a6-89ab-7cde-8123-{number:012d}" for number in range(count)]
    at_ms = [begun_ms + number * gap_ms for number in range(count)]
    connection = sqlite3.connect(database)
    connection.executemany(
        _THREAD,
        (
            (one, at, at, "/rare" if number % 1_000 == 0 else f"/p{number % 10}")
            for number, (one, at) in enumerate(zip(ids, at_ms, strict=True))
        ),
    )
    connection.executemany(
        _OUTPUT,
        ((one, at, at % 7) for one, at in zip(ids, at_ms, strict=True)),
    )
    connection.executemany(_JOB, ((one, at, at, at) for one, at in zip(ids, at_ms, strict=True)))
    connection.commit()
    connection.close()
    return ids
