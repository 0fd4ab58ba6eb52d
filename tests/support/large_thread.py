"""A session file of any size, written piece by piece: questions, commands with output, answers."""

import json
from pathlib import Path

from tests.support.rollout_files import (
    STAMP,
    THREAD,
    Line,
    completed,
    event,
    item,
    message,
    session_meta,
    write_rollout,
)

OUTPUT_LINE = "some words of a line that a command wrote\n"


def write_large_thread(folder: Path, *, bytes_min: int, output_bytes: int = 4_000) -> Path:
    """A paginated rollout of at least so many bytes; each turn runs one command."""
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-11-29T18-16-00-{THREAD}.jsonl"
    with path.open("wb") as file:
        ordinal = turn = 0
        lines = [session_meta(history_mode="paginated")]
        while file.tell() < bytes_min:
            for line in lines:
                whole = {"timestamp": STAMP.format(1), "ordinal": ordinal, **line}
                file.write(json.dumps(whole).encode() + b"\n")
                ordinal += 1
            lines = _turn(turn, OUTPUT_LINE * (output_bytes // len(OUTPUT_LINE)))
            turn += 1
    return path


def write_plain_thread(folder: Path, *, turns: int, text_bytes: int) -> Path:
    """A session of so many turns, each with a question and an answer of that size."""
    lines = [session_meta(history_mode="paginated")]
    for number in range(turns):
        turn = f"01a22885-a46e-7000-937a-{number:012x}"
        said_ = {"type": "UserMessage", "id": f"u{number}", "content": []}
        content = [{"type": "Text", "text": f"{number} " + "x" * text_bytes}]
        answer = {"type": "AgentMessage", "id": f"a{number}", "content": content}
        lines += [
            event("task_started", turn_id=turn),
            completed(said_, turn),
            completed(answer, turn),
            event("task_complete", turn_id=turn),
        ]
    numbered = [{"ordinal": number, **line} for number, line in enumerate(lines)]
    return write_rollout(folder / "source", *numbered)


def write_pictures(folder: Path, *, count: int, picture_bytes: int) -> Path:
    """A session in which so many pictures were shown, each in a turn of its own."""
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-11-29T18-16-00-{THREAD}.jsonl"
    url = "data:image/png;base64," + "A" * picture_bytes
    with path.open("wb") as file:
        lines = [session_meta()]
        for number in range(count):
            asked = f"what is in picture {number}"
            shown = message("user", asked)
            shown["payload"]["content"].append({"type": "input_image", "image_url": url})
            lines += [
                event("task_started", turn_id=f"01a22885-a46e-7000-937a-{number:012x}"),
                shown,
                event("user_message", message=asked, images=[url]),
                message("assistant", f"a cat, {number}"),
                event("agent_message", message=f"a cat, {number}"),
                event("task_complete", turn_id=f"01a22885-a46e-7000-937a-{number:012x}"),
            ]
            for line in lines:
                file.write(json.dumps({"timestamp": STAMP.format(1), **line}).encode() + b"\n")
            lines = []
    return path


def _turn(number: int, output: str) -> list[Line]:
    turn_id = f"01a22885-a46e-7000-937a-{number:012x}"
    asked, answer = f"question {number}", f"answer {number}"
    call = {"call_id": f"c{number}"}
    ran = {
        "type": "CommandExecution",
        "id": f"x{number}",
        "command": "make test",
        "cwd": "/w",
        "status": "completed",
        "parsed_cmd": [],
        "aggregated_output": output,
    }
    user = {"type": "UserMessage", "id": f"u{number}", "content": [{"type": "text", "text": asked}]}
    told = {
        "type": "AgentMessage",
        "id": f"a{number}",
        "content": [{"type": "Text", "text": answer}],
    }
    return [
        event("task_started", turn_id=turn_id),
        message("user", asked),
        completed(user, turn_id),
        item("function_call", name="shell", arguments="{}", **call),
        item("function_call_output", output=output, **call),
        completed(ran, turn_id),
        message("assistant", answer),
        completed(told, turn_id),
        event("task_complete", turn_id=turn_id),
    ]
