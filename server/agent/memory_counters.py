"""Counts how memory is used: look-ups by tool and by shell, and what turns were allowed.

In this process only. Invariant: every label is one of a fixed few words, so the counters stay few
and hold no text of a memory, a path or a command.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock

from memory_read.shell_reads import shell_reads
from memory_read.tools import MemoryTool
from server.agent.inputs import ThreadSettings
from server.agent.memory_told import MemoryReport
from state.errors import PathRefused

TOOL_CALL = "memories.tool.call"
SHELL_READ = "memories.usage"
TURN = "turn.memory"
SECTION = "memories.section"
_NOTE_TOOL = "add_ad_hoc_note"
_FILES = {
    "MEMORY.md": "memory_md",
    "memory_summary.md": "memory_summary",
    "raw_memories.md": "raw_memories",
}
_FOLDERS = {
    "rollout_summaries": "rollout_summaries",
    "skills": "skills",
    "extensions/ad_hoc/notes": "ad_hoc_notes",
}
_ABSENT = {"list": "root", "search": "all", _NOTE_TOOL: "ad_hoc_notes"}
# How the refusals of badly written arguments begin; such calls are none.
_NOT_A_CALL = (
    "invalid arguments",
    "invalid type",
    "invalid value for",
    "unknown field",
    "missing field",
)


@dataclass(frozen=True, slots=True)
class Count:
    """One counter with its labels."""

    name: str
    labels: Mapping[str, str]
    count: int


class MemoryCounters:
    """The counters; calls come from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()

    def all(self) -> tuple[Count, ...]:
        """Every counter that is not zero, by name and labels."""
        with self._lock:
            found = sorted(self._counts.items())
        return tuple(Count(name, dict(labels), count) for (name, labels), count in found)

    def tool_call(self, operation: str, scope: str, *, succeeded: bool, truncated: str) -> None:
        """A call of a memory tool."""
        self._add(
            TOOL_CALL,
            tool=f"memories/{operation}",
            operation=operation,
            scope=scope,
            status="succeeded" if succeeded else "failed",
            truncated=truncated,
        )

    def shell_call(self, tool: str, command: str, *, succeeded: bool) -> None:
        """A shell command that ran; counts once for each memory file that it read."""
        # Other names would let a client make labels.
        name = tool if tool in ("exec_command", "shell_command", "shell") else "other"
        for read in shell_reads(command):
            self._add(
                SHELL_READ,
                kind=read.kind,
                memory_version=read.version,
                tool=name,
                success=_word(succeeded),
            )

    def section(self, report: MemoryReport) -> None:
        """A thread was told of memory, or why not."""
        self._add(SECTION, memory_version=report.version, outcome=report.reason or "told")

    def turn(self, settings: ThreadSettings, *, cited: bool) -> None:
        """A turn that ended."""
        self._add(
            TURN,
            read_allowed=_word(settings.use_memories),
            feature_enabled=_word(settings.memory_off != "feature_off"),
            config_use_memories=_word(settings.memory_off not in ("use_off", "thread_off")),
            has_citations=_word(cited),
        )

    def _add(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1


def counted(tool: MemoryTool, counters: MemoryCounters) -> MemoryTool:
    """The same tool, with its calls counted."""

    def work(text: str) -> Mapping[str, object]:
        try:
            result = tool.work(text)
        except PathRefused as refusal:
            if not str(refusal).startswith(_NOT_A_CALL):
                _failed(tool.name, text, counters)
            raise
        except Exception:
            _failed(tool.name, text, counters)
            raise
        truncated = (
            "not_applicable" if tool.name == _NOTE_TOOL else _word(result.get("truncated") is True)
        )
        counters.tool_call(
            tool.name, scope_of(tool.name, text), succeeded=True, truncated=truncated
        )
        return result

    return replace(tool, work=work)


def _failed(name: str, text: str, counters: MemoryCounters) -> None:
    truncated = "not_applicable" if name == _NOTE_TOOL else "unknown"
    counters.tool_call(name, scope_of(name, text), succeeded=False, truncated=truncated)


def scope_of(operation: str, arguments: str) -> str:
    """Which part of memory a call is about, as one of a fixed few words."""
    if operation == _NOTE_TOOL:
        return _ABSENT[operation]
    try:
        given = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return "other"
    path = given.get("path") if isinstance(given, dict) else None
    if path is None:
        return _ABSENT.get(operation, "root")
    plain = str(path).strip("/").removeprefix("./").strip("/")
    if plain in ("", "."):
        return "root"
    if plain in _FILES:
        return _FILES[plain]
    for folder, scope in _FOLDERS.items():
        if plain == folder or plain.startswith(f"{folder}/"):
            return scope
    return "other"


def _word(value: bool) -> str:
    return "true" if value else "false"
