"""Ranked search over memory."""

from typing import Literal

from protocol.base import U32, StrictParams, WireModel


class SearchParams(StrictParams):
    """Look for what answers a question; of the thread's version, folder and rights if one is named.

    A version that is named wins over the thread's, a `cwd` over the thread's folder.
    """

    query: str
    limit: U32 | None = None
    version: str | None = None
    thread_id: str | None = None
    cwd: str | None = None


class SearchHit(WireModel):
    """A piece of memory as it stands in its file now."""

    path: str
    """Below the memory folder of the version."""
    start_line: int
    end_line: int
    heading: str
    """The headings above it, joined by ` > `."""
    text: str
    score: float
    """The higher the better; of use within one reply only."""
    thread_ids: list[str]
    """The threads it comes from, as far as its file says so."""
    updated_at: int | None
    """When it was last learned or stated, in seconds, as far as its file says so."""
    pending: bool
    """A note that no consolidation has taken in yet; it is in force."""


class SearchResult(WireModel):
    """The best hits first."""

    hits: list[SearchHit]
    version: str
    mode: Literal["lexical", "semantic"]
    indexing: bool
    """Files are not indexed yet; a part of them was read for this answer."""
    truncated: bool
    """There is more: further hits, or the rest of a long text."""
    reason: Literal["disabled", "use_off"] | None
    """Why there can be no hits: memory is off, or the thread does not see it."""
