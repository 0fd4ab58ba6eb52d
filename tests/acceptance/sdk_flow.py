"""What a user of the public client does; run by that client's own interpreter, not by ours.

Arguments: `stdio MEMORYD` or `websocket URL TOKEN`. Prints one JSON object.
"""

import asyncio
import json
import sys
from typing import Any

import codex_app_server_sdk as sdk  # type: ignore[import-not-found]


def _client(kind: str, arguments: list[str]) -> Any:
    if kind == "stdio":
        return sdk.CodexClient.connect_stdio(command=[arguments[0], "app-server"])
    return sdk.CodexClient.connect_websocket(url=arguments[0], token=arguments[1])


async def main(kind: str, *arguments: str) -> None:
    """Start, turn, resume from a new connection, a second turn, list and read."""
    rest = list(arguments)
    seen: dict[str, Any] = {}
    async with _client(kind, rest) as client:
        thread = await client.start_thread(sdk.ThreadConfig(cwd="/tmp"))
        first = await client.chat_once("What do you know about me?", thread.thread_id)
        seen["thread"] = thread.thread_id
        seen["first"] = first.final_text
        seen["source"] = first.completion_source
    async with _client(kind, rest) as client:
        again = await client.resume_thread(seen["thread"])
        second = await client.chat_once("And about my projects?", again.thread_id)
        seen["second"] = second.final_text
        listed = await client.list_threads(limit=10)
        seen["listed"] = [row["id"] for row in listed["data"]]
        read = await client.read_thread(seen["thread"])
        seen["turns"] = len(read["thread"]["turns"])
        models = await client.list_models()
        seen["models"] = len(models["data"])
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
