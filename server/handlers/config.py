"""Models, configuration and account: cheap and truthful answers from the settings."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from protocol.base import EmptyParams
from protocol.errors import refused
from protocol.messages.config import (
    AccountReadParams,
    AccountReadResult,
    ConfigReadParams,
    ConfigReadResult,
    ConfigRequirementsResult,
    Model,
    ModelListParams,
    ModelListResult,
    ReasoningEffortOption,
)
from server.agent.models.base import ModelInfo
from server.handlers.services import Services
from server.wire.dispatch import Call

MODELS_MAX = 100
# Efforts that every client can read; some refuse a whole list for one word they do not know.
_EFFORTS = ("low", "medium", "high")
_EFFORT_DEFAULT = "medium"
_KEYS = (
    "model",
    "review_model",
    "model_context_window",
    "model_auto_compact_token_limit",
    "model_auto_compact_token_limit_scope",
    "model_provider",
    "approval_policy",
    "approvals_reviewer",
    "sandbox_mode",
    "sandbox_workspace_write",
    "forced_chatgpt_workspace_id",
    "forced_login_method",
    "web_search",
    "client_search_provider",
    "tools",
    "instructions",
    "developer_instructions",
    "compact_prompt",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "service_tier",
    "analytics",
    "apps",
    "browser_use",
    "computer_use",
    "desktop",
    "memories",
)
_SECRET_WORDS = ("token", "secret", "password", "api_key", "http_headers", "bearer")
_HIDDEN = "<hidden>"


class ConfigHandlers:
    """Answers what clients read before they let a person type."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def model_list(self, call: Call, params: ModelListParams) -> ModelListResult:
        """The models of a provider, its default one first."""
        name = params.model_provider or self._services.settings.provider
        provider = self._services.providers.get(name)
        models = [
            _model(info, is_default=info.model_id == provider.default_model)
            for info in provider.models()
        ]
        models.sort(key=lambda model: not model.is_default)
        start = _offset(params.cursor, len(models))
        end = start + max(1, min(params.limit or MODELS_MAX, MODELS_MAX))
        return ModelListResult(
            data=models[start:end], next_cursor=str(end) if end < len(models) else None
        )

    async def config_read(self, call: Call, params: ConfigReadParams) -> ConfigReadResult:
        """The settings in force as they were written; a key that is not set is null."""
        settings = self._services.settings
        written = _without_secrets(settings.raw)
        config: dict[str, Any] = dict.fromkeys(_KEYS) | written
        config["model_provider"] = settings.provider
        config["approval_policy"] = settings.approval_policy
        config["sandbox_mode"] = settings.sandbox_mode
        features = written.get("features")
        config["features"] = (features if isinstance(features, dict) else {}) | {
            "memories": settings.memory.enabled
        }
        layer = {
            "name": {"type": "user", "file": str(settings.home.config), "profile": None},
            "version": f"sha256:{hashlib.sha256(orjson.dumps(written, default=str)).hexdigest()}",
        }
        return ConfigReadResult(
            config=config,
            origins=dict.fromkeys(_leaves(written), layer),
            layers=[layer | {"config": written}] if params.include_layers else None,
        )

    async def requirements_read(self, call: Call, params: EmptyParams) -> ConfigRequirementsResult:
        """No administrator demands anything."""
        return ConfigRequirementsResult(supports_independent_speed_modes=True)

    async def account_read(self, call: Call, params: AccountReadParams) -> AccountReadResult:
        """No one signs in here, and no one has to."""
        return AccountReadResult()


def _model(info: ModelInfo, *, is_default: bool) -> Model:
    efforts = [effort for effort in info.efforts if effort in _EFFORTS] or [_EFFORT_DEFAULT]
    preferred = info.default_effort if info.default_effort in efforts else efforts[0]
    return Model(
        id=info.model_id,
        model=info.model_id,
        display_name=info.display_name,
        description=info.description,
        supported_reasoning_efforts=[
            ReasoningEffortOption(reasoning_effort=effort, description=effort.capitalize())
            for effort in efforts
        ],
        default_reasoning_effort=preferred or _EFFORT_DEFAULT,
        is_default=is_default,
    )


def _offset(cursor: str | None, count: int) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 9 or int(cursor) > count:
        raise refused(f"invalid cursor: {cursor[:200]}")
    return int(cursor)


def _without_secrets(value: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the values of telling keys hidden; names of variables stay."""
    shown: dict[str, Any] = {}
    for key, part in value.items():
        is_limit = isinstance(part, int | bool) or part is None
        if any(word in key.lower() for word in _SECRET_WORDS) and not is_limit:
            shown[key] = dict.fromkeys(part, _HIDDEN) if isinstance(part, Mapping) else _HIDDEN
        elif isinstance(part, Mapping):
            shown[key] = _without_secrets(part)
        else:
            shown[key] = part
    return shown


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _leaves(part, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
