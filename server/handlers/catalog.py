"""Lists that clients ask for: short and truthful, most of them empty, all of them at once."""

from protocol.base import EmptyParams
from protocol.errors import refused
from protocol.messages.catalog import (
    ByFolderParams,
    CollaborationMask,
    CollaborationModesResult,
    EmptyPage,
    Feature,
    FeaturesResult,
    FolderHooks,
    FolderSkills,
    GoalClearResult,
    GoalResult,
    GovCloudResult,
    HooksListResult,
    PageParams,
    PermissionProfile,
    PermissionProfilesResult,
    PluginInstalledResult,
    PluginListResult,
    PluginsParams,
    RateLimitsResult,
    SkillsListResult,
)
from protocol.messages.threads import ThreadIdParams
from server.handlers.events import limits_view
from server.handlers.identities import thread_id_of
from server.handlers.services import Services
from server.handlers.settings_views import POLICY_OF_PROFILE
from server.handlers.sizes import PAGE_BYTES_MAX, json_bytes
from server.wire.dispatch import Call

FOLDERS_MAX = 100
ROW_BYTES = 100
"""At most what an empty row takes besides its folder."""


class CatalogHandlers:
    """Answers what clients list."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def skills(self, call: Call, params: ByFolderParams) -> SkillsListResult:
        """No skills of our own; memory's skills are read through memory."""
        return SkillsListResult(
            data=[FolderSkills(cwd=cwd, skills=[], errors=[]) for cwd in self._folders(params)]
        )

    async def hooks(self, call: Call, params: ByFolderParams) -> HooksListResult:
        """No hooks."""
        return HooksListResult(
            data=[
                FolderHooks(cwd=cwd, hooks=[], warnings=[], errors=[])
                for cwd in self._folders(params)
            ]
        )

    async def plugins_installed(self, call: Call, params: PluginsParams) -> PluginInstalledResult:
        """No plugins."""
        return PluginInstalledResult(marketplaces=[], marketplace_load_errors=[])

    async def plugins(self, call: Call, params: PluginsParams) -> PluginListResult:
        """No plugins to be had either."""
        return PluginListResult(marketplaces=[], marketplace_load_errors=[], featured_plugin_ids=[])

    async def nothing(self, call: Call, params: PageParams) -> EmptyPage:
        """A list in which there is nothing: apps."""
        return EmptyPage(data=[], next_cursor=None)

    async def collaboration_modes(
        self, call: Call, params: EmptyParams
    ) -> CollaborationModesResult:
        """The one way in which agent and person work together here."""
        default = CollaborationMask(
            name="Default", mode="default", model=None, reasoning_effort=None
        )
        return CollaborationModesResult(data=[default])

    async def permission_profiles(self, call: Call, params: PageParams) -> PermissionProfilesResult:
        """The three sandboxes by the names that clients know."""
        profiles = [
            PermissionProfile(id=profile, description=None, allowed=True)
            for profile in POLICY_OF_PROFILE
        ]
        return PermissionProfilesResult(data=profiles, next_cursor=None)

    async def features(self, call: Call, params: PageParams) -> FeaturesResult:
        """The one switch that is a feature: memory as a whole."""
        memories = Feature(
            name="memories",
            stage="stable",
            display_name=None,
            description=None,
            announcement=None,
            enabled=self._services.settings.memory.enabled,
            default_enabled=True,
        )
        return FeaturesResult(data=[memories], next_cursor=None)

    async def rate_limits(self, call: Call, params: EmptyParams) -> RateLimitsResult:
        """What the configured provider last told about its limits."""
        services = self._services
        told = services.providers.limits_told(services.settings.provider)
        if not told:
            raise refused("codex account authentication required to read rate limits")
        view = limits_view(told)
        return RateLimitsResult(
            rate_limits=view, rate_limits_by_limit_id={view.limit_id or "codex": view}
        )

    async def gov_cloud(self, call: Call, params: EmptyParams) -> GovCloudResult:
        """No such region is in use."""
        return GovCloudResult(is_gov_cloud=False, should_warn=False)

    async def goal(self, call: Call, params: ThreadIdParams) -> GoalResult:
        """No thread of ours has a goal."""
        thread_id_of(params.thread_id)
        return GoalResult(goal=None)

    async def clear_goal(self, call: Call, params: ThreadIdParams) -> GoalClearResult:
        """So there is none to clear."""
        thread_id_of(params.thread_id)
        return GoalClearResult(cleared=False)

    def _folders(self, params: ByFolderParams) -> list[str]:
        """The folders that are asked for, each once."""
        if params.thread_id is not None:
            live = self._services.live.require(thread_id_of(params.thread_id))
            return [live.settings.cwd]
        wanted = params.cwds or [self._services.default_cwd]
        if len(wanted) > FOLDERS_MAX:
            raise refused(f"cwds must hold at most {FOLDERS_MAX} folders")
        folders = list(dict.fromkeys(wanted))
        # The answer names each again, and no client could read a longer one.
        if json_bytes(folders) + len(folders) * ROW_BYTES > PAGE_BYTES_MAX:
            raise refused("cwds are too long for one answer; ask for fewer folders at once")
        return folders
