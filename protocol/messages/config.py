"""Models, configuration and account: what clients read before they let a person type."""

from typing import Any, Literal

from pydantic import Field

from protocol.base import U32, RequestParams, WireModel


def _is_none(value: object) -> bool:
    """The original leaves this key out where it was not asked for."""
    return value is None


class ModelListParams(RequestParams):
    """Which models can be chosen."""

    cursor: str | None = None
    limit: U32 | None = None
    include_hidden: bool | None = None
    model_provider: str | None = None


class ReasoningEffortOption(WireModel):
    """A depth of thought that a model offers."""

    reasoning_effort: str
    description: str


class Model(WireModel):
    """A model that can be chosen."""

    id: str
    model: str
    upgrade: str | None = None
    upgrade_info: dict[str, Any] | None = None
    availability_nux: dict[str, Any] | None = None
    display_name: str
    description: str
    model_specialty: str | None = None
    hidden: bool = False
    supported_reasoning_efforts: list[ReasoningEffortOption]
    default_reasoning_effort: str
    input_modalities: list[str] = Field(default=["text"])
    supports_personality: bool = False
    multi_agent_version: str | None = None
    additional_speed_tiers: list[str] = Field(default=[])
    service_tiers: list[dict[str, Any]] = Field(default=[])
    default_service_tier: str | None = None
    available_access_programs: dict[str, Any] | None = None
    is_default: bool


class ModelListResult(WireModel):
    """One page of models, the default one first."""

    data: list[Model]
    next_cursor: str | None


class ConfigReadParams(RequestParams):
    """What is configured, seen from a folder."""

    cwd: str | None = None
    include_layers: bool = False


class ConfigReadResult(WireModel):
    """The settings in force, where each comes from, and the layers if asked for."""

    config: dict[str, Any]
    origins: dict[str, Any]
    layers: list[Any] | None = Field(default=None, exclude_if=_is_none)


class ConfigEdit(RequestParams):
    """A value for a key of the configuration; null takes the key away."""

    key_path: str
    value: Any
    merge_strategy: Literal["replace", "upsert"]


class ConfigValueWriteParams(ConfigEdit):
    """Change one key."""

    file_path: str | None = None
    expected_version: str | None = None


class ConfigBatchWriteParams(RequestParams):
    """Change several keys at once, or none of them."""

    edits: list[ConfigEdit]
    file_path: str | None = None
    expected_version: str | None = None
    reload_user_config: bool | None = None


class ConfigWriteResult(WireModel):
    """What was written, and whether something stands above it."""

    status: Literal["ok", "okOverridden"]
    version: str
    file_path: str
    overridden_metadata: dict[str, Any] | None


class ConfigRequirementsResult(WireModel):
    """What an administrator demands; nothing."""

    supports_independent_speed_modes: bool | None = None
    requirements: dict[str, Any] | None = None


class AccountReadParams(RequestParams):
    """Who is signed in."""

    refresh_token: bool = False


class AccountReadResult(WireModel):
    """No one needs to sign in."""

    account: dict[str, Any] | None = None
    user_id: str | None = None
    requires_openai_auth: bool = False
    workspace_routing: dict[str, Any] | None = None
