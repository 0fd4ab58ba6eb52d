"""The settings of a thread: from what clients ask for to our values, and back to what they see."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from protocol.errors import WireError, refused, unknown_variant
from protocol.messages.lifecycle import SettingsUpdateParams
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
from protocol.words import WORD_CHARACTERS_MAX
from server.agent import inputs
from server.agent.inputs import InstructionChange, MemoryChange, SettingsChange
from server.handlers.reviewers import REVIEWER
from server.handlers.views import environment_view
from server.settings import BUILT_VERSIONS

MemorySwitch = Literal[
    "use_memories", "generate_memories", "dedicated_tools", "disable_on_external_context"
]
_POLICY_OF_MODE = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}
POLICY_OF_PROFILE = {
    ":read-only": "readOnly",
    ":workspace": "workspaceWrite",
    ":danger-full-access": "dangerFullAccess",
}
"""The named sets of permissions, and the sandbox that each stands for."""
_APPROVAL_WORDS = ("untrusted", "on-request", "never")
_MEMORY_VERSIONS = BUILT_VERSIONS
_MEMORY_SWITCHES: tuple[MemorySwitch, ...] = (
    "use_memories",
    "generate_memories",
    "dedicated_tools",
    "disable_on_external_context",
)
_OLD_NAMES = {
    "memories.disable_on_external_context": "memories.no_memories_if_mcp_or_web_search",
    "features.memories": "features.memory_tool",
}


class MemoryOverrides(TypedDict, total=False):
    """What a thread's `config` map says about memory."""

    use_memories: bool
    generate_memories: bool
    disable_on_external_context: bool
    dedicated_tools: bool
    enabled: bool
    version: str


def change_of_thread(params: ThreadOverrides, *, cwd: str | None) -> SettingsChange:
    """The overrides that come with a start or a resume.

    Raises: WireError.
    """
    config = params.config
    memory = memory_overrides(config)
    mode = params.sandbox
    policy = _policy_of_profile(params.permissions, given=mode, beside="sandbox")
    if policy is None and (mode := mode or _one_of(config, "sandbox_mode", _POLICY_OF_MODE)):
        policy = policy_of_mode(mode)
    approval = params.approval_policy or _one_of(config, "approval_policy", _APPROVAL_WORDS)
    return SettingsChange(
        provider=params.model_provider or _word(config, "model_provider"),
        model=params.model or _word(config, "model"),
        cwd=cwd,
        effort=_word(config, "model_reasoning_effort"),
        service_tier=params.service_tier,
        approval_policy=_approval_value(approval),
        sandbox_policy=policy,
        permission_profile=params.permissions,
        memory=MemoryChange(
            feature=memory.get("enabled"),
            use=memory.get("use_memories"),
            dedicated_tools=memory.get("dedicated_tools"),
            pollutable=memory.get("disable_on_external_context"),
            version=memory.get("version"),
        ),
        instruction_files=instruction_overrides(params.config),
        instructions=params.base_instructions,
        developer_instructions=params.developer_instructions,
        workspace_roots=_roots(params.runtime_workspace_roots),
    )


def change_of_turn(params: TurnStartParams, *, cwd: str | None) -> SettingsChange:
    """The overrides that come with a turn and hold for later ones too."""
    return SettingsChange(
        model=params.model,
        cwd=cwd,
        effort=params.effort,
        service_tier=params.service_tier,
        summary=params.summary,
        approval_policy=_approval_value(params.approval_policy),
        sandbox_policy=_policy_given(params),
        workspace_roots=_roots(params.runtime_workspace_roots),
        permission_profile=params.permissions,
    )


