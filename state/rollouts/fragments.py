"""Tells what the user typed from what programs wrote in the user's name.

Where a line says who wrote each part, that counts; old files say nothing, there the marks decide.
Invariant: a part that carries a program's mark is never taken as typed, whatever the line says.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from state.rollouts.items import RolloutLine
from state.rollouts.lines import PASSTHROUGH


class PartKind(Enum):
    """Who speaks in a part of a message with the role of the user."""

    TYPED = auto()
    CONTEXT = auto()
    """A program's word on the surroundings; evidence, but not the user's."""
    AGENT = auto()
    """Another agent's word."""
    OURS = auto()
    """Instructions, skills and recalled memory; never evidence."""


Part = tuple[PartKind, str, Any]

# Beginning, end, and whose word it is. Without an end the beginning alone tells: such text may have
# been cut, and nobody types it.
SUMMARY_BEGINS, SUMMARY_ENDS = "<conversation_summary>", "</conversation_summary>"
"""Around what replaced a history that had become too long."""
_MARKS: tuple[tuple[str, str, PartKind], ...] = (
    ("<user_instructions>", "", PartKind.OURS),
    (SUMMARY_BEGINS, "", PartKind.OURS),
    ("<skill>", "</skill>", PartKind.OURS),
    ("<skills_instructions>", "", PartKind.OURS),
    ("<apps_instructions>", "", PartKind.OURS),
    ("<plugins_instructions>", "", PartKind.OURS),
    ("<permissions instructions>", "", PartKind.OURS),
    ("<collaboration_mode>", "", PartKind.OURS),
    ("<personality_spec>", "", PartKind.OURS),
    ("<model_switch>", "", PartKind.OURS),
    ("<tools>", "</tools>", PartKind.OURS),
    ("<hook_prompt", "</hook_prompt>", PartKind.OURS),
    ("<environment_context>", "", PartKind.CONTEXT),
    ("<user_shell_command>", "", PartKind.CONTEXT),
    ("<turn_aborted>", "", PartKind.CONTEXT),
    ("<subagent_notification>", "", PartKind.AGENT),
    ("<user_action>", "", PartKind.AGENT),  # what a reviewer found, under the user's name
)
_AGENTS_FILE = "# agents.md instructions"
_AGENTS_BODY, _AGENTS_END = "<instructions>", "</instructions>"
_MEMORY_MARKS = ("========= memory_summary begins =========", "========= memory_summary ends")
_FRAMES = (
    *_MEMORY_MARKS,
    "========= pending_notes begin",
    "========= pending_notes end",
    "========= user_corrections begin",
    "========= user_corrections end",
)
_OUR_KINDS = ("agents_md", "memories", "memory", "host_skills", "skills", "permissions", "tools")
_MAIL = ("Message Type:", "Task name:", "Sender:", "Payload:")

# An editor's extension puts what is open before what was typed.
_EDITOR_HEAD = "# context from my ide setup"
_EDITOR_REQUEST = re.compile(r"^## My request for Codex:?[ \t]*$", re.IGNORECASE | re.MULTILINE)

_MEMORY_FILES = re.compile(
    r"\bmemories(?:_v[0-9]{1,2})?/(?:MEMORY\.md|memory_summary\.md|raw_memories\.md"
    r"|rollout_summaries\b|skills/|extensions/)"
)


def kinds_of_parts(message: Mapping[str, Any]) -> list[Part]:
    """The parts of a message of the user's role: who wrote it, its text, the part itself."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    about = message.get(PASSTHROUGH)
    told = about.get("content_item_kinds") if isinstance(about, Mapping) else None
    kinds = told if isinstance(told, list) else []
    found: list[Part] = []
    for index, part in enumerate(content if isinstance(content, list) else []):
        text = part.get("text") if isinstance(part, Mapping) else None
        told_kind = kinds[index] if index < len(kinds) else None
        found.extend(_split(_kind(text, told_kind), text, part))
    return found


def typed_text(line: RolloutLine) -> str | None:
    """What the user typed in a line, not redacted; None when the line holds nothing typed."""
    if line.type != "response_item" or line.payload.get("role") != "user":
        return None
    parts = kinds_of_parts(line.payload)
    texts = [text for kind, text, _ in parts if kind is PartKind.TYPED and text.strip()]
    return "\n".join(texts).strip() or None


def is_inter_agent(message: Mapping[str, Any]) -> bool:
    """Whether a message is one agent's mail to another."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, Mapping) else None
    return isinstance(text, str) and _is_mail(text.lstrip())


def reads_memory(call: str) -> bool:
    """Whether a call's text names a memory file, so that its output is recalled memory."""
    return _MEMORY_FILES.search(call) is not None


def is_memory_section(text: str, told: Any) -> bool:
    """Whether a part of a message of ours is a memory section, by its kind or by its frame."""
    if isinstance(told, str) and told.split(".", 1)[0] in ("memories", "memory"):
        return True
    return "=========" in text and any(mark in text.lower() for mark in _FRAMES)


def _kind(text: Any, told: Any) -> PartKind:
    if isinstance(text, str):
        marked = _marked(text)
        if marked is not None:
            return marked
    if not isinstance(told, str):
        return PartKind.TYPED
    if told.startswith("user."):
        return PartKind.TYPED
    if told.startswith("multi_agent."):
        return PartKind.AGENT
    return PartKind.OURS if told.split(".", 1)[0] in _OUR_KINDS else PartKind.CONTEXT


def _marked(text: str) -> PartKind | None:
    trimmed = text.strip()
    head, tail = trimmed[:64].lower(), trimmed[-64:].lower()
    if head.startswith(_AGENTS_FILE):
        if tail.endswith(_AGENTS_END) or _AGENTS_BODY in trimmed[:4_096].lower():
            return PartKind.OURS
    for begins, ends, kind in _MARKS:
        if head.startswith(begins) and tail.endswith(ends):
            return kind
    if trimmed.startswith("## Memory") or "=========" in trimmed:
        if any(mark in trimmed.lower() for mark in _MEMORY_MARKS):
            return PartKind.OURS
    return PartKind.AGENT if _is_mail(trimmed) else None


def _split(kind: PartKind, text: Any, part: Any) -> list[Part]:
    if not isinstance(text, str):
        return [(kind, "", part)]
    if kind is PartKind.TYPED and text.lstrip()[:64].lower().startswith(_EDITOR_HEAD):
        if request := _EDITOR_REQUEST.search(text):
            before, typed = text[: request.start()], text[request.end() :].strip()
            return [
                (PartKind.CONTEXT, before, {**part, "text": before}),
                (PartKind.TYPED, typed, {**part, "text": typed}),
            ]
        return [(PartKind.CONTEXT, text, part)]
    return [(kind, text, part)]


def _is_mail(text: str) -> bool:
    lines = text.split("\n", 4)
    return len(lines) >= 4 and all(
        line.startswith(word) for line, word in zip(lines, _MAIL, strict=False)
    )
