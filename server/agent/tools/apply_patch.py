"""Edits files by patches: the model's own tool for it, and the same called through the shell."""

import asyncio
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from server.agent.approvals import Ask, Need, Refuse, file_change_need
from server.agent.sandbox.policy import Places, policy_of
from server.agent.sandbox.roots import Roots
from server.agent.tools.kept_places import NO_PLACES, kept_of
from server.agent.tools.patch import PatchRefused, read_patch
from server.agent.tools.patch_files import PlannedChange, carry_out, plan
from server.agent.tools.stage import (
    Accepted,
    AskFailed,
    Cancelled,
    Declined,
    FileChanged,
    FileChangeQuestion,
    OpenItem,
    Stage,
    ToolCall,
    ToolResult,
)
from server.agent.tools.unified import hunks

NAME = "apply_patch"
PATCH_BYTES_MAX = 8 * 1_048_576
GRAMMAR = """start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""


class ApplyPatch:
    """The tool `apply_patch`."""

    name = NAME
    is_parallel = False
    seconds_max = None

    def __init__(self, places: Places = NO_PLACES, roots: Roots | None = None) -> None:
        self._places, self._roots = places, roots or Roots()

    @property
    def definition(self) -> Mapping[str, Any]:
        """A custom tool: the patch is its whole input."""
        return {
            "type": "custom",
            "name": NAME,
            "description": "Edits files: adds, changes, moves and deletes them by a patch. "
            "This is a FREEFORM tool, so do not wrap the patch in JSON.",
            "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Carry the patch out, after approval where the policy asks for it."""
        text, cwd = _patch_text(call), stage.settings.cwd
        return await run_patch(text, stage, cwd=cwd, places=self._places, roots=self._roots)


def _patch_text(call: ToolCall) -> str:
    """The patch of a call; servers without custom tools get it as the argument `input`."""
    if call.custom:
        return call.text
    try:
        given = json.loads(call.text)
    except ValueError:
        return call.text
    for key in ("input", "patch"):
        if isinstance(given, dict) and isinstance(given.get(key), str):
            return str(given[key])
    return call.text


async def run_patch(
    text: str, stage: Stage, *, cwd: str, places: Places, roots: Roots
) -> ToolResult:
    """Carry out a patch as one item; what went wrong is in the result.

    `cwd` is where its paths begin; what may be written goes by the thread's own folder.
    """
    try:
        changes = await asyncio.to_thread(_planned, text, cwd)
    except PatchRefused as refused:
        return ToolResult(content=f"apply_patch failed: {refused}")
    need = await asyncio.to_thread(_need, changes, stage, places, roots)
    if isinstance(need, Refuse):
        return ToolResult(content=f"apply_patch failed: {need.message}")
    shown = await asyncio.to_thread(lambda: [_view(change) for change in changes])
    item = stage.open("fileChange", {"changes": shown, "status": "inProgress"})
    if isinstance(need, Ask):
        denied = await _denied(item, changes, need, stage)
        if denied is not None:
            await item.complete({"changes": shown, "status": denied[0]})
            return ToolResult(content=denied[1])
    try:
        await asyncio.to_thread(carry_out, changes)
    except (PatchRefused, OSError) as error:
        await item.complete({"changes": shown, "status": "failed"})
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return ToolResult(content=f"apply_patch failed, nothing was changed: {reason}")
    await item.complete({"changes": shown, "status": "completed"})
    await stage.changed_files([_told(change) for change in changes])
    return ToolResult(content=_success(changes, cwd))


def _planned(text: str, cwd: str) -> tuple[PlannedChange, ...]:
    if len(text.encode()) > PATCH_BYTES_MAX:
        raise PatchRefused(f"the patch is larger than {PATCH_BYTES_MAX >> 20} MiB")
    return plan(read_patch(text), cwd)


def _need(changes: Sequence[PlannedChange], stage: Stage, places: Places, roots: Roots) -> Need:
    settings = stage.settings
    policy = policy_of(settings.sandbox_policy, settings.workspace_roots)
    paths = [path for change in changes for path in change.paths]
    return file_change_need(
        paths,
        approval_policy=settings.approval_policy,
        sandbox_policy=settings.sandbox_policy,
        outside=kept_of(paths, policy, settings.cwd, places, roots),
        grants=stage.grants,
    )


