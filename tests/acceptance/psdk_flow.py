"""What a user of `codex-python-sdk` does; run by that client's own interpreter, not by ours.

Arguments: FOLDER MEMORYD. Prints one JSON object.
"""

import json
import sys
from typing import Any

from codex_python_sdk import create_client  # type: ignore[import-not-found]


def main(folder: str, memoryd: str) -> None:
    """Turns with both approvals, text as a stream, then a second process that resumes and lists."""
    seen: dict[str, Any] = {"asked": []}

    def allow(params: dict[str, Any]) -> dict[str, str]:
        seen["asked"].append(sorted(params))
        return {"decision": "accept"}

    given = {"cwd": folder, "approvalPolicy": "on-request", "sandbox": "read-only"}
    options = {
        "codex_command": memoryd,
        "process_cwd": folder,
        "default_thread_params": given,
        "on_command_approval": allow,
        "on_file_change_approval": allow,
    }
    with create_client(**options) as client:
        first = client.responses_create(prompt="hello")
        seen["thread"], seen["first"] = first.thread_id, first.text
        for name, prompt in (("command", "run the command"), ("edit", "edit the file")):
            seen[name] = client.responses_create(prompt=prompt, thread_id=first.thread_id).text
        pieces = client.responses_stream_text(prompt="in pieces", thread_id=first.thread_id)
        seen["streamed"] = "".join(pieces)
    with create_client(**options) as client:
        second = client.responses_create(prompt="and again", thread_id=seen["thread"])
        seen["second"] = second.text
        seen["listed"] = [row["id"] for row in client.thread_list(limit=10)]
        read = client.thread_read(seen["thread"], include_turns=True)
        seen["turns"] = len(read.get("thread", read)["turns"])
        seen["models"] = len(client.model_list()["data"])
        client.account_read()
        client.config_read()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