def change_of_settings(params: SettingsUpdateParams, *, cwd: str | None) -> SettingsChange:
    """The settings that a client changes between turns."""
    mode = params.collaboration_mode or {}
    of_mode = mode.get("settings")
    given = of_mode if isinstance(of_mode, Mapping) else {}
    return SettingsChange(
        model=params.model or _text(given.get("model")),
        cwd=cwd,
        effort=params.effort or _text(given.get("reasoning_effort")),
        summary=params.summary,
        approval_policy=_approval_value(params.approval_policy),
        sandbox_policy=_policy_given(params),
        permission_profile=params.permissions,
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
    for key in _MEMORY_SWITCHES:
        value = _switch(config, f"memories.{key}", _OLD_NAMES.get(f"memories.{key}"))
        if value is not None:
            found[key] = value
    enabled = _switch(config, "features.memories", _OLD_NAMES["features.memories"])
    if enabled is not None:
        found["enabled"] = enabled
    return found


def instruction_overrides(config: Mapping[str, Any] | None) -> InstructionChange:
    """What a `config` map says about instruction files.

    Raises: WireError.
    """
    bytes_max = _lookup(config, "project_doc_max_bytes")
    if bytes_max is not None and (not isinstance(bytes_max, int) or isinstance(bytes_max, bool)):
        raise _config_refused("`project_doc_max_bytes` must be a number of bytes")
    names = _lookup(config, "project_doc_fallback_filenames")
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise _config_refused("`project_doc_fallback_filenames` must be a list of names")
    return InstructionChange(
        enabled=_switch(config, "instruction_files", None),
        bytes_max=bytes_max,
        fallbacks=None if names is None else tuple(names),
    )


def _switch(config: Mapping[str, Any] | None, path: str, old: str | None) -> bool | None:
    value = _lookup(config, path)
    if value is None and old is not None:
        value = _lookup(config, old)
    if value is not None and not isinstance(value, bool):
        raise _config_refused(f"`{path}` must be true or false")
    return value


def policy_of_mode(mode: str) -> Mapping[str, Any]:
    """The sandbox policy that a mode's word stands for."""
    return sandbox_view({"type": _POLICY_OF_MODE[mode]}).to_wire()


def settings_view(settings: inputs.ThreadSettings) -> ThreadSettings:
    """The settings a thread runs with, as clients see them."""
    return ThreadSettings(
        cwd=settings.cwd,
        environments=environment_view(settings.cwd, settings.roots),
        approval_policy=approval_view(settings.approval_policy),
        approvals_reviewer=REVIEWER,
        sandbox_policy=sandbox_view(settings.sandbox_policy),
        active_permission_profile=profile_view(settings),
        model=settings.model,
        model_provider=settings.provider,
        service_tier=settings.service_tier,
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


def profile_view(settings: inputs.ThreadSettings) -> dict[str, Any] | None:
    """The set of permissions that was chosen by its name; None where a sandbox was.

    A client that chose one takes no input before it is told that name.
    """
    name = settings.permission_profile
    return None if name is None else {"id": name, "extends": None}


def _policy_given(params: TurnStartParams | SettingsUpdateParams) -> Mapping[str, Any] | None:
    """The sandbox that a client asks for, as a whole or by the name of a profile."""
    policy = params.sandbox_policy
    named = _policy_of_profile(params.permissions, given=policy, beside="sandboxPolicy")
    return named if policy is None else policy.to_wire()


def _policy_of_profile(
    profile: str | None, *, given: object, beside: str
) -> Mapping[str, Any] | None:
    """The sandbox policy of a profile; what cannot be kept to is refused, never left out.

    Raises: WireError.
    """
    if profile is None:
        return None
    if given is not None:
        raise refused(f"`permissions` cannot be combined with `{beside}`")
    if (kind := POLICY_OF_PROFILE.get(profile)) is None:
        known = ", ".join(f"`{one}`" for one in POLICY_OF_PROFILE)
        raise refused(f"unknown permissions profile `{profile[:100]}`, expected one of {known}")
    return sandbox_view({"type": kind}).to_wire()


def _roots(given: list[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(dict.fromkeys(os.path.normpath(one) for one in given))


def _one_of(config: Mapping[str, Any] | None, key: str, known: Iterable[str]) -> Any:
    """A word of a `config` map that must be one of those.

    Raises: WireError.
    """
    value = _lookup(config, key)
    if value is not None and (not isinstance(value, str) or value not in known):
        raise _config_refused(unknown_variant(str(value)[:100], tuple(known)))
    return value


def _word(config: Mapping[str, Any] | None, key: str) -> str | None:
    """A name of a `config` map.

    Raises: WireError.
    """
    value = _lookup(config, key)
    if value is not None and (not isinstance(value, str) or len(value) > WORD_CHARACTERS_MAX):
        raise _config_refused(f"`{key}` must be a text of at most {WORD_CHARACTERS_MAX} characters")
    return value


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
