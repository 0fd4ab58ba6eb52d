"""Conversations with questions whose answers are marked: public ones from disk, and our own.

The public ones are read from files that a person fetched and are never part of this tree: LoCoMo
(`locomo10.json`) and BEAM (the folder with its chats of 100K). Our own are committed beside this.
"""

import importlib.resources
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.errors import CommandFailed

ADVERSARIAL = 5
"""LoCoMo's kind of questions that have no answer; published figures leave it out."""
UNANSWERABLE = "abstention"
"""The same of BEAM."""
_DIALOGUE = re.compile(r"D(\d+):(\d+)")
_MARKS = re.compile(r"\s*->->.*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn or message."""

    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """What was said in one go."""

    title: str
    turns: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is asked, and the turns any of which answers it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Sessions in their order, and what is asked of them."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


def locomo(path: Path) -> list[Conversation]:
    """The conversations of LoCoMo, without adversarial questions and those without evidence.

    Raises: CommandFailed.
    """
    return [_locomo(one) for one in _json(path)]


def beam(folder: Path) -> list[Conversation]:
    """The conversations of BEAM below a folder, without the questions that have no answer.

    Raises: CommandFailed.
    """
    chats = sorted(folder.glob("*/chat.json"), key=lambda path: (len(path.parent.name), str(path)))
    if not chats:
        raise CommandFailed(f"{folder} holds no */chat.json; name BEAM's folder `chats/100K`")
    return [_beam(path) for path in chats]


def our_own() -> list[Conversation]:
    """The small set that guards the suite; made up."""
    folder = importlib.resources.files("server.evals").joinpath("retrieval")
    return [
        _conversation(one["name"], one["sessions"], one["questions"])
        for file in sorted(folder.iterdir(), key=lambda one: one.name)
        if file.name.endswith(".json")
        for one in json.loads(file.read_text("utf-8"))
    ]


def _conversation(
    name: str, sessions: Mapping[str, list[str]], questions: Iterable[list[Any]]
) -> Conversation:
    """In the short form of our own: turns by session, and questions with the numbers of turns."""
    made, count = [], 0
    for title, texts in sessions.items():
        turns = tuple(Said(str(number), text) for number, text in enumerate(texts, count + 1))
        count += len(turns)
        made.append(Session(title, turns))
    asked = [Question(text, frozenset(map(str, numbers))) for text, *numbers in questions]
    return Conversation(name, tuple(made), tuple(asked))


def _locomo(one: Mapping[str, Any]) -> Conversation:
    talk = one["conversation"]
    sessions = []
    number = 1
    while f"session_{number}_date_time" in talk or f"session_{number}" in talk:
        turns = tuple(_turn(turn) for turn in talk.get(f"session_{number}", ()))
        if turns:
            sessions.append(Session(str(talk.get(f"session_{number}_date_time", "")), turns))
        number += 1
    known = {turn.turn_id for session in sessions for turn in session.turns}
    questions = [
        Question(str(asked["question"]), evidence)
        for asked in one["qa"]
        if asked["category"] != ADVERSARIAL and (evidence := _evidence(asked) & known)
    ]
    return Conversation(str(one["sample_id"]), tuple(sessions), tuple(questions))


def _turn(turn: Mapping[str, Any]) -> Said:
    caption = turn.get("blip_caption")
    seen = f" [shows {caption}]" if caption else ""
    return Said(str(turn["dia_id"]), f"{turn['speaker']}: {turn['text']}{seen}")


def _evidence(asked: Mapping[str, Any]) -> frozenset[str]:
    text = " ".join(map(str, asked.get("evidence", ())))
    return frozenset(f"D{int(a)}:{int(b)}" for a, b in _DIALOGUE.findall(text))


def _beam(path: Path) -> Conversation:
    sessions = []
    for batch in _json(path):
        turns = [
            Said(str(message["id"]), f"{message['role']}: {_MARKS.sub('', message['content'])}")
            for turn in batch["turns"]
            for message in turn
        ]
        title = str(batch.get("time_anchor") or f"part {batch['batch_number']}")
        sessions.append(Session(title, tuple(turns)))
    known = {turn.turn_id for session in sessions for turn in session.turns}
    probing = _json(path.parent / "probing_questions" / "probing_questions.json")
    questions = [
        Question(str(asked["question"]), evidence)
        for kind, every in probing.items()
        if kind != UNANSWERABLE
        for asked in every
        if (evidence := frozenset(map(str, _numbers(asked.get("source_chat_ids")))) & known)
    ]
    return Conversation(path.parent.name, tuple(sessions), tuple(questions))


def _numbers(value: Any) -> Iterator[int]:
    match value:
        case bool():
            return
        case int():
            yield value
        case dict():
            for part in value.values():
                yield from _numbers(part)
        case list():
            for part in value:
                yield from _numbers(part)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CommandFailed(f"{path} is no JSON: {error}") from error
