"""The front of a server: it owns the home, opens its state and answers `initialize`.

What answers everything else takes as long to load as all of this, so that it is joined behind an
open front. Invariant: nothing is answered before it is joined but what the front alone can tell,
and requests that come meanwhile wait for it, in their order.
"""

import asyncio
import os
import sys
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from server.environment import terminal_name
from server.handlers.handshake import HandshakeHandlers
from server.handlers.identity import ServerIdentity
from server.in_force import SettingsInForce
from server.release import __version__
from server.settings import Settings
from server.wire.connection import Connect, serve_connection
from server.wire.dispatch import Dispatcher
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from state.clock import Clock, SystemClock
from state.errors import HomeBusy
from state.owner import OwnerLock
from state.recovery import State, open_state, refuse_newer


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """An owned home with its state open; made by `open_front`, made whole by the assembly."""

    settings: Settings
    clock: Clock
    wire: WireLimits
    state: State
    in_force: SettingsInForce
    identity: ServerIdentity
    hub: Hub
    dispatcher: Dispatcher
    connect: Connect
    """Serves a client; its requests wait until the assembly has joined the dispatcher."""
    closing: AsyncExitStack
    """Gives up the state and the home; in the hands of whoever makes the front whole."""


async def open_front(
    settings: Settings, *, clock: Clock = SystemClock(), wire: WireLimits = WireLimits()
) -> Front:
    """Become the owner of the home, and be ready for clients.

    Raises: HomeBusy, HomeUnusable, DatabaseUnusable, DatabaseTooNew, MigrationChanged.
    """
    async with AsyncExitStack() as stack:
        identity = _identity(str(uuid.uuid4()), clock.now_ms())
        state = await _owned_state(settings, clock, identity.instance_id, stack)
        in_force, hub = SettingsInForce(settings), Hub(clock, wire)
        handshake = HandshakeHandlers(
            home=state.home, identity=identity, in_force=in_force, hub=hub, wire=wire
        )
        dispatcher = Dispatcher(handshake.initialize, limits=wire)
        stack.callback(dispatcher.close)
        return Front(
            settings=settings,
            clock=clock,
            wire=wire,
            state=state,
            in_force=in_force,
            identity=identity,
            hub=hub,
            dispatcher=dispatcher,
            connect=partial(serve_connection, hub=hub, dispatcher=dispatcher, limits=wire),
            closing=stack.pop_all(),
        )
    raise AssertionError("the block above returns or raises")


async def _owned_state(
    settings: Settings, clock: Clock, instance_id: str, stack: AsyncExitStack
) -> State:
    """The opened state of the home, whose lock is held."""
    home = settings.home
    await asyncio.to_thread(refuse_newer, home)
    await asyncio.to_thread(home.prepare)
    lock = OwnerLock(home)
    if not lock.try_acquire():
        raise HomeBusy(home.root, lock.owner_pid(), lock.addresses())
    stack.callback(lock.release)
    state = await open_state(home, clock, instance_id, lock=lock)
    stack.push_async_callback(state.close)
    return state


def _identity(instance_id: str, now_ms: int) -> ServerIdentity:
    system = os.uname()
    return ServerIdentity(
        version=__version__,
        instance_id=instance_id,
        started_at_ms=now_ms,
        os_name="Mac OS" if sys.platform == "darwin" else system.sysname,
        os_version=system.release.split("-")[0],
        architecture=system.machine,
        terminal=terminal_name(),
    )
