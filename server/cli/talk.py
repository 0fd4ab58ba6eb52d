"""One turn over a connection: sends the text, follows the notifications to its end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from server.cli.client import Client, Json
from server.errors import CommandFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """How a turn ended."""

    turn_id: str
    text: str
    citations: tuple[Json, ...]
    """The entries of the memory citation: path, lineStart, lineEnd, note."""
    thread_ids: tuple[str, ...]
    """The threads that the citation leads back to."""


async def start_thread(client: Client, cwd: str) -> str:
    """A new thread in that folder; its id."""
    reply = await client.request("thread/start", {"cwd": cwd})
    return str(reply["thread"]["id"])


class Interrupted(CommandFailed):
    """The turn ended because it was told to."""


def place(citation: Json) -> str:
    """`FILE:LINE` or `FILE:FIRST-LAST`."""
    first, last = citation["lineStart"], citation["lineEnd"]
    return f"{citation['path']}:{first}" + (f"-{last}" if last != first else "")


async def say(
    client: Client,
    thread_id: str,
    text: str,
    *,
    on_text: Callable[[str], None],
    on_notice: Callable[[str], None] = lambda notice: None,
    interrupted: asyncio.Event | None = None,
) -> Spoken:
    """Run one turn, giving each piece of the answer to `on_text` as it comes.

    `on_notice` hears what a person should know meanwhile, a sentence each: a tool server that is
    left out, a warning, a model call that failed and is tried again. Setting
    `interrupted` stops the turn on the server.
    Raises: Interrupted; CommandFailed when the turn failed.
    """
    reply = await client.request(
        "turn/start", {"threadId": thread_id, "input": [{"type": "text", "text": text}]}
    )
    turn_id = reply["turn"]["id"]
    stopping = asyncio.ensure_future(_stop(client, thread_id, turn_id, interrupted))
    try:
        return await _followed(client, thread_id, turn_id, on_text, on_notice)
    finally:
        stopping.cancel()


async def _stop(
    client: Client, thread_id: str, turn_id: str, interrupted: asyncio.Event | None
) -> None:
    if interrupted is not None:
        await interrupted.wait()
        await client.request("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})


async def _followed(
    client: Client,
    thread_id: str,
    turn_id: str,
    on_text: Callable[[str], None],
    on_notice: Callable[[str], None],
) -> Spoken:
    answer, citation = "", None
    noticed: set[str] = set()
    async for note in client.notifications():
        params = note.get("params", {})
        if params.get("threadId") != thread_id:
            continue
        notice = _notice(note["method"], params)
        if notice is not None and notice not in noticed:
            # A call that is tried again and again fails with the same words each time.
            noticed.add(notice)
            on_notice(notice)
        match note["method"]:
            case "item/agentMessage/delta":
                on_text(params["delta"])
            case "item/completed" if params["item"]["type"] == "agentMessage":
                answer = params["item"]["text"]
                citation = params["item"].get("memoryCitation") or citation
            case "turn/completed" if params["turn"]["id"] == turn_id:
                _check(params["turn"])
                return Spoken(
                    turn_id=turn_id,
                    text=answer,
                    citations=tuple((citation or {}).get("entries", ())),
                    thread_ids=tuple((citation or {}).get("threadIds", ())),
                )
    raise CommandFailed("the connection ended before the turn did")


def _notice(method: str, params: Json) -> str | None:
    """What a person should know of a notification beside the answer, or None."""
    match method, params:
        case "mcpServer/startupStatus/updated", {"status": "failed", "name": name, **rest}:
            reason = rest.get("error") or "it did not start"
            return f"MCP server `{name}` is left out: {reason}"
        case "warning", {"message": message}:
            return str(message)
        case "error", {"willRetry": True, "error": {"message": message}}:
            return f"the model call is tried again: {message}"
        case _:
            return None


def _check(turn: dict[str, Any]) -> None:
    if turn["status"] == "completed":
        return
    if turn["status"] == "interrupted":
        raise Interrupted("the turn was interrupted", status=130)
    error = (turn.get("error") or {}).get("message")
    raise CommandFailed(f"the turn {turn['status']}" + (f": {error}" if error else ""))
