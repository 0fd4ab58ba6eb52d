"""Turns: input goes in at once or joins what runs; a running turn can be stopped."""

from collections.abc import Sequence
from typing import assert_never

from protocol.base import EmptyResult
from protocol.errors import WireError, draining, out_of_range, refused
from protocol.messages.items import TextInput, UserInput
from protocol.messages.threads import ThreadIdParams
from protocol.messages.turns import (
    TurnInterruptParams,
    TurnStartParams,
    TurnStartResult,
    TurnSteerParams,
    TurnSteerResult,
)
from server.agent import inputs
from server.agent.inputs import Admitted, InterruptOutcome, TurnInput
from server.handlers.identities import thread_id_of
from server.handlers.lookup import telling_disk_faults
from server.handlers.services import Services
from server.handlers.settings_views import change_of_turn
from server.handlers.sizes import INPUT_CHARACTERS_MAX
from server.handlers.threads import absolute
from server.handlers.views import running_turn
from server.wire.dispatch import Call
from state.ids import ThreadId


class TurnHandlers:
    """Answers what makes loaded threads work."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def start(self, call: Call, params: TurnStartParams) -> TurnStartResult:
        """Admit the input and see it kept; what happens in the turn is told after this reply."""
        services = self._services
        if services.draining():
            raise draining()
        live = services.live.require(thread_id_of(params.thread_id))
        _check_size(params.input)
        cwd = absolute(params.cwd, live.settings.cwd) if params.cwd else None
        admitted = await live.admit(
            TurnInput(
                content=tuple(one.to_wire() for one in params.input),
                client_id=params.client_user_message_id,
                output_schema=_schema(params.output_schema),
                change=change_of_turn(params, cwd=cwd),
            ),
            require_idle=bool(params.require_idle),
        )
        match admitted:
            case Admitted():
                call.after_reply(admitted.begin)
                await kept(live.id, admitted)
                return TurnStartResult(turn=running_turn(admitted.turn_id))
            case inputs.Refused():
                raise refusal_of(live.id, admitted)
            case _:
                assert_never(admitted)

    async def steer(self, call: Call, params: TurnSteerParams) -> TurnSteerResult:
        """Let the input join the turn that the client means; a stale id changes nothing."""
        services = self._services
        if services.draining():
            raise draining()
        live = services.live.require(thread_id_of(params.thread_id))
        if not params.input:
            raise refused("input must not be empty")
        _check_size(params.input)
        given = TurnInput(
            content=tuple(one.to_wire() for one in params.input),
            client_id=params.client_user_message_id,
        )
        admitted = live.steer(given, expected_turn_id=params.expected_turn_id)
        match admitted:
            case Admitted():
                await kept(live.id, admitted)
                return TurnSteerResult(turn_id=admitted.turn_id)
            case inputs.Refused():
                raise _not_steerable(live.id, admitted, params.expected_turn_id)
            case _:
                assert_never(admitted)

    async def compact(self, call: Call, params: ThreadIdParams) -> EmptyResult:
        """Begin to replace the history by a summary; how that goes is told after this reply."""
        services = self._services
        if services.draining():
            raise draining()
        live = services.live.require(thread_id_of(params.thread_id))
        admitted = live.ordered("compact")
        match admitted:
            case Admitted():
                call.after_reply(admitted.begin)
                return EmptyResult()
            case inputs.Refused():
                raise refusal_of(live.id, admitted)
            case _:
                assert_never(admitted)

    async def interrupt(self, call: Call, params: TurnInterruptParams) -> EmptyResult:
        """Stop a turn; its end is told after this reply."""
        live = self._services.live.require(thread_id_of(params.thread_id))
        outcome = live.interruptible(params.turn_id)
        if not outcome.accepted:
            raise _not_interruptible(outcome, params.turn_id)

        def stop() -> None:
            # Between this check and the reply the turn may have ended by itself; that is fine.
            live.interrupt(params.turn_id)

        call.after_reply(stop)
        return EmptyResult()


async def kept(thread_id: ThreadId, admitted: Admitted) -> None:
    """What is acknowledged is in the thread's file, whatever becomes of this process.

    Raises: WireError, StateError.
    """
    with telling_disk_faults(f"thread {thread_id} could not keep the input"):
        await admitted.kept()


def _check_size(given: Sequence[UserInput]) -> None:
    check_characters(sum(len(one.text) for one in given if isinstance(one, TextInput)))


def check_characters(characters: int) -> None:
    """So much text goes into one turn, and no more.

    Raises: WireError.
    """
    if characters > INPUT_CHARACTERS_MAX:
        raise out_of_range(
            f"Input exceeds the maximum length of {INPUT_CHARACTERS_MAX} characters.",
            {
                "input_error_code": "input_too_large",
                "max_chars": INPUT_CHARACTERS_MAX,
                "actual_chars": characters,
            },
        )


def _schema(schema: object) -> dict[str, object] | None:
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise refused("outputSchema must be a JSON Schema object")
    return schema


_REFUSALS = {
    "busy": "threadBusy",
    "full": "inboxFull",
    "closing": "threadClosing",
    "no active turn": "noActiveTurn",
    "other turn": "otherTurn",
    "not steerable": "activeTurnNotSteerable",
}


def refusal_of(thread_id: str, refusal: inputs.Refused) -> WireError:
    """Why the input was not taken; nothing of it was kept."""
    match refusal.reason:
        case "busy":
            sentence = f"thread {thread_id} is busy with turn {refusal.active_turn_id}"
        case "full":
            sentence = f"thread {thread_id} has too much input waiting; retry later"
        case "closing":
            sentence = f"thread {thread_id} is closing; retry after the thread is closed"
        case "no active turn" | "other turn" | "not steerable":
            sentence = f"thread {thread_id} did not take the input: {refusal.reason}"
        case _:
            assert_never(refusal.reason)
    return refused(
        sentence,
        {
            "kind": _REFUSALS[refusal.reason],
            "retryable": refusal.reason in ("busy", "full"),
            "activeTurnId": refusal.active_turn_id,
        },
    )


def _not_steerable(thread_id: str, refusal: inputs.Refused, turn_id: str) -> WireError:
    """Says whether the thread is idle now, so that one safe retry suffices."""
    data: dict[str, object] = {
        "kind": _REFUSALS[refusal.reason],
        "retryable": refusal.reason == "full",
        "activeTurnId": refusal.active_turn_id,
    }
    match refusal.reason:
        case "no active turn":
            return refused("no active turn to steer", data | {"idle": True})
        case "other turn":
            sentence = (
                f"expected active turn id `{turn_id[:200]}` but found `{refusal.active_turn_id}`"
            )
            return refused(sentence, data | {"idle": False})
        case "not steerable":
            info = {"activeTurnNotSteerable": {"turnKind": refusal.turn_kind}}
            sentence = f"cannot steer a {refusal.turn_kind} turn"
            return refused(sentence, data | {"idle": False, "codexErrorInfo": info})
        case "busy" | "full" | "closing":
            return refusal_of(thread_id, refusal)
        case _:
            assert_never(refusal.reason)


def _not_interruptible(outcome: InterruptOutcome, turn_id: str) -> WireError:
    """Says whether the thread is idle now, so that a client with a stale id knows what to do."""
    if outcome.reason == "other turn":
        return refused(
            f"expected active turn id {turn_id[:200]} but found {outcome.active_turn_id}",
            {"kind": "otherTurn", "activeTurnId": outcome.active_turn_id},
        )
    return refused("no active turn to interrupt", {"kind": "noActiveTurn", "activeTurnId": None})
