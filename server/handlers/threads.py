"""Threads: begin, rename, and who listens to them."""

import asyncio
import os
from dataclasses import replace

from protocol import methods
from protocol.base import EmptyResult
from protocol.errors import draining, refused
from protocol.messages.memory import MemoryMode
from protocol.messages.threads import (
    LoadedListParams,
    LoadedListResult,
    NameSetParams,
    ThreadIdParams,
    ThreadNameUpdated,
    ThreadStarted,
    ThreadStartParams,
    ThreadStartResult,
    UnsubscribeResult,
)
from server.agent.inputs import StartOptions, ThreadSettings
from server.agent.instruction_files import read_instructions
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Found, Lookup, live_view
from server.handlers.reviewers import REVIEWER
from server.handlers.services import Services
from server.handlers.settings_views import (
    approval_view,
    change_of_thread,
    memory_overrides,
    profile_view,
    sandbox_view,
)
from server.handlers.tool_specs import client_tools
from server.switches import switches_for
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.ids import ThreadId
from state.policy.redaction import redact
from state.stores.private_rows import is_private, set_name

NAME_CHARACTERS_MAX = 1_000


class ThreadHandlers:
    """Answers what changes threads."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def start(self, call: Call, params: ThreadStartParams) -> ThreadStartResult:
        """Begin a thread; nothing of it is stored before its first turn."""
        services = self._services
        if services.draining():
            raise draining()
        cwd = absolute(params.cwd, services.default_cwd)
        live = await services.live.start(
            StartOptions(
                cwd=cwd,
                change=replace(
                    change_of_thread(params, cwd=None),
                    client_tools=client_tools(params.dynamic_tools),
                ),
                ephemeral=bool(params.ephemeral),
                thread_source=params.thread_source,
                originator=services.identity.originator,
                memory_mode=params.memory_mode or self._default_mode(params, cwd),
                memory_use=params.memory_use is not False,
            )
        )
        services.hub.subscribe(call.peer, live.id)
        thread = live_view(services.state.home, live)
        started = ThreadStarted(thread=thread)
        call.after_reply(
            lambda: services.hub.publish(methods.THREAD_STARTED, started, thread_id=live.id)
        )
        settings = live.settings
        return ThreadStartResult(
            thread=thread,
            model=settings.model,
            model_provider=settings.provider,
            service_tier=settings.service_tier,
            cwd=settings.cwd,
            runtime_workspace_roots=list(settings.roots),
            approval_policy=approval_view(settings.approval_policy),
            approvals_reviewer=REVIEWER,
            sandbox=sandbox_view(settings.sandbox_policy),
            active_permission_profile=profile_view(settings),
            reasoning_effort=settings.effort,
            instruction_sources=await instruction_sources(settings),
        )

    def _default_mode(self, params: ThreadStartParams, cwd: str) -> MemoryMode:
        """Whether a thread is learned from whose client says nothing: by config, then project."""
        settings = self._services.settings
        generates = switches_for(settings.projects, cwd).generate_memories
        if generates is None:
            generates = settings.memory.generate
        generates = memory_overrides(params.config).get("generate_memories", generates)
        return "enabled" if generates else "disabled"

    async def loaded_list(self, call: Call, params: LoadedListParams) -> LoadedListResult:
        """Ids of the loaded threads, in their order."""
        ids = sorted(live.id for live in self._services.live.loaded())
        after = params.cursor or ""
        waiting = [thread_id for thread_id in ids if thread_id > after]
        page: list[str] = list(waiting[: max(1, params.limit)] if params.limit else waiting)
        more = len(page) < len(waiting)
        return LoadedListResult(data=page, next_cursor=page[-1] if more else None)

    async def set_name(self, call: Call, params: NameSetParams) -> EmptyResult:
        """Name a thread and tell everyone."""
        services = self._services
        thread_id = thread_id_of(params.thread_id)
        name = redact(params.name.strip())[:NAME_CHARACTERS_MAX]
        if not name:
            raise refused("thread name must not be empty")
        found = await self._stored(thread_id)
        if is_private(found.row):
            raise refused(
                f"thread {thread_id} is private, so lists show no words of it and it takes no "
                "name; `thread/memoryMode/set` ends that",
                {"kind": "privateThread", "threadId": thread_id},
            )
        if found.live is not None:
            await found.live.rename(name)
        else:
            async with services.state.database.writing() as tx:
                await set_name(tx, services.state.threads, thread_id, name)
        updated = ThreadNameUpdated(thread_id=thread_id, thread_name=name)
        call.after_reply(
            lambda: services.hub.publish(methods.THREAD_NAME_UPDATED, updated, thread_id=thread_id)
        )
        return EmptyResult()

    async def unsubscribe(self, call: Call, params: ThreadIdParams) -> UnsubscribeResult:
        """Stop listening; the thread and its turn go on."""
        thread_id = thread_id_of(params.thread_id)
        listened = self._services.hub.unsubscribe(call.peer, thread_id)
        if self._services.live.get(thread_id) is None:
            return UnsubscribeResult(status="notLoaded")
        return UnsubscribeResult(status="unsubscribed" if listened else "notSubscribed")

    async def _stored(self, thread_id: ThreadId) -> Found:
        """A thread whose metadata can be changed.

        Raises: WireError, RolloutMissing.
        """
        found = await self._lookup.find(thread_id)
        if found is None:
            raise RolloutMissing(thread_id)
        if found.ephemeral:
            raise refused(f"ephemeral thread does not support metadata updates: {thread_id}")
        return found


async def instruction_sources(settings: ThreadSettings) -> list[str]:
    """The instruction files that hold for a thread now."""
    found = await asyncio.to_thread(read_instructions, settings.cwd, settings.instruction_files)
    return list(found.sources)


def absolute(folder: str | None, default: str) -> str:
    """The folder a thread works in, as an absolute path; it need not exist."""
    return os.path.normpath(os.path.join(default, folder)) if folder else default
