"""What a transcript's commands show: which worked, and which failure a change of command cured.

Pure. Only commands and their exit status are evidence; what a tool printed is used to recognise
what the user speaks of, and never becomes text of an entry.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from state.rollouts.items import TranscriptItem

RUNS_MAX = 500
COMMAND_CHARS_MAX = 400
OUTPUT_CHARS_MAX = 2_000
SHARED_MIN = 0.5
MESSAGES_AFTER = 2
"""A cure is spoken of in the two messages behind it at the latest."""

_STEPS = re.compile(r"&&|;|\|")
_EXIT = re.compile(r"(?:[Ee]xit code:? |exited with code |[\"']exit_code[\"']: ?)(-?\d{1,9})")
_TOKEN = re.compile(r"[^\s'\"`;&|()]+")
_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
_TELLING = re.compile(r"\w*(?:Error|Exception)\b|\w+_\w+|[a-z]+[A-Z]\w*|0x\w+|\w+-\w+|\w*\d\w*")
_TOOLS = frozenset("cargo go npm pnpm yarn make poetry uv pip docker git bundle mvn dotnet".split())
_DULL = frozenset(
    "error fail failed failure could cannot with from that this have been does line file found"
    " test "
    "tests code output process exited warning fatal command unable".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command that was run."""

    command: str
    worked: bool
    output: str
    place: int
    """The number of the transcript item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """A command that failed and the one that then worked."""

    begins: int
    ends: int
    marks: frozenset[str]
    """What is new in the command that worked."""
    symptoms: frozenset[str]
    """Telling words of the failure."""


def runs(items: Iterable[TranscriptItem]) -> tuple[Run, ...]:
    """The commands whose end the transcript shows, in order."""
    called: dict[str, str] = {}
    found: list[Run] = []
    for place, item in enumerate(items):
        call_id = item.raw.get("call_id")
        if not isinstance(call_id, str):
            continue
        if item.kind == "tool_call" and (command := _command(item.raw)):
            called[call_id] = command
        elif item.kind == "tool_output" and call_id in called:
            ended = _EXIT.search(item.text[:OUTPUT_CHARS_MAX])
            if ended is not None:
                found.append(
                    Run(
                        command=called.pop(call_id),
                        worked=int(ended.group(1)) == 0,
                        output=item.text[ended.end() : OUTPUT_CHARS_MAX],
                        place=place,
                    )
                )
        if len(found) >= RUNS_MAX:
            break
    return tuple(found)


def cures(ran: tuple[Run, ...]) -> tuple[Cure, ...]:
    """Each failure that the same kind of command overcame later."""
    found: list[Cure] = []
    for number, failed in enumerate(ran):
        if failed.worked:
            continue
        before = tokens(failed.command)
        for later in ran[number + 1 :]:
            after = tokens(later.command)
            if not later.worked or not before:
                continue
            same_tool = _tool(failed.command) == _tool(later.command) != ""
            at_once = later is ran[number + 1]
            if at_once or same_tool or len(before & after) / len(before) >= SHARED_MIN:
                found.append(
                    Cure(
                        begins=failed.place,
                        ends=later.place,
                        marks=_marks(after - before) | _added(failed.command, later.command),
                        symptoms=_symptoms(failed.output),
                    )
                )
                break
    return tuple(found)


def _tool(command: str) -> str:
    """The program that a command runs, where it is one with commands of its own."""
    first = command.split(" ", 1)[0].lower()
    return first if first in _TOOLS else ""


def tokens(command: str) -> frozenset[str]:
    """The words of a command line."""
    return frozenset(_TOKEN.findall(command.lower()))


def told_of(cure: Cure, statement: str) -> bool:
    """Whether a statement speaks of what was changed, or of the failure by its telling words."""
    lower = statement.lower()
    if any(_stands_in(mark, lower) for mark in cure.marks):
        return True
    return any(_stands_in(word, lower) for word in cure.symptoms)


def worked_of(ran: Iterable[Run], statement: str) -> bool:
    """Whether a command that the statement names was run and worked in the end."""
    last: dict[str, bool] = {}
    lower = re.sub(r"\s+", " ", statement.lower().replace("`", " "))
    for run in ran:
        for part in re.split(r"\s*(?:&&|;|\|)\s*", run.command.lower()):
            plain = re.sub(r"\s+", " ", part).strip()
            named = _named(plain)
            if plain and (
                _stands_in(plain, lower) or (named is not None and _stands_in(named, lower))
            ):
                last[named or plain] = run.worked
    return bool(last) and all(last.values())


def _named(command: str) -> str | None:
    """The command without arguments: `make ship` of `make ship STAGE=x`, if it has two words."""
    words = [word for word in command.split(" ") if "=" not in word]
    return " ".join(words[:2]) if len(words) >= 2 else None


def _stands_in(word: str, text: str) -> bool:
    return re.search(rf"(?<![a-z0-9_]){re.escape(word)}(?![a-z0-9_])", text) is not None


def _added(failed: str, later: str) -> frozenset[str]:
    """The commands of several words that the later line has and the failed one has not."""
    steps = (_STEPS.split(line.lower()) for line in (failed, later))
    old, new = (frozenset(one.strip() for one in parts) for parts in steps)
    return frozenset(one for one in new - old if " " in one)


def _marks(new: frozenset[str]) -> frozenset[str]:
    found = {one for one in new if len(one) > 2}
    found |= {one.split("=", 1)[0] for one in new if "=" in one}
    found |= {part for one in new for part in re.split(r"[=:/]", one) if len(part) > 4}
    numbers = {part for one in new for part in re.findall(r"\d[\d.]+", one)}
    return frozenset(one for one in found if len(one) > 2 and one not in _DULL) | numbers


def _symptoms(output: str) -> frozenset[str]:
    telling = (word for word in _WORD.findall(output) if _TELLING.fullmatch(word))
    named = re.findall(r"[`'\"\[]([\w./@-]{4,40})[`'\"\]]", output)
    codes = re.findall(r"0x\w+", output)
    return frozenset(one.lower().strip(".-") for one in (*telling, *named, *codes)) - _DULL


def _command(raw: Mapping[str, Any]) -> str | None:
    """The command line of a shell call, however its arguments name it."""
    said = raw.get("arguments", raw.get("action"))
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except ValueError:
            return None
    if not isinstance(said, Mapping):
        return None
    command = said.get("cmd", said.get("command"))
    if isinstance(command, list):
        words = [one for one in command if isinstance(one, str)]
        command = words[-1] if words[1:2] in (["-lc"], ["-c"]) else " ".join(words)
    return command[:COMMAND_CHARS_MAX] if isinstance(command, str) else None
