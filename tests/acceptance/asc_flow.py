"""What a user of `codex-app-server-client` does; run by that client's own interpreter, not by ours.

Arguments: FOLDER MEMORYD. Prints one JSON object.
"""

import asyncio
import json
import sys
from typing import Any

from codex_app_server_client import CodexAppServer  # type: ignore[import-not-found]
from codex_app_server_client.types.threads import (  # type: ignore[import-not-found]
    ThreadStartParams,
)


async def main(folder: str, memoryd: str) -> None:
    """Turns with both approvals, a stream, then a second process that lists and resumes."""
    seen: dict[str, Any] = {"asked": []}

    async def allow(method: str, params: Any) -> dict[str, str]:
        seen["asked"].append(method)
        return {"decision": "accept"}

    async with CodexAppServer(codex_bin=memoryd) as codex:
        for kind in ("commandExecution", "fileChange"):
            codex.low_level.on_server_request(f"item/{kind}/requestApproval", allow)
        given = {"cwd": folder, "approvalPolicy": "on-request", "sandbox": "read-only"}
        thread = await codex.start_thread(ThreadStartParams.model_validate(given))
        seen["thread"] = thread.id
        first = await thread.run("hello")
        seen["first"], seen["status"] = first.final_response, first.status
        seen["tokens"] = first.usage is not None
        ran = await thread.run("run the command")
        seen["command"] = ran.final_response
        seen["items"] = [one["type"] for one in ran.items]
        seen["edit"] = (await thread.run("edit the file")).final_response
        streamed = [type(event).__name__ async for event in thread.run_streamed("in pieces")]
        seen["deltas"] = streamed.count("AgentMessageDeltaEvent")
    async with CodexAppServer(codex_bin=memoryd) as codex:
        listed = await codex.low_level.thread_list()
        seen["listed"] = [row.id for row in listed.data]
        thread = await codex.resume_thread(seen["thread"])
        seen["second"] = (await thread.run("and again")).final_response
        models = await codex.low_level.model_list()
        seen["models"] = len(models.data)
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
