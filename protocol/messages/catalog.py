"""What clients list before or beside their work; much of it we do not have and say so."""

from typing import Any

from pydantic import ConfigDict

from protocol.base import U32, RequestParams, WireModel
from protocol.messages.turns import RateLimitSnapshot


class PageParams(RequestParams):
    """A page of a list."""

    cursor: str | None = None
    limit: U32 | None = None


class EmptyPage(WireModel):
    """A list in which there is nothing."""

    data: list[dict[str, Any]]
    next_cursor: str | None


class ByFolderParams(RequestParams):
    """Of which folders; none means that in which the server works."""

    cwds: list[str] | None = None
    thread_id: str | None = None


class FolderSkills(WireModel):
    """The skills of a folder."""

    cwd: str
    skills: list[dict[str, Any]]
    errors: list[dict[str, Any]]


class SkillsListResult(WireModel):
    """Skills by folder."""

    data: list[FolderSkills]


class FolderHooks(WireModel):
    """The hooks of a folder."""

    cwd: str
    hooks: list[dict[str, Any]]
    warnings: list[str]
    errors: list[dict[str, Any]]


class HooksListResult(WireModel):
    """Hooks by folder."""

    data: list[FolderHooks]


class PluginsParams(RequestParams):
    """Which plugins there are."""

    cwds: list[str] | None = None


class PluginInstalledResult(WireModel):
    """No plugins."""

    marketplaces: list[dict[str, Any]]
    marketplace_load_errors: list[dict[str, Any]]


class PluginListResult(PluginInstalledResult):
    """No plugins to be had either."""

    featured_plugin_ids: list[str]


class CollaborationMask(WireModel):
    """A way in which agent and person work together."""

    model_config = ConfigDict(alias_generator=None)

    name: str
    mode: str
    model: str | None
    reasoning_effort: str | None


class CollaborationModesResult(WireModel):
    """The ways there are."""

    data: list[CollaborationMask]


class PermissionProfile(WireModel):
    """A named set of permissions."""

    id: str
    description: str | None
    allowed: bool


class PermissionProfilesResult(WireModel):
    """The sets there are."""

    data: list[PermissionProfile]
    next_cursor: str | None


class Feature(WireModel):
    """A switch of the program."""

    name: str
    stage: str
    display_name: str | None
    description: str | None
    announcement: str | None
    enabled: bool
    default_enabled: bool


class FeaturesResult(WireModel):
    """The switches there are."""

    data: list[Feature]
    next_cursor: str | None


class RateLimitsResult(WireModel):
    """What the provider last told about its limits."""

    rate_limits: RateLimitSnapshot
    rate_limits_by_limit_id: dict[str, RateLimitSnapshot] | None


class GovCloudResult(WireModel):
    """Nothing here runs in such a region."""

    is_gov_cloud: bool
    should_warn: bool


class GoalResult(WireModel):
    """The goal of a thread; threads of ours have none."""

    goal: dict[str, Any] | None


class GoalClearResult(WireModel):
    """Whether there was one."""

    cleared: bool
