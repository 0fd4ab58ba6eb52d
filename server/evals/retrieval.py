"""Measures ranked search: how often one of the first five hits is a turn that answers.

Every conversation is written as the memory of a home of its own, one file a session and one line a
turn, and asked through the same index and ranker as `memory/search`, each question as it stands.
Two baselines are asked in the same run: counting the words of the question that stand in a turn, as
one would with grep, and the order that the full-text index gives by itself.
"""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memory_read.search import MemorySearch
from memory_read.search_index import SearchIndex
from memory_read.semantic.embedder import Embedder
from memory_read.semantic.filling import VectorFilling
from memory_read.semantic.meaning import Meaning
from memory_read.wording import stems
from server.evals.conversations import Conversation
from state.clock import SystemClock
from state.home import Home
from state.recovery import State, open_state
from state.visits import Visit

FIRST = 5
LOOKED_AT = 50
VERSION = "v1"
SEMANTIC_TARGETS = {"locomo": {"turn_any@5": 0.70}, "beam": {"message_any@5": 0.60}}
TARGETS = {
    "locomo": {"turn_any@5": 0.71, "session_any@5": 0.93},
    "beam": {"message_any@5": 0.47},
    "own": {"turn_any@5": 0.80},
}
_WORD = re.compile(r"\w+")

Ask = Callable[[str], Awaitable[list[str]]]
"""From a question to turn ids, the best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How many questions were answered within the first five."""

    questions: int
    turns: int
    sessions: int

    @property
    def turn_any(self) -> float:
        """Share of questions with an answering turn among the first five turns."""
        return self.turns / self.questions if self.questions else 0.0

    @property
    def session_any(self) -> float:
        """The same of sessions: the first five that the turns, in their order, belong to."""
        return self.sessions / self.questions if self.questions else 0.0

    def joined(self, other: "Figures") -> "Figures":
        """Both together."""
        return Figures(
            questions=self.questions + other.questions,
            turns=self.turns + other.turns,
            sessions=self.sessions + other.sessions,
        )


NONE = Figures(questions=0, turns=0, sessions=0)
LEXICAL, SEMANTIC = "search", "semantic"
BASELINES = ("grep", "fts")


async def measured(
    conversations: Sequence[Conversation],
    tell: Callable[[str], object] = str,
    embedder: Embedder | None = None,
) -> dict[str, Figures]:
    """The figures of each way over all conversations; each one is told as it begins.

    With an embedder the questions are asked by meaning too.

    Raises: OSError, DatabaseUnusable.
    """
    found: dict[str, Figures] = {}
    for number, one in enumerate(conversations, 1):
        tell(f"conversation {number} of {len(conversations)}: {len(one.questions)} questions")
        for way, figures in (await asked_of(one, embedder)).items():
            found[way] = found.get(way, NONE).joined(figures)
    return found


