"""Changes what is noted of a thread, what its model sees, how it works, and where it ends."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from protocol import methods
from protocol.base import EmptyResult
from protocol.errors import draining, refused
from protocol.messages.lifecycle import (
    GitInfoUpdate,
    InjectItemsParams,
    MetadataUpdateParams,
    SettingsUpdateParams,
    ThreadResult,
    ThreadRevertParams,
    ThreadRevertResult,
)
from protocol.messages.threads import ThreadIdNotice
from server.agent.forking import bases_of
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup, live_view, telling_disk_faults
from server.handlers.pages import newest_cursor
from server.handlers.services import Services
from server.handlers.settings_views import change_of_settings
from server.handlers.threads import absolute
from server.handlers.views import stored_thread
from server.wire.dispatch import Call
from state.errors import RolloutMissing, TurnMissing
from state.policy.redaction import redact
from state.rollouts.model_input import is_response_item
from state.rollouts.packed import types_of
from state.rollouts.prefix import Cut, boundary_of, cut_back
from state.rollouts.store import rfc3339

ITEMS_MAX = 1_000
GIT_CHARACTERS_MAX = 1_000
_GIT_COLUMNS = {"sha": "git_sha", "branch": "git_branch", "origin_url": "git_origin_url"}
_GIT_NAMES = {"sha": "sha", "branch": "branch", "origin_url": "originUrl"}


class ChangeHandlers:
    """Answers what changes a thread beside its turns."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def metadata(self, call: Call, params: MetadataUpdateParams) -> ThreadResult:
        """Note another state of the repository; what is left out stays."""
        services = self._services
        thread_id = thread_id_of(params.thread_id)
        changes = _metadata_changes(params)
        found = await self._lookup.find(thread_id)
        if found is None:
            raise RolloutMissing(thread_id)
        if found.ephemeral:
            raise refused(f"ephemeral thread does not support metadata updates: {thread_id}")
        if found.live is not None:
            row = await found.live.note(changes)
        else:
            async with services.state.database.writing() as tx:
                stored = await services.state.threads.get(tx, thread_id)
                if stored is None:
                    raise RolloutMissing(thread_id)
                row = replace(stored, **changes)
                await services.state.threads.put(tx, row)
        status = None if found.live is None else found.live.status
        return ThreadResult(thread=stored_thread(services.state.home, row, status=status))

    async def settings(self, call: Call, params: SettingsUpdateParams) -> EmptyResult:
        """Other settings for the next turns of a loaded thread, told after this reply."""
        live = self._services.live.require(thread_id_of(params.thread_id))
        cwd = absolute(params.cwd, live.settings.cwd) if params.cwd else None
        if await live.update_settings(change_of_settings(params, cwd=cwd)):
            call.after_reply(live.tell_settings)
        return EmptyResult()

    async def inject(self, call: Call, params: InjectItemsParams) -> EmptyResult:
        """Add items to what the model sees; they count as a program's word, not as typed."""
        live = self._services.live.require(thread_id_of(params.thread_id))
        if not params.items:
            raise refused("items must not be empty")
        if len(params.items) > ITEMS_MAX:
            raise refused(f"items must hold at most {ITEMS_MAX} items")
        for number, item in enumerate(params.items):
            if (fault := is_response_item(item)) is not None:
                raise refused(f"items[{number}] is not a valid response item: {fault}")
        with telling_disk_faults(f"nothing could be added to thread {live.id}"):
            await live.inject(params.items)
        return EmptyResult()

    async def revert(self, call: Call, params: ThreadRevertParams) -> ThreadRevertResult:
        """Let the history end before a turn; what came after is gone, files stay as they are."""
        services = self._services
        if services.draining():
            raise draining()
        thread_id = thread_id_of(params.thread_id)
        live = services.live.require(thread_id)
        if live.ephemeral:
            raise refused(f"ephemeral threads do not support thread/revert: {thread_id}")
        await live.recorded()
        if live.row is None:
            raise TurnMissing(params.before_turn_id)
        if live.row.history_mode != "paginated":
            raise refused(f"thread/revert needs a paginated thread, {thread_id} is a legacy one")
        path = services.state.home.root / live.row.rollout_path
        bases = await bases_of(services.state, thread_id)
        cut = Cut(before=params.before_turn_id)
        boundary = await asyncio.to_thread(boundary_of, path, cut, find_base=bases.get)
        async with services.live.parted(thread_id):
            stamp = rfc3339(services.clock.now_ms())
            with telling_disk_faults(f"thread {thread_id} could not be reverted"):
                fresh = await services.live.reload(
                    thread_id, partial(cut_back, path, boundary, timestamp=stamp)
                )
            recorded = fresh.history()
            spoken = any("userMessage" in types_of(turn.items) for turn in recorded)
            changes: dict[str, Any] = {"updated_at_ms": services.clock.now_ms()}
            if not spoken:
                changes["preview"] = ""
            if boundary is None or boundary.thread_id != thread_id:
                # Nothing of its own is left before that turn: it stands on an earlier place.
                changes["history_base_id"] = boundary.thread_id if boundary else None
            await fresh.note(changes)
        reverted = ThreadIdNotice(thread_id=thread_id)
        call.after_reply(
            lambda: services.hub.publish(methods.THREAD_REVERTED, reverted, thread_id=thread_id)
        )
        items = sum(len(turn.items) for turn in recorded)
        return ThreadRevertResult(
            thread=live_view(services.state.home, fresh),
            turns_backwards_cursor=newest_cursor(thread_id, len(recorded), "turns"),
            items_backwards_cursor=newest_cursor(thread_id, items, "items"),
        )


def _metadata_changes(params: MetadataUpdateParams) -> Mapping[str, Any]:
    """The columns that change.

    Raises: WireError.
    """
    if params.daybreak_enabled is not None:
        raise refused("daybreakEnabled is not supported by memoryd")
    if params.project_id:
        raise refused(f"project not found: {params.project_id[:200]}")
    if params.git_info is None and params.project_id is None:
        raise refused("thread metadata update must include at least one field")
    return {} if params.git_info is None else _git_changes(params.git_info)


def _git_changes(given: GitInfoUpdate) -> Mapping[str, Any]:
    fields = [name for name in _GIT_COLUMNS if name in given.model_fields_set]
    if not fields:
        raise refused("gitInfo must include at least one field")
    changes: dict[str, Any] = {}
    for name in fields:
        value: str | None = getattr(given, name)
        if value is not None and not value.strip():
            raise refused(f"gitInfo.{_GIT_NAMES[name]} must not be empty")
        changes[_GIT_COLUMNS[name]] = (
            None if value is None else redact(value.strip())[:GIT_CHARACTERS_MAX]
        )
    return changes
