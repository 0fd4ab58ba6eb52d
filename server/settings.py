"""From the configuration file and the environment to the values that each room takes.

Each room is handed its own small values; none of them looks for a setting itself. Keys are the
original's where it has them (`[features]`, `[memories]`, `[model_providers.NAME]`, …). A value out
of range is told and the nearest bound is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from memory_write.limits import DailyBudget, MemorySettings, Phase1Limits, Phase2Limits
from server.config_checks import Warn, is_http, sensible
from server.config_file import ConfigWarning, ReadConfig, line_of, read_config
from server.config_sections import ConfigFile
from server.environment import variable
from server.mcp_settings import McpLeftOut, McpServerSettings, mcp_servers
from server.switches import Switches, project_switches
from state.home import Home

OFFLINE = "offline"
OPENAI = "openai"
OPENAI_BASE_URL = "https://api.openai.com/v1"
BUILT_VERSIONS = ("v1", "v2")
DEFAULT_VERSION = "v1"
DUAL_WRITE_TRUE = ("v1", "v2")
"""What `dual_write = true` writes, as in the original."""

WebSearchMode = Literal["disabled", "cached", "live"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """One model provider; `api_key` is a secret and is kept out of every representation."""

    name: str
    base_url: str
    wire_api: Literal["responses", "chat"]
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key_missing: str | None = None
    """The variable that should hold the key and does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings in force, as the values that the rooms take."""

    home: Home
    model: str | None
    model_fallbacks: tuple[str, ...]
    provider: str
    reasoning_effort: str | None
    context_window: int | None
    auto_compact_tokens: int | None
    providers: Mapping[str, ProviderSettings]
    approval_policy: str | Mapping[str, Any]
    """A name, or an object with granular rules."""
    sandbox_mode: str
    use_memories: bool
    dedicated_tools: bool
    semantic_search: bool
    """Whether search goes by meaning too, where the extra `semantic` is installed."""
    pollutable: bool
    """Whether outside context bars a thread from being learned from."""
    instruction_files: bool
    project_doc_bytes_max: int
    project_doc_fallbacks: tuple[str, ...]
    projects: Mapping[str, Switches]
    memory_off_by: str | None
    """What keeps every thread from being told of memory, and where it stands; None if nothing."""
    rate_limit_remaining_percent_min: int
    memory: MemorySettings
    web_search: WebSearchMode | None
    sandbox_policy: Mapping[str, Any]
    """The wire's value, from `sandbox_mode` and its section."""
    shell_environment: Mapping[str, Any]
    """`[shell_environment_policy]` as written, with defaults."""
    mcp_servers: tuple[McpServerSettings, ...]
    mcp_left_out: tuple[McpLeftOut, ...]
    drain_s: int
    thread_idle_s: int
    raw: Mapping[str, Any]
    warnings: tuple[ConfigWarning, ...]
    overrides: tuple[str, ...] = ()
    """`key=value` of the command line, which stand above the file."""


def load_settings(home: Home, overrides: Sequence[str] = ()) -> Settings:
    """Read the home's configuration and the command line's `key=value` overrides.

    Raises: ConfigRefused.
    """
    settings = _settings(home, read_config(home.config, overrides))
    return replace(settings, overrides=tuple(overrides))


