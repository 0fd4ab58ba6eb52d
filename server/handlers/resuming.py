"""Resuming a thread: load it if it is not loaded, listen to it, and show as much as fits."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from protocol import methods
from protocol.errors import draining, refused
from protocol.messages.handshake import DeprecationNotice
from protocol.messages.threads import ThreadResumeParams, ThreadResumeResult, TurnsPage
from protocol.messages.turns import Turn
from server.agent.events import TokenUsage
from server.agent.live_thread import LiveThread
from server.handlers.events import usage_view
from server.handlers.identities import thread_id_of
from server.handlers.lookup import Lookup, archived, live_view
from server.handlers.pages import newest_cursor, newest_turns, turns_page
from server.handlers.reviewers import REVIEWER
from server.handlers.services import Services
from server.handlers.settings_views import (
    approval_view,
    change_of_thread,
    collaboration_view,
    profile_view,
    sandbox_view,
)
from server.handlers.threads import absolute, instruction_sources
from server.wire.dispatch import Call
from server.wire.hub import Hub
from server.wire.peer import Peer
from state.errors import RolloutMissing
from state.ids import ThreadId, TurnId
from state.rollouts.items import RecordedTurn

FULL_HISTORY = DeprecationNotice(
    summary="Full-history hydration is deprecated for paginated threads; use `excludeTurns: true`, "
    "then page with `thread/turns/list` and `thread/items/list`.",
    details=None,
)


class ResumeHandler:
    """Answers `thread/resume`, which many clients send before every turn."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lookup = Lookup(services.state, services.live)

    async def resume(self, call: Call, params: ThreadResumeParams) -> ThreadResumeResult:
        """Load the thread, let the client listen, and give its newest turns if asked for."""
        services = self._services
        if services.draining():
            raise draining()
        if params.history is not None:
            raise refused("thread/resume.history is not supported by memoryd")
        thread_id = thread_id_of(params.thread_id)
        live = await self._load(thread_id, params)
        sources = await instruction_sources(live.settings)
        live = services.live.require(thread_id)  # it may have gone, or come anew, meanwhile
        # From here to the reply nothing waits, so what is shown and what is told next join up.
        services.hub.subscribe(call.peer, thread_id)
        recorded = live.history()
        turns: Sequence[Turn] = ()
        call.after_reply(lambda: tell_usage(services.hub, call.peer, live, recorded))
        if not params.exclude_turns:
            turns = newest_turns(recorded)
            if live.draft.history_mode == "paginated":
                services.hub.tell(
                    call.peer, methods.DEPRECATION_NOTICE, FULL_HISTORY, thread_id=None
                )
        # After its reply and what is told of the thread: what still waits for an answer.
        call.after_reply(lambda: services.hub.questions.replay(call.peer, thread_id))
        items = sum(len(turn.items) for turn in recorded)
        settings = live.settings
        return ThreadResumeResult(
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
            collaboration_mode=collaboration_view(settings),
            initial_turns_page=_initial_page(thread_id, recorded, params),
            turns_backwards_cursor=newest_cursor(thread_id, len(recorded), "turns"),
            items_backwards_cursor=newest_cursor(thread_id, items, "items"),
        )

    async def _load(self, thread_id: ThreadId, params: ThreadResumeParams) -> LiveThread:
        found = await self._lookup.find_recorded(thread_id)
        if found is None or found.ephemeral or not found.materialised:
            raise RolloutMissing(thread_id)
        if found.row.archived:
            raise archived(thread_id)
        if found.live is not None and params.path:
            active = self._services.state.home.root / found.row.rollout_path
            await asyncio.to_thread(_same_file, thread_id, Path(params.path), active)
        cwd = absolute(params.cwd, self._services.default_cwd) if params.cwd else None
        return await self._services.live.resume(thread_id, change_of_thread(params, cwd=cwd))


def _same_file(thread_id: ThreadId, requested: Path, active: Path) -> None:
    """A loaded thread goes on in its own file; blocks on files.

    Raises: WireError.
    """
    try:
        same = requested.expanduser().resolve() == active.resolve()
    except (OSError, RuntimeError, ValueError):  # such as a link to itself or a home of nobody
        same = False
    if not same:
        raise refused(
            f"cannot resume running thread {thread_id} with mismatched path: requested "
            f"`{requested}`, active `{active}`"
        )


def tell_usage(hub: Hub, peer: Peer, live: LiveThread, turns: Sequence[RecordedTurn]) -> None:
    """What the thread has cost so far, for the client that shows it."""
    ended = [turn for turn in turns if turn.status != "inProgress"]
    if live.token_last is None or not ended:
        return
    usage = TokenUsage(
        thread_id=live.id,
        turn_id=TurnId(ended[-1].turn_id),
        total=live.token_total,
        last=live.token_last,
        context_window=live.window,
    )
    hub.tell(peer, methods.THREAD_TOKEN_USAGE_UPDATED, usage_view(usage), thread_id=live.id)


def _initial_page(
    thread_id: ThreadId, turns: Sequence[RecordedTurn], params: ThreadResumeParams
) -> TurnsPage | None:
    wanted = params.initial_turns_page
    if wanted is None:
        return None
    return turns_page(
        thread_id,
        turns,
        cursor=None,
        limit=wanted.limit,
        direction=wanted.sort_direction or "desc",
        view=wanted.items_view or "summary",
    )