async def _denied(
    item: OpenItem, changes: Sequence[PlannedChange], need: Ask, stage: Stage
) -> tuple[str, str] | None:
    """Ask; the item's status and the words for the model where the answer is no."""
    question = FileChangeQuestion(
        reason=need.reason,
        grant_keys=tuple(path for change in changes for path in change.paths),
    )
    decision = await stage.ask_file_change(item, question)
    match decision:
        case Accepted():
            return None
        case Declined(reason="declined"):
            return "declined", "the user declined the patch; nothing was changed"
        case Declined():
            return "declined", "nobody answered whether the patch may be applied; nothing changed"
        case Cancelled():
            return "declined", "the user declined the patch and stopped the turn"
        case AskFailed(message=message):
            return "failed", f"the question whether the patch may be applied failed: {message}"


def _view(change: PlannedChange) -> dict[str, Any]:
    """One change as clients see it."""
    kind: dict[str, Any] = {"type": change.kind}
    match change.kind:
        case "add":
            diff = _shown_text(change.after)
        case "delete":
            diff = _shown_text(change.before)
        case "update":
            kind["move_path"] = change.move_to
            diff = hunks(_shown_text(change.before), _shown_text(change.after))
            if change.move_to is not None:
                diff = f"{diff}\n\nMoved to: {change.move_to}"
    return {"path": change.path, "kind": kind, "diff": diff}


def _shown_text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _told(change: PlannedChange) -> FileChanged:
    mode = 0o100755 if (change.mode or 0) & 0o111 else 0o100644
    if change.move_to is None:
        return FileChanged(path=change.path, before=change.before, after=change.after, mode=mode)
    return FileChanged(
        path=change.move_to,
        before=change.before,
        after=change.after,
        mode=mode,
        moved_from=change.path,
    )


_LETTERS = {"add": "A", "update": "M", "delete": "D"}


def _success(changes: Sequence[PlannedChange], cwd: str) -> str:
    lines = [
        f"{_LETTERS[change.kind]} {(change.move_to or change.path).removeprefix(f'{cwd}/')}"
        for change in changes
    ]
    return "Success. Updated the following files:\n" + "\n".join(lines) + "\n"


_IN_SHELL = re.compile(
    r"\A\s*(?:cd\s+(?P<folder>'[^']*'|\"[^\"]*\"|[^\s;&|<>]+)\s*&&\s*)?"
    r"(?:apply_patch|applypatch)\s*<<-?\s*(?P<quote>['\"]?)(?P<mark>\w+)(?P=quote)[ \t]*\n"
    r"(?P<patch>.*?)\n[ \t]*(?P=mark)\s*\Z",
    re.DOTALL,
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


def patch_in_command(command: Sequence[str] | str) -> tuple[str, str | None] | None:
    """The patch that a command only applies, and the folder it goes to first; else None.

    Takes the words of a command, also of one that a shell runs, or a shell's script.
    """
    if isinstance(command, str):
        found = _IN_SHELL.match(command)
        if found is not None:
            folder = found["folder"]
            return found["patch"], shlex.split(folder)[0] if folder else None
        return _patch_in_words(command)
    words = list(command)
    if len(words) == 2 and words[0] in (NAME, "applypatch"):
        return words[1], None
    if len(words) == 3 and words[0].rsplit("/", 1)[-1] in _SHELLS and words[1] in ("-lc", "-c"):
        return patch_in_command(words[2])
    return None


def _patch_in_words(script: str) -> tuple[str, str | None] | None:
    """`apply_patch '*** Begin Patch …'` as one line of a script."""
    if not script.lstrip().startswith((NAME, "applypatch")):
        return None
    try:
        words = shlex.split(script)
    except ValueError:
        return None
    if len(words) == 2 and words[1].lstrip().startswith("*** Begin Patch"):
        return words[1], None
    return None