def _settings(home: Home, read: ReadConfig) -> Settings:
    text, warnings = read.text, list(read.warnings)

    def warn(message: str, key: tuple[str, ...]) -> None:
        warnings.append(ConfigWarning(message=message, path=home.config, line=line_of(text, key)))

    config = sensible(read.config, warn)
    memories = config.memories
    version, others = _versions(config, home.config, text, warnings)
    providers = _providers(config, warn)
    provider = _chosen_provider(config, providers, home.config, text, warnings)
    servers, left_out = mcp_servers(config.mcp_servers, warn)
    uses = _switch(USE_VARIABLE, memories.use_memories, warnings)
    return Settings(
        home=home,
        model=config.model,
        model_fallbacks=tuple(config.model_fallbacks),
        provider=provider,
        reasoning_effort=config.model_reasoning_effort,
        context_window=config.model_context_window,
        auto_compact_tokens=config.model_auto_compact_token_limit,
        providers=providers,
        approval_policy=_approval_policy(config),
        sandbox_mode=config.sandbox_mode,
        use_memories=uses,
        dedicated_tools=memories.dedicated_tools,
        semantic_search=_switch("MEMORYD_SEMANTIC_SEARCH", memories.semantic_search, warnings),
        pollutable=memories.disable_on_external_context,
        instruction_files=_switch("MEMORYD_INSTRUCTION_FILES", config.instruction_files, warnings),
        project_doc_bytes_max=config.project_doc_max_bytes,
        project_doc_fallbacks=tuple(config.project_doc_fallback_filenames),
        projects=_projects(config, home.config, warnings),
        memory_off_by=_memory_off_by(config, home.config, text, uses=uses),
        rate_limit_remaining_percent_min=memories.min_rate_limit_remaining_percent,
        memory=_memory_settings(
            config,
            version,
            others,
            generates=_switch("MEMORYD_GENERATE_MEMORIES", memories.generate_memories, warnings),
        ),
        web_search=_web_search(config),
        sandbox_policy=_sandbox_policy(config),
        shell_environment=config.shell_environment_policy.model_dump(),
        mcp_servers=servers,
        mcp_left_out=left_out,
        drain_s=config.server.drain_s,
        thread_idle_s=config.server.thread_idle_s,
        raw=read.merged,
        warnings=tuple(warnings),
    )


def _sandbox_policy(config: ConfigFile) -> Mapping[str, Any]:
    match config.sandbox_mode:
        case "read-only":
            return {"type": "readOnly"}
        case "danger-full-access":
            return {"type": "dangerFullAccess"}
        case "workspace-write":
            section = config.sandbox_workspace_write
            return {
                "type": "workspaceWrite",
                "writableRoots": list(section.writable_roots),
                "networkAccess": section.network_access,
                "excludeTmpdirEnvVar": section.exclude_tmpdir_env_var,
                "excludeSlashTmp": section.exclude_slash_tmp,
            }


def _approval_policy(config: ConfigFile) -> str | Mapping[str, Any]:
    policy = config.approval_policy
    return policy if isinstance(policy, str) else {"granular": policy.granular.model_dump()}


def _web_search(config: ConfigFile) -> WebSearchMode | None:
    """The mode as written; the older switch counts where the mode is not given."""
    if config.web_search is not None or config.tools.web_search is None:
        return config.web_search
    return "disabled" if config.tools.web_search is False else "live"


def _versions(
    config: ConfigFile, path: Path, text: str, warnings: list[ConfigWarning]
) -> tuple[str, tuple[str, ...]]:
    """The version that is read, and the further ones that are written; the unbuilt are told."""

    def warn(message: str, key: str) -> None:
        line = line_of(text, ("memories", key))
        warnings.append(ConfigWarning(message=message, path=path, line=line))

    version: str = config.memories.version
    if version not in BUILT_VERSIONS:
        warn(f"`memories.version` {version} is not built yet; {DEFAULT_VERSION} is used", "version")
        version = DEFAULT_VERSION
    asked = config.memories.dual_write
    wanted = DUAL_WRITE_TRUE if asked is True else tuple(asked or ())
    for unknown in dict.fromkeys(one for one in wanted if one not in BUILT_VERSIONS):
        built = ", ".join(BUILT_VERSIONS)
        warn(
            f"`memories.dual_write` names {unknown[:40]}, which is not written; "
            f"versions are {built}",
            "dual_write",
        )
    others = (one for one in wanted if one in BUILT_VERSIONS and one != version)
    return version, tuple(dict.fromkeys(others))


USE_VARIABLE = "MEMORYD_USE_MEMORIES"
_WORDS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}


def _switch(name: str, written: bool, warnings: list[ConfigWarning]) -> bool:
    """The environment's word on a switch, or else the configuration's."""
    word = variable(name)
    if word is None:
        return written
    known = _WORDS.get(word.strip().lower())
    if known is None:
        warnings.append(ConfigWarning(message=f"{name} must be on or off; it is ignored"))
    return written if known is None else known


