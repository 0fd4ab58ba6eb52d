"""What may stand in the configuration file, as types with their defaults."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

# The bounds of the original, `memory-write.md` section 2.1: key -> (lowest, highest).
CLAMPS: Mapping[str, tuple[int, int]] = {
    "max_raw_memories_for_consolidation": (1, 4096),
    "max_unused_days": (0, 365),
    "max_rollout_age_days": (0, 90),
    "max_rollouts_per_startup": (1, 128),
    "min_rollout_idle_hours": (1, 48),
    "min_rate_limit_remaining_percent": (0, 100),
    "max_concurrent_extractions": (1, 64),
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class MemoriesSection(_Section):
    """`[memories]`, unclamped and as written."""

    version: Literal["v1", "v2", "v3"] = "v1"
    dual_write: bool | list[str] = False
    generate_memories: bool = True
    use_memories: bool = True
    dedicated_tools: bool = True
    semantic_search: bool = True
    disable_on_external_context: bool = False
    max_raw_memories_for_consolidation: int = 256
    max_unused_days: int = 30
    max_rollout_age_days: int = 10
    max_rollouts_per_startup: int = 2
    max_concurrent_extractions: int = 8
    min_rollout_idle_hours: int = 6
    min_rate_limit_remaining_percent: int = 25
    extract_model: str | None = None
    consolidation_model: str | None = None
    consolidation_service_tier: str | None = None
    extract_tokens_per_day: int | None = None
    consolidation_tokens_per_day: int | None = None


class FeaturesSection(_Section):
    """`[features]`."""

    memories: bool = True


class WebSearchSection(_Section):
    """`[tools.web_search]`; its details are the provider's business."""


class GranularParts(_Section):
    """Which questions may come at all."""

    sandbox_approval: bool
    rules: bool
    mcp_elicitations: bool
    request_permissions: bool = False
    skill_approval: bool = False


class GranularSection(_Section):
    """`approval_policy = { granular = { … } }`."""

    granular: GranularParts


class ToolsSection(_Section):
    """`[tools]`."""

    web_search: bool | WebSearchSection | None = None


class WorkspaceWriteSection(_Section):
    """`[sandbox_workspace_write]`."""

    writable_roots: list[str] = []
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


class ShellEnvironmentSection(_Section):
    """`[shell_environment_policy]`: which variables a command gets."""

    inherit: Literal["all", "core", "none"] = "all"
    ignore_default_excludes: bool = False
    exclude: list[str] = []
    include_only: list[str] = []
    set: dict[str, str] = {}


class ServerSection(_Section):
    """`[server]`: keys of our own."""

    drain_s: int = 10
    thread_idle_s: int = 1_800
    """After that time without listeners and turns a thread is unloaded; 0 keeps all."""


class ProviderSection(_Section):
    """`[model_providers.NAME]`."""

    name: str | None = None
    base_url: str | None = None
    env_key: str | None = None
    wire_api: Literal["responses", "chat"] = "responses"
    http_headers: dict[str, str] = {}
    requires_openai_auth: bool = False


class McpServerSection(_Section):
    """`[mcp_servers.NAME]`."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    env_vars: list[str] = []
    cwd: str | None = None
    url: str | None = None
    bearer_token_env_var: str | None = None
    http_headers: dict[str, str] = {}
    env_http_headers: dict[str, str] = {}
    enabled: bool = True
    required: bool = False
    startup_timeout_sec: float = 30.0
    tool_timeout_sec: float = 120.0
    enabled_tools: list[str] | None = None
    disabled_tools: list[str] = []
    default_tools_approval_mode: Literal["auto", "prompt", "approve"] = "auto"


class ConfigFile(_Section):
    """The whole file, as far as memoryd reads it."""

    model: str | None = None
    model_fallbacks: list[str] = []
    model_provider: str | None = None
    model_reasoning_effort: str | None = None
    model_context_window: int | None = None
    model_auto_compact_token_limit: int | None = None
    approval_policy: Literal["untrusted", "on-request", "never"] | GranularSection = "on-request"
    approvals_reviewer: Literal["user", "auto_review", "guardian_subagent"] = "user"
    sandbox_mode: Literal["read-only", "workspace-write", "danger-full-access"] = "read-only"
    sandbox_workspace_write: WorkspaceWriteSection = WorkspaceWriteSection()
    shell_environment_policy: ShellEnvironmentSection = ShellEnvironmentSection()
    web_search: Literal["disabled", "cached", "live"] | None = None
    tools: ToolsSection = ToolsSection()
    features: FeaturesSection = FeaturesSection()
    memories: MemoriesSection = MemoriesSection()
    server: ServerSection = ServerSection()
    model_providers: dict[str, ProviderSection] = {}
    instruction_files: bool = True
    project_doc_max_bytes: int = 32_768
    project_doc_fallback_filenames: list[str] = []
    projects: dict[str, Any] = {}
    mcp_servers: dict[str, McpServerSection] = {}


NAMED: Mapping[str, type[BaseModel]] = {
    "model_providers": ProviderSection,
    "mcp_servers": McpServerSection,
}
"""Tables of tables, whose second part is a name."""
