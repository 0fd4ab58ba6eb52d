"""What a loaded thread begins with: its settings, and the conversation its file holds."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.agent.conversation import Conversation
from server.agent.errors import UnknownProvider
from server.agent.finished_turns import FinishedTurns
from server.agent.inputs import SettingsChange, ThreadSettings
from server.agent.limits import AgentSettings
from server.agent.memory_told import MemoryReport
from server.agent.models.base import Item, TokenUse
from server.agent.providers import Providers
from server.agent.thread_settings import given, thread_settings
from state.rollouts.history import History
from state.stores.threads import ThreadRow


class SettingsMaker:
    """Lays overrides and what is stored over the settings in force."""

    def __init__(self, providers: Providers, defaults: AgentSettings) -> None:
        self._providers = providers
        self.defaults = defaults
        """Those of new threads; they may be changed while the server runs."""

    def of_new(
        self, cwd: str, change: SettingsChange, *, memory_use: bool = True
    ) -> ThreadSettings:
        """The settings of a new thread; `memory_use` is its own word on whether it sees memory.

        Raises: UnknownProvider.
        """
        name = change.provider or self.defaults.provider
        provider = self._providers.get(name)
        return thread_settings(
            self.defaults, provider, change, name=name, cwd=cwd, memory_use=memory_use
        )

    def of_stored(
        self, row: ThreadRow, change: SettingsChange
    ) -> tuple[ThreadSettings, str | None]:
        """The settings of a stored thread; a provider that is gone gives way to the default."""
        wanted = change.provider or row.model_provider
        told = None
        try:
            self._providers.get(wanted)
        except UnknownProvider:
            told = (
                f"model provider `{wanted}` is not configured here; "
                f"`{self.defaults.provider}` is used for this thread"
            )
            wanted = self.defaults.provider
        known = wanted == row.model_provider
        merged = replace(
            change,
            provider=wanted,
            model=change.model or (row.model if known else None),
        )
        return self.of_new(row.cwd, merged, memory_use=row.use_memories), told


def replay(conversation: Conversation, history: History, row: ThreadRow) -> None:
    """Let the conversation stand where the history ends; memory is told anew, as it is now."""
    conversation.recalled = history.recalled
    report = MemoryReport.read((history.context or {}).get("memory"))
    conversation.recorded_memory = report.digest if report is not None else None
    for item in history.response_items:
        conversation.remember(item)
    conversation.turns = FinishedTurns(history.turns)
    # Items that a program put in before the first turn came without it.
    conversation.context_recorded = bool(conversation.sent) and bool(conversation.turns)
    conversation.told_instructions = _told_instructions(conversation.sent)
    # An imported thread may name a folder of another machine; its context is in the history.
    if conversation.context_recorded:
        conversation.told_cwd = str((history.context or {}).get("cwd") or row.cwd)
    if history.token_usage is not None:
        conversation.total = _use(history.token_usage.get("total_token_usage"))
        conversation.last_use = _use(history.token_usage.get("last_token_usage"))
    # The last count may be older than the last items, or of a program that counted nothing.
    filling, told = conversation.filling, conversation.last_use
    filling.count(max(filling.tokens, told.total_tokens if told is not None else 0))


def _told_instructions(sent: Sequence[Item]) -> str | None:
    """The instruction files as the history tells them last."""
    for item in reversed(sent):
        if item.get("role") != "user":
            continue
        for part in item.get("content") or ():
            text = part.get("text") if isinstance(part, Mapping) else None
            if isinstance(text, str) and text.startswith("# AGENTS.md instructions for "):
                return text
    return None


_POLICY_TYPES = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}


def over_recorded(change: SettingsChange, history: History, row: ThreadRow) -> SettingsChange:
    """The overrides, over what the thread's last turn ran under.

    Not for an imported thread: what another program allowed is no permission here.
    """
    context = history.context or {}
    if row.imported_from is not None or not context:
        return change
    policy = context.get("sandbox_policy")
    name = _POLICY_TYPES.get(str(policy.get("type"))) if isinstance(policy, dict) else None
    instructions = (history.meta.base_instructions or {}).get("text")
    return replace(
        change,
        cwd=change.cwd or context.get("cwd"),
        effort=change.effort or context.get("effort"),
        service_tier=change.service_tier or context.get("service_tier"),
        approval_policy=given(change.approval_policy, context.get("approval_policy")),
        sandbox_policy=given(change.sandbox_policy, {"type": name} if name else None),
        instructions=change.instructions or instructions,
        client_tools=_client_tools(history),
        workspace_roots=given(change.workspace_roots, _roots(context.get("workspace_roots"))),
    )


def _roots(recorded: object) -> tuple[str, ...] | None:
    if not isinstance(recorded, list):
        return None
    return tuple(one for one in recorded if isinstance(one, str) and os.path.isabs(one))


def _client_tools(history: History) -> tuple[Mapping[str, Any], ...]:
    """The tools that the client of the thread's beginning offered; it is asked to run them."""
    recorded = (history.meta.model_extra or {}).get("dynamic_tools")
    specs = recorded if isinstance(recorded, list) else []
    return tuple(one for one in specs if isinstance(one, dict) and "name" in one)


def _use(counts: object) -> TokenUse:
    fields: Iterable[str] = TokenUse.__dataclass_fields__
    given = counts if isinstance(counts, dict) else {}
    return TokenUse(**{name: given[name] for name in fields if isinstance(given.get(name), int)})
