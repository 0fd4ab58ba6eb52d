"""The settings of a thread: from what clients ask for to our values, and back to what they see."""

from collections.abc import Mapping
from typing import Any, TypedDict

from protocol.errors import WireError, refused, unknown_variant
from protocol.messages.threads import (
    CollaborationMode,
    CollaborationSettings,
    ThreadOverrides,
    ThreadSettings,
)
from protocol.messages.turns import (
    APPROVAL_POLICY,
    SANDBOX_POLICY,
    ApprovalPolicy,
    GranularApproval,
    ReadOnly,
    SandboxPolicy,
    TurnStartParams,
)
from server.agent import inputs
from server.agent.inputs import SettingsChange
from server.handlers.views import environment_view
from server.settings import BUILT_VERSIONS

_POLICY_OF_MODE = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}
_MEMORY_VERSIONS = BUILT_VERSIONS


class MemoryOverrides(TypedDict, total=False):
    """What a thread's `config` map says about memory."""

    use_memories: bool
    generate_memories: bool
    dedicated_tools: bool
    enabled: bool
    version: str


def change_of_thread(params: ThreadOverrides, *, cwd: str | None) -> SettingsChange:
    """The overrides that come with a start or a resume.

    Raises: WireError.
    """
    memory = memory_overrides(params.config)
    uses = memory.get("use_memories")
    if memory.get("enabled") is False:
        uses = False
    return SettingsChange(
        provider=params.model_provider,
        model=params.model,
        cwd=cwd,
        effort=_text(_lookup(params.config, "model_reasoning_effort")),
        approval_policy=_approval_value(params.approval_policy),
        sandbox_policy=None if params.sandbox is None else policy_of_mode(params.sandbox),
        use_memories=uses,
        dedicated_tools=memory.get("dedicated_tools"),
        memory_version=memory.get("version"),
        instructions=params.base_instructions,
        developer_instructions=params.developer_instructions,
    )


def change_of_turn(params: TurnStartParams, *, cwd: str | None) -> SettingsChange:
    """The overrides that come with a turn and hold for later ones too."""
    policy = params.sandbox_policy
    return SettingsChange(
        model=params.model,
        cwd=cwd,
        effort=params.effort,
        summary=params.summary,
        approval_policy=_approval_value(params.approval_policy),
        sandbox_policy=None if policy is None else policy.to_wire(),
    )


def memory_overrides(config: Mapping[str, Any] | None) -> MemoryOverrides:
    """What a `config` map says about memory, in dotted keys or nested objects.

    Raises: WireError.
    """
    found: MemoryOverrides = {}
    version = _lookup(config, "memories.version")
    if version is not None and version not in _MEMORY_VERSIONS:
        raise _config_refused(unknown_variant(str(version)[:100], _MEMORY_VERSIONS))
    if version is not None:
        found["version"] = version
    for key in ("use_memories", "generate_memories", "dedicated_tools"):
        value = _lookup(config, f"memories.{key}")
        if isinstance(value, bool):
            found[key] = value
        elif value is not None:
            raise _config_refused(f"`memories.{key}` must be true or false")
    enabled = _lookup(config, "features.memories")
    if isinstance(enabled, bool):
        found["enabled"] = enabled
    return found


def policy_of_mode(mode: str) -> Mapping[str, Any]:
    """The sandbox policy that a mode's word stands for."""
    return sandbox_view({"type": _POLICY_OF_MODE[mode]}).to_wire()


def settings_view(settings: inputs.ThreadSettings) -> ThreadSettings:
    """The settings a thread runs with, as clients see them."""
    return ThreadSettings(
        cwd=settings.cwd,
        environments=environment_view(settings.cwd),
        approval_policy=approval_view(settings.approval_policy),
        approvals_reviewer="user",
        sandbox_policy=sandbox_view(settings.sandbox_policy),
        model=settings.model,
        model_provider=settings.provider,
        effort=settings.effort,
        summary=settings.summary,
        collaboration_mode=collaboration_view(settings),
    )


def collaboration_view(settings: inputs.ThreadSettings) -> CollaborationMode:
    """The one way in which agent and person work together."""
    return CollaborationMode(
        settings=CollaborationSettings(model=settings.model, reasoning_effort=settings.effort)
    )


def approval_view(policy: Any) -> ApprovalPolicy:
    """The approval policy of a thread, as clients see it."""
    return APPROVAL_POLICY.read(policy) or "on-request"


def sandbox_view(policy: Mapping[str, Any]) -> SandboxPolicy:
    """The sandbox of a thread, as clients see it; the narrowest where it cannot be read."""
    return SANDBOX_POLICY.read(dict(policy)) or ReadOnly()


def _approval_value(policy: ApprovalPolicy | None) -> Any:
    return policy.to_wire() if isinstance(policy, GranularApproval) else policy


def _lookup(config: Mapping[str, Any] | None, path: str) -> Any:
    """A value of a map that may be keyed by the whole path or nested, or both mixed."""
    if not config:
        return None
    if path in config:
        return config[path]
    head, dot, rest = path.partition(".")
    inner = config.get(head)
    return _lookup(inner, rest) if dot and isinstance(inner, Mapping) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _config_refused(sentence: str) -> WireError:
    return refused(f"failed to load configuration: {sentence}")
