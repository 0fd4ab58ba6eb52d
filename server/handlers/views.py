"""From what is stored and what is live to what clients see: threads, turns, items.

Pure. A view never fails because of what a file holds: an item that does not fit is left out, since
one bad item would make a client refuse its whole page.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

from protocol.messages.items import THREAD_ITEM, ThreadItem
from protocol.messages.threads import (
    ActiveStatus,
    GitInfo,
    InactiveStatus,
    SessionSource,
    Thread,
    ThreadEnvironment,
)
from protocol.messages.threads import ThreadStatus as WireStatus
from protocol.messages.turns import ItemsView, Turn, TurnError
from protocol.words import WORD_CHARACTERS_MAX
from server.agent.events import ThreadStatus, TurnFault
from server.agent.inputs import ThreadSettings
from server.handlers.sizes import (
    PREVIEW_CHARACTERS_MAX,
    can_be_sent,
    shortened,
    shortened_text,
)
from state.home import Home
from state.rollouts.items import RecordedItem, RecordedTurn
from state.rollouts.packed import types_of
from state.stores.threads import ThreadRow

_SOURCE_WORDS = frozenset({"cli", "vscode", "exec", "appServer", "unknown"})
_SUB_AGENT_WORDS = frozenset({"review", "compact", "memory_consolidation"})


def _fields_by_type() -> dict[str, frozenset[str]]:
    """The wire names of each item type's fields."""
    found: dict[str, frozenset[str]] = {}
    for model in get_args(get_args(ThreadItem)[0]):
        names = frozenset(field.alias or name for name, field in model.model_fields.items())
        for word in get_args(model.model_fields["type"].annotation):
            found[word] = names
    return found


_ITEM_FIELDS = _fields_by_type()


def item_view(item: RecordedItem) -> ThreadItem | None:
    """The item as clients see it, short enough for a frame; None if its type has no view."""
    fields = _ITEM_FIELDS.get(item.type)
    if fields is None:
        return None
    body = {key: value for key, value in item.body.items() if key in fields}
    body |= {
        "id": item.item_id,
        "type": item.type,
        "startedAtMs": item.started_at_ms,
        "completedAtMs": item.completed_at_ms,
    }
    view = THREAD_ITEM.read(shortened(body))
    return view if view is not None and can_be_sent(view) else None


def item_views(items: Iterable[RecordedItem]) -> list[ThreadItem]:
    """The items that have a view, in order."""
    return [view for item in items if (view := item_view(item)) is not None]


def turn_view(turn: RecordedTurn, view: ItemsView) -> Turn:
    """The turn with as many of its items as the view says."""
    return Turn(
        id=turn.turn_id,
        root_turn_id=turn.turn_id,
        items=item_views(_chosen(turn.items, view)),
        items_view=view,
        status=turn.status,
        error=recorded_error(turn.error),
        started_at=turn.started_at_s,
        completed_at=turn.completed_at_s,
        duration_ms=turn.duration_ms,
    )


def running_turn(turn_id: str, *, started_at_s: int | None = None) -> Turn:
    """A turn of which nothing has happened yet."""
    return Turn(
        id=turn_id,
        root_turn_id=turn_id,
        items=[],
        items_view="notLoaded",
        status="inProgress",
        started_at=started_at_s,
    )


def fault_view(fault: TurnFault) -> TurnError:
    """Why a turn failed, as clients see it."""
    info = fault.error_info
    return TurnError(
        message=fault.message,
        codex_error_info=info if isinstance(info, str) else dict(info),
        additional_details=fault.additional_details,
    )


def recorded_error(error: Mapping[str, Any] | None) -> TurnError | None:
    """A recorded error as clients see it."""
    if error is None:
        return None
    info, details = error.get("codexErrorInfo"), error.get("additionalDetails")
    return TurnError(
        message=str(error.get("message", "the turn failed")),
        codex_error_info=info if isinstance(info, str | dict) else "other",
        additional_details=details if isinstance(details, str) else None,
    )


def status_view(status: ThreadStatus) -> WireStatus:
    """What a thread is doing, as clients see it."""
    if status.type == "active":
        return ActiveStatus(active_flags=list(status.active_flags))
    return InactiveStatus(type=status.type)


NOT_LOADED = InactiveStatus(type="notLoaded")


