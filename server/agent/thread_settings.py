"""From defaults, project and a thread's own word to the settings it runs with. Pure."""

from dataclasses import replace
from typing import Protocol, TypeVar

from server.agent.inputs import (
    InstructionChange,
    MemoryChange,
    MemoryOff,
    SettingsChange,
    ThreadSettings,
)
from server.agent.instruction_files import InstructionSettings
from server.agent.limits import AgentSettings
from server.switches import Switches, switches_for

T = TypeVar("T")
_OWN_SHAPE = frozenset({"memory", "instruction_files"})
"""Overrides that are no field of the settings."""


class HasDefaultModel(Protocol):
    """A provider, as far as settings need it."""

    @property
    def default_model(self) -> str:
        """The model used when nobody chose one."""
        ...


def thread_settings(
    defaults: AgentSettings,
    provider: HasDefaultModel,
    change: SettingsChange,
    *,
    name: str,
    cwd: str,
    memory_use: bool,
) -> ThreadSettings:
    """The settings of a thread of that provider; `memory_use` is what the thread itself keeps."""
    model = change.model or (defaults.model if name == defaults.provider else None)
    folder = change.cwd or cwd
    project = switches_for(defaults.projects, folder)
    memory = change.memory or MemoryChange()
    off = _memory_off(defaults, project, memory, memory_use=memory_use)
    return ThreadSettings(
        provider=name,
        model=model or provider.default_model,
        cwd=folder,
        effort=change.effort or defaults.effort,
        service_tier=change.service_tier,
        summary=change.summary,
        approval_policy=given(change.approval_policy, defaults.approval_policy),
        sandbox_policy=given(change.sandbox_policy, defaults.sandbox_policy),
        permission_profile=change.permission_profile,
        use_memories=off is None,
        memory_off=off,
        dedicated_tools=given(memory.dedicated_tools, defaults.dedicated_tools),
        pollutable=given(memory.pollutable, defaults.pollutable),
        memory_version=memory.version or defaults.memory_version,
        instruction_files=_instruction_files(
            defaults.instruction_files, project, change.instruction_files or InstructionChange()
        ),
        instructions=change.instructions,
        developer_instructions=change.developer_instructions,
        client_tools=change.client_tools or (),
        workspace_roots=_own_roots(change.workspace_roots, folder),
    )


def wants_memory(change: SettingsChange) -> bool:
    """Whether a thread that begins with these overrides wants to see memory; it keeps that word."""
    memory = change.memory or MemoryChange()
    return False not in (memory.use, memory.feature)


def overlaid(settings: ThreadSettings, change: SettingsChange) -> ThreadSettings:
    """Settings that a thread already has, with these overrides over them."""
    plain = {
        name: value
        for name in SettingsChange.__dataclass_fields__
        if name not in _OWN_SHAPE and (value := getattr(change, name)) is not None
    }
    if change.sandbox_policy is not None:
        plain["permission_profile"] = change.permission_profile
    changed = replace(settings, **plain)
    if change.workspace_roots is not None:
        own = _own_roots(change.workspace_roots, changed.cwd)
        changed = replace(changed, workspace_roots=own)
    if (files := change.instruction_files) is not None:
        now = settings.instruction_files
        kept = InstructionSettings(
            enabled=given(files.enabled, now.enabled),
            home=now.home,
            bytes_max=given(files.bytes_max, now.bytes_max),
            fallbacks=given(files.fallbacks, now.fallbacks),
        )
        changed = replace(changed, instruction_files=kept)
    if (memory := change.memory) is None:
        return changed
    off = _still_off(settings.memory_off, memory)
    return replace(
        changed,
        use_memories=off is None,
        memory_off=off,
        dedicated_tools=given(memory.dedicated_tools, settings.dedicated_tools),
        pollutable=given(memory.pollutable, settings.pollutable),
        memory_version=memory.version or settings.memory_version,
    )


def with_use(settings: ThreadSettings, use: bool) -> ThreadSettings:
    """The settings of a thread that itself wants to see memory, or no longer does."""
    off = settings.memory_off
    if not use and off is None:
        off = "thread_off"
    elif use and off == "thread_off":
        off = None
    return replace(settings, memory_off=off, use_memories=off is None)


def _own_roots(roots: tuple[str, ...] | None, cwd: str) -> tuple[str, ...] | None:
    """Roots that are the working folder alone say nothing, and go with it when it changes."""
    return None if roots == (cwd,) else roots


def given(value: T | None, default: T) -> T:
    """The value, or the default where there is none."""
    return default if value is None else value


def _still_off(off: MemoryOff | None, memory: MemoryChange) -> MemoryOff | None:
    """A thread's own word stands; its configuration's stands until it says otherwise."""
    if memory.feature is False:
        return "feature_off"
    if off == "feature_off" and memory.feature:
        off = None
    if off is None and memory.use is False:
        return "use_off"
    return None if off == "use_off" and memory.use else off


def _memory_off(
    defaults: AgentSettings, project: Switches, memory: MemoryChange, *, memory_use: bool
) -> MemoryOff | None:
    if not given(memory.feature, defaults.memory_enabled):
        return "feature_off"
    # A thread that was made private stays so, whatever a client's habits are.
    if not memory_use:
        return "thread_off"
    uses = given(memory.use, given(project.use_memories, defaults.use_memories))
    return None if uses else "use_off"


def _instruction_files(
    defaults: InstructionSettings, project: Switches, change: InstructionChange
) -> InstructionSettings:
    return InstructionSettings(
        enabled=given(change.enabled, given(project.instruction_files, defaults.enabled)),
        home=defaults.home,
        bytes_max=given(change.bytes_max, defaults.bytes_max),
        fallbacks=given(change.fallbacks, defaults.fallbacks),
    )
