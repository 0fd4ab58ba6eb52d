"""Which tools a thread has, by its settings; those of memory come from the memory room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from server.agent.inputs import ThreadSettings
from server.agent.sandbox.policy import Places
from server.agent.sandbox.roots import Roots
from server.agent.tools.apply_patch import ApplyPatch
from server.agent.tools.base import ToolSet
from server.agent.tools.client_tool import client_sets
from server.agent.tools.kept_places import NO_PLACES
from server.agent.tools.plan import UpdatePlan
from server.agent.tools.request_user_input import RequestUserInput
from server.agent.tools.stage import StagedTool
from server.agent.tools.view_image import ViewImage

SEARCHED_BY_DEFAULT = frozenset({"openai"})
"""Providers that are known to offer a web search of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of this server."""

    more: tuple[StagedTool, ...] = ()
    """Tools that need parts of the machine: shell and sandbox."""
    places: Places = NO_PLACES
    """Where things are that no policy but full access opens."""
    roots: Roots = field(default_factory=Roots)
    """Where the folders of threads lead."""
    web_search: Literal["disabled", "cached", "live"] | None = None
    """None leaves it to what the provider is known to offer."""

    def sets(self, settings: ThreadSettings) -> Sequence[ToolSet]:
        """What a thread with these settings may call."""
        own = (
            *self.more,
            ApplyPatch(self.places, self.roots),
            UpdatePlan(),
            ViewImage(self.places),
            RequestUserInput(),
        )
        return (ToolSet(staged=own), *client_sets(settings.client_tools))

    def hosted(self, settings: ThreadSettings) -> Sequence[Mapping[str, Any]]:
        """What the provider itself runs."""
        known = "cached" if settings.provider in SEARCHED_BY_DEFAULT else "disabled"
        mode = self.web_search or known
        if mode == "disabled":
            return ()
        return ({"type": "web_search", "external_web_access": mode == "live"},)
