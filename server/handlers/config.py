"""Models, configuration and account: cheap and truthful answers from the settings."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.base import EmptyParams
from protocol.errors import failed, refused
from protocol.messages.config import (
    AccountReadParams,
    AccountReadResult,
    ConfigBatchWriteParams,
    ConfigEdit,
    ConfigReadParams,
    ConfigReadResult,
    ConfigRequirementsResult,
    ConfigValueWriteParams,
    ConfigWriteResult,
    Model,
    ModelListParams,
    ModelListResult,
    ReasoningEffortOption,
)
from server.agent.models.base import ModelInfo
from server.agent.models.known import ListedModels
from server.config_edit import Edit, parse_path
from server.config_writing import version_of
from server.errors import ConfigEditRefused
from server.handlers.pages import offset_of
from server.handlers.reviewers import REVIEWER
from server.handlers.services import Services
from server.handlers.sizes import PAGE_BYTES_MAX, json_bytes, shortened
from server.wire.dispatch import Call
from state.policy.redaction import redact

MODELS_MAX = 100
EDITS_MAX = 200
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
_SECRET_TABLES = ("env", "query_params")
"""What stands in them is given to others as it is, so it may be a secret whatever its name."""
_HIDDEN = "<hidden>"
_TOO_LONG = "configValidationError"
EDIT_BYTES_MAX = 16_384
"""Of one value as JSON; every client reads all of them together when it starts."""


class ConfigHandlers:
    """Answers what clients read before they let a person type."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._listed = ListedModels(services.clock)

    async def model_list(self, call: Call, params: ModelListParams) -> ModelListResult:
        """The models of a provider, the one a thread gets here first; so the list is never empty.

        Clients refuse to resume a thread when there is no model at all.
        """
        settings = self._services.settings
        provider = self._services.providers.get(params.model_provider or settings.provider)
        chosen = settings.model if provider.name == settings.provider else None
        default = chosen or provider.default_model
        offered = provider.models() or [
            ModelInfo(model_id=one, display_name=one) for one in await self._listed.of(provider)
        ]
        if all(info.model_id != default for info in offered):
            offered = [ModelInfo(model_id=default, display_name=default), *offered]
        models = [_model(info, is_default=info.model_id == default) for info in offered]
        models.sort(key=lambda model: not model.is_default)
        start = offset_of(params.cursor, len(models))
        end = start + max(1, min(params.limit or MODELS_MAX, MODELS_MAX))
        return ModelListResult(
            data=models[start:end], next_cursor=str(end) if end < len(models) else None
        )

    async def config_read(self, call: Call, params: ConfigReadParams) -> ConfigReadResult:
        """The settings in force as they were written; a key that is not set is null.

        Long texts are cut in the middle with a mark; where that is not enough, origins stay away.
        """
        settings = self._services.settings
        written = _without_secrets(settings.raw)
        config: dict[str, Any] = dict.fromkeys(_KEYS) | written
        config["model_provider"] = settings.provider
        config["approval_policy"] = settings.approval_policy
        config["approvals_reviewer"] = REVIEWER
        config["sandbox_mode"] = settings.sandbox_mode
        features = written.get("features")
        config["features"] = (features if isinstance(features, dict) else {}) | {
            "memories": settings.memory.enabled
        }
        layer = {
            "name": {"type": "user", "file": str(settings.home.config), "profile": None},
            "version": version_of(settings.raw),
        }
        layers = [layer | {"config": written}] if params.include_layers else None
        told: dict[str, Any] = {"config": config, "layers": layers}
        origins = dict.fromkeys(_leaves(written), layer)
        fitting = shortened(told | {"origins": origins})
        if json_bytes(fitting) > PAGE_BYTES_MAX:
            fitting = shortened(told | {"origins": {}})
        if json_bytes(fitting) > PAGE_BYTES_MAX:
            raise refused(
                f"{settings.home.config} holds more than {PAGE_BYTES_MAX} bytes of settings, which "
                "no client could read; they are in force, remove what is not needed"
            )
        return ConfigReadResult(**fitting)

    async def value_write(self, call: Call, params: ConfigValueWriteParams) -> ConfigWriteResult:
        """Change one key of the file."""
        return await self._write([params], params.file_path, params.expected_version)

    async def batch_write(self, call: Call, params: ConfigBatchWriteParams) -> ConfigWriteResult:
        """Change several keys of the file at once, or none of them."""
        if len(params.edits) > EDITS_MAX:
            raise refused(f"edits must hold at most {EDITS_MAX} changes")
        return await self._write(params.edits, params.file_path, params.expected_version)

    async def _write(
        self, edits: Sequence[ConfigEdit], file_path: str | None, expected_version: str | None
    ) -> ConfigWriteResult:
        services = self._services
        config = services.settings.home.config
        for edit in edits:
            if json_bytes(edit.value) > EDIT_BYTES_MAX:
                raise refused(
                    f"the value of `{edit.key_path[:100]}` is longer than {EDIT_BYTES_MAX} bytes",
                    {"kind": "configEditRefused", "config_write_error_code": _TOO_LONG},
                )
        if file_path is not None and Path(file_path) not in (config, config.resolve()):
            raise refused(
                f"only {config} can be written",
                {"kind": "configEditRefused", "config_write_error_code": "configLayerReadonly"},
            )
        try:
            written = await services.config.write(
                [
                    Edit(
                        path=parse_path(edit.key_path),
                        value=edit.value,
                        strategy=edit.merge_strategy,
                    )
                    for edit in edits
                ],
                expected_version=expected_version,
            )
        except ConfigEditRefused as error:
            data = {"kind": "configEditRefused", "config_write_error_code": error.code}
            raise refused(str(error), data) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise failed(f"{config} could not be written: {reason}; it is as it was") from error
        above = None
        if written.overridden is not None:
            key, effective = written.overridden
            above = {
                "message": f"`{'.'.join(key)}` is set on the command line, which stands above",
                "overridingLayer": {
                    "name": {"type": "sessionFlags"},
                    "version": written.version,
                },
                "effectiveValue": effective,
            }
        return ConfigWriteResult(
            status="ok" if above is None else "okOverridden",
            version=written.version,
            file_path=str(written.path),
            overridden_metadata=above,
        )

    async def requirements_read(self, call: Call, params: EmptyParams) -> ConfigRequirementsResult:
        """A person answers approvals: clients offer nothing else then. No more is demanded."""
        return ConfigRequirementsResult(
            supports_independent_speed_modes=True,
            requirements={"allowedApprovalsReviewers": [REVIEWER]},
        )

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
        input_modalities=["text", "image"] if info.sees_images else ["text"],
        is_default=is_default,
    )


def _without_secrets(value: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the values of telling keys hidden; names of variables stay."""
    return {key: _hidden(key, part) for key, part in value.items()}


def _hidden(key: str, part: Any) -> Any:
    """A value of that key as it may be shown, also one inside a list."""
    is_limit = isinstance(part, int | float) or part is None
    names_variables = key.startswith("env_") or key.endswith("_env_var")
    telling = key in _SECRET_TABLES or any(word in key.lower() for word in _SECRET_WORDS)
    if telling and not is_limit and not names_variables:
        return dict.fromkeys(part, _HIDDEN) if isinstance(part, Mapping) else _HIDDEN
    match part:
        case Mapping():
            return _without_secrets(part)
        case list():
            return [_hidden("", one) for one in part]
        case str():
            return redact(part)
        case _:
            return part


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _leaves(part, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