async def asked_of(
    conversation: Conversation, embedder: Embedder | None = None
) -> dict[str, Figures]:
    """The figures of each way over one conversation."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memoryd-eval-"))
        home = Home(Path(folder) / "home")
        places = await asyncio.to_thread(_written, conversation, home)
        state = await open_state(home, SystemClock(), "eval")
        stack.push_async_callback(state.close)
        index = SearchIndex(state)
        stack.push_async_callback(index.close)
        await index.settle()
        await index.finished(VERSION)
        ways: dict[str, Ask] = {
            LEXICAL: _by_search(MemorySearch(state, index), places),
            "grep": _by_words(conversation),
            "fts": _by_index(state, index, places),
        }
        if embedder is not None:
            filling = VectorFilling(state, embedder)
            stack.push_async_callback(filling.close)
            filling.follow(VERSION)
            await filling.finished(VERSION)
            meaning = Meaning(state, embedder, filling)
            ways[SEMANTIC] = _by_search(MemorySearch(state, index, meaning=meaning), places)
        return {way: await _figures(conversation, ask) for way, ask in ways.items()}


async def _figures(conversation: Conversation, ask: Ask) -> Figures:
    session_of = {
        turn.turn_id: number
        for number, session in enumerate(conversation.sessions)
        for turn in session.turns
    }
    turns = sessions = 0
    for question in conversation.questions:
        found = await ask(question.text)
        turns += any(one in question.evidence for one in found[:FIRST])
        first = list(dict.fromkeys(session_of[one] for one in found))[:FIRST]
        sessions += any(session_of[one] in first for one in question.evidence)
    return Figures(questions=len(conversation.questions), turns=turns, sessions=sessions)


def _written(conversation: Conversation, home: Home) -> dict[tuple[str, int], str]:
    """Write the memory of a home; the turn that stands at each path and line."""
    home.prepare()
    folder = home.memories(VERSION) / "rollout_summaries"
    folder.mkdir(parents=True)
    places: dict[tuple[str, int], str] = {}
    for number, session in enumerate(conversation.sessions, 1):
        path = folder / f"{number:03d}.md"
        lines = [f"# {session.title}", ""]
        for turn in session.turns:
            lines.append("- " + " ".join(turn.text.split()))
            places[(f"rollout_summaries/{path.name}", len(lines))] = turn.turn_id
        path.write_bytes("\n".join([*lines, ""]).encode(errors="replace"))
    return places


def _by_search(search: MemorySearch, places: Mapping[tuple[str, int], str]) -> Ask:
    async def ask(question: str) -> list[str]:
        reply = await search.search(question, version=VERSION, limit=LOOKED_AT)
        return _turns(((hit.path, hit.start_line) for hit in reply.hits), places)

    return ask


def _by_words(conversation: Conversation) -> Ask:
    said = [
        (turn.turn_id, frozenset(_WORD.findall(turn.text.casefold())))
        for session in conversation.sessions
        for turn in session.turns
    ]

    async def ask(question: str) -> list[str]:
        wanted = frozenset(_WORD.findall(question.casefold()))
        counted = [(len(wanted & words), turn_id) for turn_id, words in said]
        counted.sort(key=lambda one: -one[0])
        return [turn_id for count, turn_id in counted[:LOOKED_AT] if count]

    return ask


def _by_index(state: State, index: SearchIndex, places: Mapping[tuple[str, int], str]) -> Ask:
    async def ask(question: str) -> list[str]:
        wanted = list(dict.fromkeys(stems(question)))
        return await state.database.visit(partial(found, wanted))

    def found(wanted: Sequence[str], visit: Visit) -> list[str]:
        ids = index.store.best_by_index(visit, VERSION, wanted, most=LOOKED_AT)
        units = index.store.units_and_neighbours(visit, VERSION, ids, centres=0)
        rows = {row.unit_id: row for row in units}
        return _turns(((rows[one].path, rows[one].first_line) for one in ids), places)

    return ask


def _turns(found: Iterable[tuple[str, int]], places: Mapping[tuple[str, int], str]) -> list[str]:
    return list(dict.fromkeys(places[place] for place in found if place in places))


def as_object(found: Mapping[str, Mapping[str, Figures]]) -> dict[str, Any]:
    """The figures of each corpus for a program: of search as it was asked for."""
    ways = set().union(*found.values())
    asked = SEMANTIC if SEMANTIC in ways else LEXICAL
    value: dict[str, Any] = {
        corpus: _told(corpus, of[asked]) | {"questions": of[asked].questions}
        for corpus, of in found.items()
    }
    value["mode"] = "semantic" if asked == SEMANTIC else "lexical"
    if asked == SEMANTIC:
        value["lexical"] = {corpus: _told(corpus, of[LEXICAL]) for corpus, of in found.items()}
    value["baselines"] = {
        way: {corpus: _told(corpus, of[way]) for corpus, of in found.items()} for way in BASELINES
    }
    return value


def _told(corpus: str, figures: Figures) -> dict[str, float]:
    if corpus == "beam":
        return {"message_any@5": round(figures.turn_any, 4)}
    return {
        "turn_any@5": round(figures.turn_any, 4),
        "session_any@5": round(figures.session_any, 4),
    }


def as_table(found: Mapping[str, Mapping[str, Figures]]) -> Sequence[str]:
    """The figures for a person."""
    lines = [f"{'corpus':<10}{'way':<10}{'questions':>10}{'turn any@5':>13}{'session any@5':>16}"]
    for corpus, ways in found.items():
        lines += [
            f"{corpus:<10}{way:<10}{one.questions:>10}{one.turn_any:>13.3f}{one.session_any:>16.3f}"
            for way, one in ways.items()
        ]
    return lines


def reached(found: Mapping[str, Mapping[str, Figures]]) -> bool:
    """Whether every target of the corpora that were measured is met."""
    return all(
        _told(corpus, ways[way]).get(name, 1.0) >= least
        for corpus, ways in found.items()
        for way, targets in ((LEXICAL, TARGETS), (SEMANTIC, SEMANTIC_TARGETS))
        if way in ways
        for name, least in targets.get(corpus, {}).items()
    )
