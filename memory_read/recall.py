"""The tool `recall` of an agent: ranked search, where `search` of the original is literal.

Invariant: as of the other memory tools: whatever a model writes into a call, it gets text back.
What comes back is inert, since it is read in the middle of a turn.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory_read.arguments import FieldType, parse_arguments
from memory_read.hits import Hit
from memory_read.inert import made_inert
from memory_read.search import SEARCH_LIMITS, MemorySearch
from memory_read.tools import ARGUMENT_CHARS_MAX, NAMESPACE
from state.errors import PathRefused, StateError

NAME = "recall"
HITS_MAX = 20
HITS_DEFAULT = 8

_FIELDS: dict[str, FieldType] = {"query": "string", "max_results": "integer"}


def _unheard(truncated: bool | None) -> None:
    """Where nobody counts."""


@dataclass(frozen=True, slots=True)
class RecallTool:
    """The best pieces of memory for a question in plain words."""

    search: MemorySearch
    version: str
    told: Callable[[bool | None], None] = _unheard
    """Hears of each call whether its hits were cut off; None when it gave none."""
    name: str = NAME
    namespace: str = NAMESPACE
    strict: bool = False
    description: str = (
        "Find what memory says about a question, the best first. Ask in plain words; unlike "
        "`search` it needs no exact text. Each hit names its file and lines for citing."
    )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {"query": {"type": "string"}, "max_results": {"type": "integer"}},
            "additionalProperties": False,
            "required": ["query"],
        }

    async def call(self, arguments: str) -> str:
        """Run it with the model's argument text; mistakes come back as text."""
        if len(arguments) > ARGUMENT_CHARS_MAX:
            return f"arguments must be at most {ARGUMENT_CHARS_MAX} characters"
        try:
            given = parse_arguments(arguments, _FIELDS, required=("query",))
            query = checked_query(given["query"])
            limit = max(1, min(given.get("max_results", HITS_DEFAULT), HITS_MAX))
            reply = await self.search.search(query, version=self.version, limit=limit)
        except PathRefused as refusal:
            return str(refusal)
        except OSError as error:
            self.told(None)
            why = error.strerror or "input/output error"
            return f"the memory folder could not be used: {why}"
        except StateError as error:
            self.told(None)
            return f"memory could not be searched: {error}"
        self.told(reply.truncated)
        value = {
            "query": query,
            "results": [_shown(hit) for hit in reply.hits],
            "indexing": reply.indexing,
            "truncated": reply.truncated,
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def checked_query(query: str) -> str:
    """The query without blanks around it.

    Raises: PathRefused.
    """
    query = query.strip()
    if not query:
        raise PathRefused("query must not be empty")
    if len(query) > SEARCH_LIMITS.query_chars_max:
        raise PathRefused(f"query must be at most {SEARCH_LIMITS.query_chars_max} characters")
    return query.encode(errors="replace").decode()


def _shown(hit: Hit) -> dict[str, object]:
    value: dict[str, object] = {
        "path": hit.path,
        "line_start": hit.start_line,
        "line_end": hit.end_line,
        "heading": made_inert(hit.heading).text,
        "text": made_inert(hit.text).text,
        "thread_ids": list(hit.thread_ids),
    }
    return value | ({"pending": True} if hit.pending else {})
