"""What a user of `codex-python-sdk-unofficial` does; run by that client's own interpreter.

Arguments: FOLDER MEMORYD. Prints one JSON object. The client cannot read the approval requests of
today's original, so its turns ask for nothing.
"""

import asyncio
import json
import sys
from typing import Any

from codex_agent_sdk import (  # type: ignore[import-not-found]
    AgentTextDeltaEvent,
    AppServerClient,
    AppServerConfig,
    CodexOptions,
    TurnCompletedEvent,
    query,
)


async def main(folder: str, memoryd: str) -> None:
    """One question, then a thread with two turns, in two processes."""
    seen: dict[str, Any] = {}
    config = AppServerConfig(codex_bin=memoryd)
    options = CodexOptions(cwd=folder, approval_policy="never")
    text, status = "", None
    async for event in query(prompt="hello", options=options, app_server=config):
        if isinstance(event, AgentTextDeltaEvent):
            text += event.text_delta
        elif isinstance(event, TurnCompletedEvent):
            status = str(event.turn_status)
    seen["first"], seen["status"] = text, status
    async with AppServerClient(config) as client:
        await client.initialize()
        thread = (await client.thread_start(cwd=folder)).thread
        seen["thread"] = thread.id
        seen["turn"] = await _turn(client, thread.id, "keep this")
    async with AppServerClient(config) as client:
        await client.initialize()
        await client.thread_resume(thread_id=seen["thread"])
        seen["again"] = await _turn(client, seen["thread"], "and again")
        await client.thread_set_name(thread_id=seen["thread"], name="named by a client")
        seen["listed"] = [row.id for row in (await client.thread_list()).data]
        read = await client.thread_read(thread_id=seen["thread"], include_turns=True)
        seen["turns"] = len(read.thread.turns)
        await client.thread_archive(thread_id=seen["thread"])
        await client.thread_unarchive(thread_id=seen["thread"])
    print(json.dumps(seen))


async def _turn(client: Any, thread_id: str, text: str) -> str:
    turn = (await client.turn_start(thread_id=thread_id, input=text)).turn
    ended = await client.wait_for_turn_completed(thread_id=thread_id, turn_id=turn.id)
    return str(ended.status)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
