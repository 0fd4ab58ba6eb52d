"""One turn over a connection: sends the text, follows the notifications to its end."""

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


async def say(
    client: Client, thread_id: str, text: str, *, on_text: Callable[[str], None]
) -> Spoken:
    """Run one turn, giving each piece of the answer to `on_text` as it comes.

    Raises: CommandFailed when the turn failed or was interrupted.
    """
    reply = await client.request(
        "turn/start", {"threadId": thread_id, "input": [{"type": "text", "text": text}]}
    )
    turn_id = reply["turn"]["id"]
    answer, citation = "", None
    async for note in client.notifications():
        params = note.get("params", {})
        if params.get("threadId") != thread_id:
            continue
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


def _check(turn: dict[str, Any]) -> None:
    if turn["status"] == "completed":
        return
    error = (turn.get("error") or {}).get("message")
    raise CommandFailed(f"the turn {turn['status']}" + (f": {error}" if error else ""))