def _memory_off_by(config: ConfigFile, path: Path, text: str, *, uses: bool) -> str | None:
    """The switch that keeps threads from memory, with its place where that is known."""
    if not config.features.memories:
        return _place_of(path, text, ("features", "memories"), ("features", "memory_tool"))
    if uses:
        return None
    if config.memories.use_memories:
        return f"{USE_VARIABLE} in the environment of the server"
    return _place_of(path, text, ("memories", "use_memories"))


def _place_of(path: Path, text: str, *names: tuple[str, str]) -> str:
    lines = text.splitlines()
    for name in names:
        line = line_of(text, name)
        if line is not None and "false" in lines[line - 1]:
            return f"`{'.'.join(name)} = false` in {path}:{line}"
    return f"`{'.'.join(names[0])} = false`, given when the server was started"


def _projects(
    config: ConfigFile, path: Path, warnings: list[ConfigWarning]
) -> Mapping[str, Switches]:
    found, odd = project_switches(config.projects)
    for key in odd:
        warnings.append(
            ConfigWarning(message=f"`{key}` is ignored: it must be true or false", path=path)
        )
    return found


def _memory_settings(
    config: ConfigFile,
    version: str,
    others: tuple[str, ...],
    *,
    generates: bool,
) -> MemorySettings:
    memories = config.memories
    return MemorySettings(
        enabled=config.features.memories,
        version=version,
        dual_write=others,
        generate=generates,
        extract_model=memories.extract_model,
        consolidation_model=memories.consolidation_model,
        consolidation_service_tier=memories.consolidation_service_tier,
        phase1=Phase1Limits(
            claims_per_wake_max=memories.max_rollouts_per_startup,
            concurrent_max=memories.max_concurrent_extractions,
            age_days_max=memories.max_rollout_age_days,
            idle_hours_min=memories.min_rollout_idle_hours,
        ),
        phase2=Phase2Limits(
            outputs_max=memories.max_raw_memories_for_consolidation,
            unused_days_max=memories.max_unused_days,
        ),
        budget=DailyBudget(
            extraction_tokens=memories.extract_tokens_per_day,
            consolidation_tokens=memories.consolidation_tokens_per_day,
        ),
    )


def _providers(config: ConfigFile, warn: Warn) -> dict[str, ProviderSettings]:
    found = {
        OPENAI: ProviderSettings(
            name=OPENAI,
            base_url=variable("OPENAI_BASE_URL") or OPENAI_BASE_URL,
            wire_api="responses",
            api_key=variable("OPENAI_API_KEY"),
            key_missing=None if variable("OPENAI_API_KEY") else "OPENAI_API_KEY",
        )
    }
    for name, section in config.model_providers.items():
        if section.base_url is not None and not is_http(section.base_url):
            warn(
                f"`model_providers.{name}.base_url` is no http or https address; calls of this "
                "provider fail until it is corrected",
                ("model_providers", name, "base_url"),
            )
        api_key = variable(section.env_key) if section.env_key else None
        found[name] = ProviderSettings(
            name=name,
            base_url=section.base_url or OPENAI_BASE_URL,
            wire_api=section.wire_api,
            api_key=api_key,
            key_missing=section.env_key if api_key is None else None,
            headers=section.http_headers,
        )
    return found


def _chosen_provider(
    config: ConfigFile,
    providers: Mapping[str, ProviderSettings],
    path: Path,
    text: str,
    warnings: list[ConfigWarning],
) -> str:
    """The configured provider; without one, openai where its key is set, else offline."""
    chosen = config.model_provider
    if chosen is None:
        return OPENAI if providers[OPENAI].api_key else OFFLINE
    if chosen == OFFLINE:
        return OFFLINE
    if chosen in providers:
        return chosen
    message = f"model_provider `{chosen}` has no [model_providers.{chosen}]; offline is used"
    warnings.append(
        ConfigWarning(message=message, path=path, line=line_of(text, ("model_provider",)))
    )
    return OFFLINE
