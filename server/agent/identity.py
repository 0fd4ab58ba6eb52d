"""What a thread's file and row say of it when they are made. Pure."""

import json
from typing import Any

from server.agent.checkout import Checkout
from server.agent.inputs import ThreadSettings
from state.rollouts.items import SessionMeta
from state.rollouts.store import rfc3339
from state.stores.threads import ThreadRow


def session_meta(draft: ThreadRow, settings: ThreadSettings, checkout: Checkout) -> SessionMeta:
    """The identity that the first line of its file holds."""
    from_row: dict[str, Any] = {
        "id": draft.thread_id,
        "session_id": draft.thread_id,
        "timestamp": rfc3339(draft.created_at_ms),
        "cwd": settings.cwd,
        "originator": draft.originator or "memoryd",
        "cli_version": draft.cli_version,
        "source": _source(draft.source),
        "thread_source": draft.thread_source,
        "model_provider": settings.provider,
        "memory_mode": draft.memory_mode,
        "memory_use": None if draft.use_memories else False,
        "history_mode": draft.history_mode,
    }
    if settings.instructions is not None:
        from_row["base_instructions"] = {"text": settings.instructions}
    if settings.client_tools:
        from_row["dynamic_tools"] = [dict(one) for one in settings.client_tools]
    if checkout.known:
        from_row["git"] = {
            "commit_hash": checkout.commit_id,
            "branch": checkout.branch,
            "repository_url": checkout.origin_url,
        }
    return SessionMeta.model_validate(from_row)


def row_changes(settings: ThreadSettings, checkout: Checkout, *, now_ms: int) -> dict[str, Any]:
    """The columns of its row that something new in the thread changes."""
    changes: dict[str, Any] = {
        "updated_at_ms": now_ms,
        "model_provider": settings.provider,
        "model": settings.model,
        "cwd": settings.cwd,
    }
    if checkout.known:
        changes["git_branch"] = checkout.branch
        changes["git_sha"] = checkout.commit_id
        changes["git_origin_url"] = checkout.origin_url
    return changes


def _source(text: str) -> str | dict[str, Any]:
    """The source value of a row; what is no JSON counts as a word."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | dict) else str(value)
