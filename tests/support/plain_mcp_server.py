"""An MCP server on stdio that needs no package and starts at once: `python plain_mcp_server.py`.

It speaks the handshake of the older protocol. Its tools: `echo` reads only; `wipe` destroys; `ask`
asks the user; `leave` ends the process; `picture` gives an image; `slow` tells progress and waits;
`fail` answers with an error. With the argument `broken` it says why it cannot start, and ends.
"""

import json
import os
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {}}
READS = {"readOnlyHint": True}
TOOLS = [
    {"name": name, "inputSchema": SCHEMA, "annotations": hints}
    for name, hints in {
        "echo": READS,
        "wipe": {"destructiveHint": True},
        "ask": READS,
        "leave": READS,
        "picture": READS,
        "slow": READS,
        "fail": READS,
    }.items()
]
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}}


def send(**message: Any) -> None:
    """One line to the client."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(said: str, *, is_error: bool = False) -> dict[str, Any]:
    """A result in words."""
    return {"content": [{"type": "text", "text": said}], "isError": is_error}


def called(name: str, arguments: dict[str, Any], token: Any) -> dict[str, Any] | None:
    """What a tool gives; None for one that never ends."""
    match name:
        case "echo":
            variables = sorted(os.environ)
            return text(f"{arguments.get('text')} in {os.getcwd()} with {variables}")
        case "wipe":
            return text(f"wiped {arguments.get('path')}")
        case "ask":
            asked = {"mode": "form", "message": "Which colour?", "requestedSchema": COLOUR}
            send(id="q1", method="elicitation/create", params=asked)
            answer = json.loads(sys.stdin.readline())["result"]
            return text(f"{answer['action']} {answer.get('content')}")
        case "leave":
            os._exit(3)
        case "picture":
            picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
            return {"content": [picture]}
        case "slow":
            told = {"progressToken": token, "progress": 1, "total": 2, "message": "half of it"}
            send(method="notifications/progress", params=told)
            return None
        case _:
            return text("it went wrong", is_error=True)


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request that a server knows."""
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            info = {"name": "plain", "version": "1.2.3"}
            version = params["protocolVersion"]
            tools: dict[str, Any] = {"tools": {}}
            return {"protocolVersion": version, "capabilities": tools, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            token = (params.get("_meta") or {}).get("progressToken")
            return called(params["name"], params.get("arguments") or {}, token)
        case _:
            return {}


def main() -> None:
    """Answer line by line until the client is gone."""
    print("a line that is no protocol", file=sys.stderr)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if message["method"] == "server/discover":
            send(id=message["id"], error={"code": -32601, "message": "Method not found"})
        elif (result := answered(message)) is not None:
            send(id=message["id"], result=result)


if __name__ == "__main__":
    if sys.argv[1:2] == ["broken"]:
        print("no licence found", file=sys.stderr)
        sys.exit(1)
    main()
