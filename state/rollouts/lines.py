"""The lines we write: one builder for each, in the original's shape.

A builder gives `type`, `payload` and maybe `metadata`; the writer adds time and ordinal. Order
inside a turn: `task_started`; in the first one the context messages; `turn_context`; the user's
message; for an answer its item before its response item; usage; `task_complete`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from state.rollouts.items import RecordedItem, SessionMeta
from state.rollouts.recorded import to_recorded

Line = dict[str, Any]

KEPT = "input_kept"
PASSTHROUGH = "internal_chat_message_metadata_passthrough"


def session_meta_line(meta: SessionMeta) -> Line:
    """The identity again, for a change of its metadata such as the memory mode.

    The first line of a file is written by `RolloutWriter.create`.
    """
    return {"type": "session_meta", "payload": meta.model_dump(mode="json", exclude_none=True)}


def task_started(turn_id: str, *, started_at_s: int, context_window: int | None = None) -> Line:
    """A turn began."""
    return _event(
        "task_started",
        turn_id=turn_id,
        root_turn_id=turn_id,
        started_at=started_at_s,
        model_context_window=context_window,
        collaboration_mode_kind="default",
    )


def turn_context(turn_id: str, context: Mapping[str, Any]) -> Line:
    """What the turn runs under: `cwd`, `model`, `approval_policy`, `sandbox_policy`, `effort`, …"""
    return {"type": "turn_context", "payload": {"turn_id": turn_id, **context}}


def context_message(
    role: str, parts: Sequence[tuple[str, str]], *, turn_id: str, message_id: str
) -> Line:
    """A message of ours to the model; `parts` are (text, kind), such as `memory.instructions`."""
    item = {
        "type": "message",
        "id": message_id,
        "role": role,
        "content": [{"type": "input_text", "text": text} for text, _ in parts],
    }
    return response_item(item, turn_id=turn_id, kinds=[kind for _, kind in parts])


def response_item(
    item: Mapping[str, Any], *, turn_id: str, kinds: Sequence[str] | None = None
) -> Line:
    """One Responses API item; `kinds` say who wrote each text part of a message.

    An empty turn id stands for what belongs to no turn.
    """
    passthrough: dict[str, Any] = {"turn_id": turn_id} if turn_id else {}
    if kinds is not None:
        passthrough["content_item_kinds"] = list(kinds)
    return {"type": "response_item", "payload": {**item, PASSTHROUGH: passthrough}}


def item_completed(thread_id: str, item: RecordedItem) -> Line:
    """An item as clients see it."""
    return _event(
        "item_completed",
        thread_id=thread_id,
        turn_id=item.turn_id,
        item=to_recorded(item),
        started_at_ms=item.started_at_ms,
        completed_at_ms=item.completed_at_ms,
    )


def user_message_lines(
    thread_id: str,
    item: RecordedItem,
    *,
    response: Mapping[str, Any],
    kinds: Sequence[str] | None = None,
) -> list[Line]:
    """What the user said: first as the model sees it, then as clients do.

    Without `kinds` all of it was typed.
    """
    kinds = kinds or [
        "user.text" if one.get("type") == "input_text" else "user.image"
        for one in response["content"]
    ]
    return [
        response_item(response, turn_id=item.turn_id, kinds=kinds),
        item_completed(thread_id, item),
    ]


def input_kept(turn_id: str, lines: Sequence[Line]) -> Line:
    """What the user said to a turn that has not come to it: the lines that will be recorded then.

    A line of ours that other readers pass over; `kept_input` puts it into its place.
    """
    return _event(KEPT, turn_id=turn_id, lines=[dict(one) for one in lines])


def agent_message_lines(
    thread_id: str, item: RecordedItem, *, response: Mapping[str, Any]
) -> list[Line]:
    """An answer: first as clients see it, then as the model made it."""
    kinds = ["unknown" for _ in response.get("content", [])]
    return [
        item_completed(thread_id, item),
        response_item(response, turn_id=item.turn_id, kinds=kinds),
    ]


def token_count(
    *,
    total: Mapping[str, int],
    last: Mapping[str, int],
    context_window: int | None,
    rate_limits: Mapping[str, Any] | None = None,
) -> Line:
    """Model tokens of the thread so far and of the last response; fields in snake_case."""
    info = {
        "total_token_usage": dict(total),
        "last_token_usage": dict(last),
        "model_context_window": context_window,
    }
    return _event("token_count", info=info, rate_limits=rate_limits)


def task_complete(
    turn_id: str,
    *,
    last_agent_message: str | None,
    started_at_s: int,
    completed_at_s: int,
    duration_ms: int,
    error: Mapping[str, Any] | None = None,
) -> Line:
    """A turn ended; with `error` (the client's shape) it failed, which readers of old ignore."""
    line = _event(
        "task_complete",
        turn_id=turn_id,
        root_turn_id=turn_id,
        last_agent_message=last_agent_message,
        started_at=started_at_s,
        completed_at=completed_at_s,
        duration_ms=duration_ms,
    )
    if error is not None:
        line["payload"]["error"] = dict(error)
    return line


def turn_aborted(
    turn_id: str, *, reason: str = "interrupted", completed_at_s: int, duration_ms: int
) -> Line:
    """A turn was stopped."""
    return _event(
        "turn_aborted",
        turn_id=turn_id,
        reason=reason,
        completed_at=completed_at_s,
        duration_ms=duration_ms,
    )


def thread_rolled_back(turns: int) -> Line:
    """The last turns no longer count."""
    return _event("thread_rolled_back", num_turns=turns)


def compacted(message: str, replacement: Sequence[Mapping[str, Any]]) -> Line:
    """The model sees these items instead of everything before."""
    payload = {"message": message, "replacement_history": [dict(one) for one in replacement]}
    return {"type": "compacted", "payload": payload}


def _event(type_: str, **fields: Any) -> Line:
    return {"type": "event_msg", "payload": {"type": type_, **fields}}
