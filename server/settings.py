"""From the configuration file and the environment to the values that each room takes.

Each room is handed its own small values; none of them looks for a setting itself. Keys are the
original's where it has them (`[features]`, `[memories]`, `[model_providers.NAME]`, …). A value out
of range is told and the nearest bound is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memory_write.limits import DailyBudget, MemorySettings, Phase1Limits, Phase2Limits
from server.config_file import CLAMPS, ConfigFile, ConfigWarning, ReadConfig, line_of, read_config
from server.environment import variable
from state.home import Home

OFFLINE = "offline"
OPENAI = "openai"
OPENAI_BASE_URL = "https://api.openai.com/v1"
BUILT_VERSIONS = ("v1", "v2")
DEFAULT_VERSION = "v1"
DUAL_WRITE_TRUE = ("v1", "v2")
"""What `dual_write = true` writes, as in the original."""


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
    provider: str
    reasoning_effort: str | None
    providers: Mapping[str, ProviderSettings]
    approval_policy: str
    sandbox_mode: str
    use_memories: bool
    dedicated_tools: bool
    rate_limit_remaining_percent_min: int
    memory: MemorySettings
    drain_s: int
    raw: Mapping[str, Any]
    warnings: tuple[ConfigWarning, ...]


def load_settings(home: Home, overrides: Sequence[str] = ()) -> Settings:
    """Read the home's configuration and the command line's `key=value` overrides.

    Raises: ConfigRefused.
    """
    return _settings(home, read_config(home.config, overrides))


def _settings(home: Home, read: ReadConfig) -> Settings:
    config, text, warnings = read.config, read.text, list(read.warnings)
    memories = config.memories
    bounded = {}
    for key, (lowest, highest) in CLAMPS.items():
        value = getattr(memories, key)
        bounded[key] = min(max(value, lowest), highest)
        if bounded[key] != value:
            warnings.append(
                ConfigWarning(
                    message=f"`memories.{key}` = {value} is outside {lowest} to {highest}; "
                    f"{bounded[key]} is used",
                    path=home.config,
                    line=line_of(text, ("memories", key)),
                )
            )
    version, others = _versions(config, home.config, text, warnings)
    providers = _providers(config)
    provider = _chosen_provider(config, providers, home.config, text, warnings)
    return Settings(
        home=home,
        model=config.model,
        provider=provider,
        reasoning_effort=config.model_reasoning_effort,
        providers=providers,
        approval_policy=config.approval_policy,
        sandbox_mode=config.sandbox_mode,
        use_memories=config.features.memories and memories.use_memories,
        dedicated_tools=memories.dedicated_tools,
        rate_limit_remaining_percent_min=bounded["min_rate_limit_remaining_percent"],
        memory=_memory_settings(config, version, others, bounded),
        drain_s=max(0, config.server.drain_s),
        raw=read.merged,
        warnings=tuple(warnings),
    )


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


def _memory_settings(
    config: ConfigFile, version: str, others: tuple[str, ...], bounded: Mapping[str, int]
) -> MemorySettings:
    memories = config.memories
    return MemorySettings(
        enabled=config.features.memories,
        version=version,
        dual_write=others,
        generate=memories.generate_memories,
        extract_model=memories.extract_model,
        consolidation_model=memories.consolidation_model,
        phase1=Phase1Limits(
            claims_per_wake_max=bounded["max_rollouts_per_startup"],
            concurrent_max=bounded["max_concurrent_extractions"],
            age_days_max=bounded["max_rollout_age_days"],
            idle_hours_min=bounded["min_rollout_idle_hours"],
        ),
        phase2=Phase2Limits(
            outputs_max=bounded["max_raw_memories_for_consolidation"],
            unused_days_max=bounded["max_unused_days"],
        ),
        budget=DailyBudget(
            extraction_tokens=memories.extract_tokens_per_day,
            consolidation_tokens=memories.consolidation_tokens_per_day,
        ),
    )


def _providers(config: ConfigFile) -> dict[str, ProviderSettings]:
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
