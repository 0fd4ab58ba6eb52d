"""What an editor does with the ACP adapter, over its stdio; standard library only.

Arguments: FOLDER ADAPTER, with the path of memoryd in CODEX_PATH. Prints one JSON object.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SLOWLY = f"speak slowly {'word ' * 80}"


class Editor:
    """One process of the adapter; every permission that it asks for is given, or else refused."""

    def __init__(self, adapter: str, seen: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            ["node", adapter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._seen = seen
        self._number = 0
        self._refuses = False
        self._stops: str | None = None
        """The session whose turn is stopped as soon as it says something."""
        self.updates: list[dict[str, Any]] = []

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a call; what comes meanwhile is answered or kept."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message:
                if message["id"] == self._number:
                    if "error" in message:
                        raise SystemExit(f"{method}: {message['error']}")
                    return message["result"]
            elif message["method"] == "session/request_permission":
                self._answer(message)
            elif message["method"] == "session/update":
                self._hear(message["params"]["update"])
        raise SystemExit(f"the adapter ended during {method}")

    def begin(self) -> dict[str, Any]:
        """The handshake."""
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}}
        told: dict[str, Any] = self.call(
            "initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}
        )
        return told

    def refused(self, session: str, text: str) -> str:
        """How a turn ends whose command is refused."""
        self._refuses = True
        reason = self._turn(session, text)
        self._refuses = False
        return reason

    def stopped(self, session: str, text: str) -> str:
        """How a turn ends that is stopped while it speaks."""
        self._stops = session
        return self._turn(session, text)

    def _turn(self, session: str, text: str) -> str:
        content = [{"type": "text", "text": text}]
        ended = self.call("session/prompt", {"sessionId": session, "prompt": content})
        return str(ended["stopReason"])

    def prompt(self, session: str, text: str) -> str:
        """The words of the agent in one turn, which has to end by itself."""
        self.updates.clear()
        reason = self._turn(session, text)
        assert reason == "end_turn", reason
        self._seen["updates"] = sorted({*self._seen["updates"], *self._kinds()})
        return self.words("agent_message_chunk")

    def words(self, kind: str) -> str:
        """The texts of all updates of that kind."""
        chosen = [one for one in self.updates if one["sessionUpdate"] == kind]
        return "".join(str(one["content"].get("text", "")) for one in chosen)

    def close(self) -> None:
        """Leave."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)

    def _kinds(self) -> list[str]:
        return [str(one["sessionUpdate"]) for one in self.updates]

    def _hear(self, update: dict[str, Any]) -> None:
        self.updates.append(update)
        if self._stops is not None and update["sessionUpdate"] == "agent_message_chunk":
            self._send({"method": "session/cancel", "params": {"sessionId": self._stops}})
            self._stops = None

    def _answer(self, message: Mapping[str, Any]) -> None:
        options = message["params"]["options"]
        kind = "reject_once" if self._refuses else "allow_once"
        chosen = next(one["optionId"] for one in options if one["kind"] == kind)
        if not self._refuses:
            self._seen["asked"].append(message["params"]["toolCall"].get("kind"))
        outcome = {"outcome": "selected", "optionId": chosen}
        self._send({"id": message["id"], "result": {"outcome": outcome}})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def main(folder: str, adapter: str) -> None:
    """Turns that are refused, stopped and allowed, then a second process that goes on."""
    seen: dict[str, Any] = {"asked": [], "updates": []}
    editor = Editor(adapter, seen)
    editor.begin()
    session = editor.call("session/new", {"cwd": folder, "mcpServers": []})
    seen["thread"] = session["sessionId"]
    seen["modes"] = len((session.get("modes") or {}).get("availableModes", []))
    editor.call("session/set_mode", {"sessionId": seen["thread"], "modeId": "read-only"})
    seen["first"] = editor.prompt(seen["thread"], "hello")
    seen["refused"] = editor.refused(seen["thread"], "run the command")
    seen["ran"] = Path(folder, "from-command.txt").exists()
    seen["stopped"] = editor.stopped(seen["thread"], SLOWLY)
    seen["command"] = editor.prompt(seen["thread"], "run the command")
    seen["edit"] = editor.prompt(seen["thread"], "edit the file")
    editor.close()
    editor = Editor(adapter, seen)
    editor.begin()
    listed = editor.call("session/list", {"cwd": folder})
    seen["listed"] = [row["sessionId"] for row in listed["sessions"]]
    editor.call("session/load", {"sessionId": seen["thread"], "cwd": folder, "mcpServers": []})
    seen["history"] = editor.words("user_message_chunk")
    seen["second"] = editor.prompt(seen["thread"], "and again")
    editor.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
