"""How much of the model's window a conversation takes.

Invariant: what the provider counted is believed, and what it did not count is estimated, never left
out; so a thread is full in time whatever its provider tells.
"""

from collections.abc import Mapping
from typing import Any

from server.agent.models.base import Item, ModelRequest, TokenUse
from state.policy.budget import estimate_tokens

WINDOW_UNKNOWN = 258_400
"""The window of a model that nobody knows: the original takes 95 % of 272,000 tokens."""
PICTURE_TOKENS = 1_844
"""What one picture takes, whatever its bytes."""
ITEM_TOKENS = 8
"""What an item takes beside its texts: role, name, the marks around it."""


class Filling:
    """Of one thread; counts as items come."""

    def __init__(self) -> None:
        self.told = 0
        """What the last response took, with all before it."""
        self.since = 0
        """The estimate of what came behind it."""
        self.refused: int | None = None
        """The smallest estimate of a request that did not fit."""

    @property
    def tokens(self) -> int:
        """What the next request takes at least."""
        return self.told + self.since

    def note(self, item: Item) -> None:
        """An item that is sent from now on."""
        self.since += item_tokens(item)

    def count(self, tokens: int) -> None:
        """All that was noted takes that much."""
        self.told, self.since = tokens, 0

    def answered(self, use: TokenUse, request: ModelRequest, *, since: int) -> None:
        """A response is whole; `since` stood before it came.

        Servers that count nothing, and those that leave a cached prompt out, are estimated.
        """
        said = self.since - since
        self.count(use.total_tokens if use.input_tokens > 0 else request_tokens(request) + said)

    def refuse(self, request: ModelRequest) -> None:
        """A request did not fit: the window is smaller, whatever is known of it."""
        tokens = request_tokens(request)
        self.refused = tokens if self.refused is None else min(tokens, self.refused)

    def window(self, known: int | None) -> int:
        """The window to go by, in tokens, where so much is known of the model."""
        window = known or WINDOW_UNKNOWN
        return window if self.refused is None else min(window, self.refused)


def request_tokens(request: ModelRequest) -> int:
    """The estimate of a whole request."""
    parts = sum(map(item_tokens, request.input)) + sum(map(item_tokens, request.tools))
    return estimate_tokens(request.instructions) + parts


def item_tokens(item: Mapping[str, Any]) -> int:
    """The estimate of one item, or of the definition of a tool."""
    tokens = ITEM_TOKENS
    waiting: list[Any] = [item]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            tokens += estimate_tokens(value)
        elif isinstance(value, Mapping):
            if value.get("image_url"):
                tokens += PICTURE_TOKENS
            else:
                waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
    return tokens