def environment_view(cwd: str, roots: Sequence[str]) -> list[ThreadEnvironment]:
    """The one place where a thread of ours works: this machine."""
    here = ThreadEnvironment(environment_id="local", cwd=cwd, runtime_workspace_roots=list(roots))
    return [here]


def stored_thread(
    home: Home,
    row: ThreadRow,
    *,
    status: ThreadStatus | None = None,
    accepts_input: bool = False,
    turns: Sequence[Turn] = (),
) -> Thread:
    """A thread that has a row; `status` is given where it is loaded."""
    return Thread(
        id=row.thread_id,
        session_id=row.thread_id,
        forked_from_id=row.forked_from_id,
        parent_thread_id=row.parent_thread_id,
        preview=shortened_text(row.preview, characters_max=PREVIEW_CHARACTERS_MAX),
        ephemeral=False,
        history_mode=row.history_mode,
        model_provider=_word(row.model_provider),
        model=None if row.model is None else _word(row.model),
        created_at=row.created_at_ms // 1000,
        updated_at=row.updated_at_ms // 1000,
        recency_at=row.updated_at_ms // 1000,
        status=NOT_LOADED if status is None else status_view(status),
        path=os.path.join(home.root, row.rollout_path),
        cwd=row.cwd,
        cli_version=row.cli_version,
        originator=None if row.originator is None else _word(row.originator),
        source=source_view(row.source),
        can_accept_direct_input=True if accepts_input and status is not None else None,
        thread_source=None if row.thread_source is None else _word(row.thread_source),
        git_info=_git(row),
        name=row.name,
        environments=None if status is None else environment_view(row.cwd, (row.cwd,)),
        turns=list(turns),
    )


def draft_thread(
    home: Home,
    draft: ThreadRow,
    *,
    status: ThreadStatus,
    settings: ThreadSettings,
    ephemeral: bool,
    turns: Sequence[Turn] = (),
) -> Thread:
    """A loaded thread, which may have no row yet or never."""
    shown = stored_thread(home, draft, status=status, accepts_input=True, turns=turns)
    return shown.model_copy(
        update={
            "ephemeral": ephemeral,
            "path": None if ephemeral else shown.path,
            "cwd": settings.cwd,
            "environments": environment_view(settings.cwd, settings.roots),
            "model": settings.model,
            "model_provider": settings.provider,
            "reasoning_effort": settings.effort,
        }
    )


@lru_cache(maxsize=64)
def source_view(source: str) -> SessionSource:
    """The stored source in the words of the wire."""
    try:
        value = json.loads(source)
    except ValueError:
        return "unknown"
    match value:
        case "mcp" | "app_server" | "appserver":
            return "appServer"
        case str():
            return value if value in _SOURCE_WORDS else "unknown"
        case {"custom": str(custom)}:
            return {"custom": _word(custom)}
        case {"subAgent": agent} | {"subagent": agent} | {"sub_agent": agent}:
            return {"subAgent": _sub_agent(agent)}
        case _:
            return "unknown"


def _chosen(items: Sequence[RecordedItem], view: ItemsView) -> Sequence[RecordedItem]:
    """All items, none, or what was asked first and answered last."""
    match view:
        case "full":
            return items
        case "notLoaded":
            return ()
        case "summary":
            types = list(types_of(items))
            places = []
            if "userMessage" in types:
                places.append(types.index("userMessage"))
            if "agentMessage" in types:
                places.append(len(types) - 1 - types[::-1].index("agentMessage"))
            return [items[place] for place in places]


def _git(row: ThreadRow) -> GitInfo | None:
    if row.git_sha is None and row.git_branch is None and row.git_origin_url is None:
        return None
    noted = (row.git_sha, row.git_branch, row.git_origin_url)
    sha, branch, origin_url = (None if one is None else _word(one) for one in noted)
    return GitInfo(sha=sha, branch=branch, origin_url=origin_url)


def _word(text: str) -> str:
    """A name out of a file, short enough for a row: one long row would spoil its whole page."""
    return shortened_text(text, characters_max=WORD_CHARACTERS_MAX)


def _sub_agent(agent: object) -> str | dict[str, Any]:
    match agent:
        case str() if agent in _SUB_AGENT_WORDS:
            return agent
        case {"thread_spawn": {"parent_thread_id": str(), "depth": int()}}:
            assert isinstance(agent, dict)
            return agent
        case {"other": str(other)} | str(other):
            return {"other": _word(other)}
        case _:
            return {"other": "unknown"}
