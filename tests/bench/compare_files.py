"""The same sessions through the original and through ours: names, headings and order of the files.

`python -m tests.bench.compare_files --reference node_modules/.bin/codex` gives both programs the
same session files and the same scripted model, lets both learn them in v1 and in v2, and prints per
version what is the same and what differs, with the reason where it is known. Without a reference
only our side runs. A difference without a known reason ends it with status 1.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.clients import Client, ws_client
from tests.bench.sessions import write_sessions
from tests.bench.sides import Side, home_of, sides, ws_server
from tests.support.responses_server import Call, Recorded, Reply, ResponsesServer, says, says_json

SESSIONS = 6
PATIENCE_S = 60
ASKED = "Which rules do you know?"
SECRET = "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC3dE6"
_DIFF = "phase2_workspace_diff.md"
_TASK = re.compile(r"task (\d)\. ")
_SUMMARY = """v1

## User Profile

A person who keeps commits small.

## User preferences

- Small commits.

## General Tips

- Run the linter first.

## What's in Memory

### /tmp

#### 2026-11-29

- commits: small, with the linter
"""
_SLUGS: tuple[str | None, ...] = (
    None,
    "plain_slug",
    "Upper Case & signs!",
    "a-slug-that-is-far-longer-than-sixty-characters-and-goes-on-and-on-and-on",
    "größe",
    "",
)
KNOWN: Mapping[str, str] = {
    "rollout_path": "ours are relative to the home: it can be moved, and no account's name is sent",
    "secrets": "a `ghp_` key is masked here before the row; the original keeps it (product 8.26)",
    "instructions": "the words of the block are ours; its delimiters and the summary are the same",
}


@dataclass(slots=True)
class Files:
    """What one side left."""

    recaps: dict[str, str] = field(default_factory=dict)
    raw: str = ""
    paths: list[str] = field(default_factory=list)
    block: str = ""


def extraction_of(request: Recorded, version: str) -> Reply:
    """The fixed extraction of a session, told by the number of its task."""
    found = _TASK.search(request.text)
    number = int(found[1]) if found else 0
    recap = f"# Task {number}\n\n- commits are small, key {SECRET}\n" if number == 3 else ""
    value: dict[str, str | None] = {
        "rollout_summary": recap or f"# Task {number}\n\n- commits are small",
        "rollout_slug": _SLUGS[number],
    }
    if version == "v1":
        value["raw_memory"] = f"---\ntask: change {number}\n---\n\n- commits are small\n"
    return says_json(value)


def consolidation_of(request: Recorded, version: str) -> Reply | None:
    """The fixed consolidation, by the tools that are offered; None where it is no consolidation."""
    if _DIFF not in request.text or ASKED in request.text:
        return None
    if "function_call_output" in request.text:
        return says("Memory is consolidated.")
    names = sorted(set(re.findall(r"20\d\d-[\w-]+\.md", request.text)))
    handbook = "# Task Group: /tmp commits\n\nscope: commits\n" + "".join(
        f"\n- rollout_summaries/{name}" for name in names
    )
    files = {"memory_summary.md": _SUMMARY}
    if version == "v1":
        files["MEMORY.md"] = handbook + "\n- commits are small\n"
    if "write" in request.tool_names:
        return Reply(
            calls=tuple(
                Call(name="write", arguments={"path": path, "content": text})
                for path, text in files.items()
            )
        )
    command = "\n".join(f"cat > {path} <<'END'\n{text}END" for path, text in files.items())
    return Reply(calls=(Call(name="exec_command", arguments={"cmd": command}),))


async def learned(side: Side, version: str, sessions: Path) -> Files:
    """One side's files, and the block of a new thread."""
    async with ResponsesServer() as model:
        model.choose = lambda request: (
            extraction_of(request, version)
            if request.structured
            else consolidation_of(request, version)
        )
        port = int(model.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
        with home_of(side, model_port=port) as home:
            config = home.path / "config.toml"
            text = config.read_text().replace('version = "v1"', f'version = "{version}"')
            config.write_text(f'{text}consolidation_model = "gpt-5.5"\n')
            source = home.user / "elsewhere" if side.ours else home.path
            shutil.copytree(sessions, source / "sessions")
            folder = home.path / ("memories" if version == "v1" else "memories_v2")
            with ws_server(home) as (_, listening):
                async with ws_client(listening) as client:
                    try:
                        await _learn(side, client, source, folder, str(home.user))
                    except TimeoutError:
                        told = _last_output(model.requests)
                        raise SystemExit(f"{side.name} made no {version}: {told}") from None
                    thread = await client.start_thread(str(home.user))
                    await client.turn(thread, ASKED)
            found = Files(block=_block(model.requests))
            _collect(folder, found)
            return found


def _last_output(requests: list[Recorded]) -> str:
    """What the last tool call gave back."""
    items = [item for one in requests for item in one.body["input"]]
    outputs = [item["output"] for item in items if item["type"] == "function_call_output"]
    return str(outputs[-1]) if outputs else "no tool was called"


def _on_a_branch(sessions: Path) -> None:
    """Every other session was held on a branch; what else a file tells of itself stays."""
    for path in sorted(sessions.rglob("*.jsonl"))[::2]:
        changed = path.stat().st_mtime
        first, rest = path.read_text("utf-8").split("\n", 1)
        line = json.loads(first)
        line["payload"]["git"] = {"branch": "feature/x", "commit_hash": "0" * 40}
        path.write_text(f"{json.dumps(line)}\n{rest}", "utf-8")
        os.utime(path, (changed, changed))


async def _learn(side: Side, client: Client, source: Path, folder: Path, cwd: str) -> None:
    if side.ours:
        await client.call("thread/import", {"path": str(source)})
        await client.call("memory/consolidate/start", {"wait": True})
        return
    await asyncio.sleep(3)  # it reads the session files in the background after its start
    thread = await client.start_thread(cwd)
    await client.turn(thread, "Please begin.")
    async with asyncio.timeout(PATIENCE_S):
        while not (folder / "memory_summary.md").exists() or (folder / _DIFF).exists():
            await asyncio.sleep(0.2)


def _collect(folder: Path, found: Files) -> None:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and ".git" not in relative.parts:
            found.paths.append(str(relative))
            if relative.parts[0] == "rollout_summaries":
                found.recaps[path.name] = path.read_text("utf-8")
    raw = folder / "raw_memories.md"
    found.raw = raw.read_text("utf-8") if raw.exists() else ""


def _block(requests: list[Recorded]) -> str:
    """The developer texts of the last turn that are about memory."""
    asked = [one for one in requests if one.user_texts and one.user_texts[-1] == ASKED]
    if not asked:
        return ""
    texts = [
        part["text"]
        for item in asked[-1].body["input"]
        if item.get("role") == "developer"
        for part in item["content"]
    ]
    return "\n".join(text for text in texts if "memory" in text.lower() and "## " in text)


def compared(ours: Files, original: Files) -> tuple[list[str], dict[str, list[str]]]:
    """What is the same, and what differs by its reason (`unknown` where none is known)."""
    same: list[str] = []
    differs: dict[str, list[str]] = {}

    def look(what: str, a: object, b: object, reason: str = "unknown") -> None:
        if a == b:
            same.append(what)
        else:
            differs.setdefault(reason, []).append(f"{what}: ours {a!r}, original {b!r}"[:600])

    look("paths", ours.paths, original.paths)
    look("names of recaps", list(ours.recaps), list(original.recaps))
    for name in sorted(ours.recaps.keys() & original.recaps.keys()):
        one, other = ours.recaps[name], original.recaps[name]
        look(f"heading keys of {name}", _keys(one), _keys(other))
        for key in ("thread_id", "updated_at", "cwd", "git_branch", "rollout_path"):
            reason = "rollout_path" if key == "rollout_path" else "unknown"
            look(f"{key} of {name}", _value(one, key), _value(other, key), reason)
        reason = "secrets" if SECRET in other else "unknown"
        look(f"body of {name}", one.split("\n\n", 1)[1], other.split("\n\n", 1)[1], reason)
    look("order in raw memories", _threads(ours.raw), _threads(original.raw))
    look("lines of raw memories", _raw_lines(ours.raw), _raw_lines(original.raw))
    look("paths in raw memories", _paths(ours.raw), _paths(original.raw), "rollout_path")
    if not (_between(original.block) and _marks(original.block)):
        differs.setdefault("unknown", []).append("the original injected no block")
    look("summary in the block", _between(ours.block), _between(original.block))
    look("delimiters of the block", _marks(ours.block), _marks(original.block))
    look("headings of the block", _headings(ours.block), _headings(original.block), "instructions")
    return same, differs


def _keys(recap: str) -> list[str]:
    return [line.split(":", 1)[0] for line in recap.split("\n\n", 1)[0].splitlines()]


def _value(recap: str, key: str) -> str | None:
    found = re.search(rf"^{key}: (.*)$", recap.split("\n\n", 1)[0], re.MULTILINE)
    return found[1] if found else None


def _threads(raw: str) -> list[str]:
    return re.findall(r"^## Thread `(.+)`$", raw, re.MULTILINE)


def _raw_lines(raw: str) -> list[str]:
    return [line for line in raw.splitlines() if not line.startswith("rollout_path: ")]


def _paths(raw: str) -> list[str]:
    return re.findall(r"^rollout_path: (.*)$", raw, re.MULTILINE)


def _between(block: str) -> str:
    """The summary as it stands in the block."""
    start, end = block.find("v1\n\n## User Profile"), block.find("small, with the linter")
    return block[start:end] if 0 <= start < end else ""


def _marks(block: str) -> list[str]:
    return [line for line in block.splitlines() if re.match(r"^(=+|<+|-{3,}) ?\w*.*MEMORY", line)]


def _headings(block: str) -> list[str]:
    return [line for line in block.splitlines() if re.match(r"^#{1,6} ", line)]


async def main(reference: Path | None) -> int:
    """Both versions; the number of differences without a known reason."""
    unknown = 0
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        sessions = Path(folder) / "sessions"
        write_sessions(sessions, SESSIONS)
        _on_a_branch(sessions)
        for version in ("v1", "v2"):
            files = {side.name: await learned(side, version, sessions) for side in sides(reference)}
            report: dict[str, object] = {"version": version, "ours": files["ours"].paths}
            if "reference" in files:
                same, differs = compared(files["ours"], files["reference"])
                unknown += len(differs.get("unknown", []))
                report |= {
                    "same": same,
                    "differs": {KNOWN.get(why, why): what for why, what in differs.items()},
                }
            print(json.dumps(report, indent=2, ensure_ascii=False))
    return unknown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="the original's program, to run beside ours")
    raise SystemExit(1 if asyncio.run(main(parser.parse_args().reference)) else 0)
