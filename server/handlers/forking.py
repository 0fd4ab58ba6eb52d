"""`thread/fork`: a new thread that goes on from a place in another one."""

from collections.abc import Sequence

from protocol import methods
from protocol.errors import draining, refused
from protocol.messages.lifecycle import ThreadForkParams, ThreadForkResult
from protocol.messages.threads import ThreadStarted
from protocol.messages.turns import Turn
from server.agent.inputs import ForkOptions
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Found, Lookup, archived, live_view, telling_disk_faults
from server.handlers.pages import newest_turns
from server.handlers.resuming import FULL_HISTORY, tell_usage
from server.handlers.reviewers import REVIEWER
from server.handlers.services import Services
from server.handlers.settings_views import (
    approval_view,
    change_of_thread,
    memory_overrides,
    profile_view,
    sandbox_view,
)
from server.handlers.threads import absolute, instruction_sources
from server.wire.dispatch import Call
from state.errors import RolloutMissing
from state.rollouts.prefix import Cut


class ForkHandler:
    """Answers `thread/fork`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def fork(self, call: Call, params: ThreadForkParams) -> ThreadForkResult:
        """Make the thread, let the client listen, and give its newest turns if asked for."""
        services = self._services
        if services.draining():
            raise draining()
        source = await self._source(params)
        cwd = absolute(params.cwd, source.row.cwd) if params.cwd else None
        barred = memory_overrides(params.config).get("generate_memories") is False
        options = ForkOptions(
            cut=Cut(through=params.last_turn_id, before=params.before_turn_id),
            change=change_of_thread(params, cwd=cwd),
            ephemeral=bool(params.ephemeral),
            thread_source=params.thread_source,
            originator=services.identity.originator,
            barred=barred,
        )
        with telling_disk_faults(f"thread {source.thread_id} could not be forked"):
            live = await services.live.fork(source.row, options)
        sources = await instruction_sources(live.settings)
        live = services.live.require(live.id)  # it may have gone meanwhile
        services.hub.subscribe(call.peer, live.id)
        recorded = live.history()
        turns: Sequence[Turn] = ()
        if not params.exclude_turns:
            turns = newest_turns(recorded)
            if live.draft.history_mode == "paginated":
                services.hub.tell(
                    call.peer, methods.DEPRECATION_NOTICE, FULL_HISTORY, thread_id=None
                )
            call.after_reply(lambda: tell_usage(services.hub, call.peer, live, recorded))
        started = ThreadStarted(thread=live_view(services.state.home, live))
        call.after_reply(
            lambda: services.hub.publish(methods.THREAD_STARTED, started, thread_id=live.id)
        )
        settings = live.settings
        return ThreadForkResult(
            thread=live_view(services.state.home, live, turns=turns),
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
            instruction_sources=sources,
        )

    async def _source(self, params: ThreadForkParams) -> Found:
        """The thread that is forked; the id decides, whatever `path` says.

        Raises: WireError, RolloutMissing.
        """
        thread_id = thread_id_of(params.thread_id)
        if params.last_turn_id is not None and params.before_turn_id is not None:
            raise refused("`lastTurnId` and `beforeTurnId` cannot be combined")
        found = await self._lookup.find_recorded(thread_id)
        if found is None or found.ephemeral or not found.materialised:
            raise RolloutMissing(thread_id)
        if found.row.archived:
            raise archived(thread_id)
        paginated = found.row.history_mode == "paginated"
        if params.ephemeral and paginated and not params.exclude_turns:
            raise refused("ephemeral paginated thread/fork requires `excludeTurns: true`")
        return found
