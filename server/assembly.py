"""The only place that joins ports and implementations: start order, and stop in reverse.

Invariant: whoever holds a `Server` holds the owner lock of its home. The lock is taken before
anything is opened and released after all is closed, so no two processes ever work on one home.
"""

import asyncio
import os
import platform
import sys
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from memory_write.controls.reset import MemoryReset
from memory_write.controls.transfer import SessionImport
from memory_write.phase1.run import Phase1
from memory_write.phase2.recover import recover
from memory_write.phase2.run import Phase2
from memory_write.ports import Steps, no_steps
from memory_write.scheduler import Scheduler
from server.agent.background import BackgroundModels, ProviderQuota
from server.agent.inputs import ThreadSettings
from server.agent.limits import AgentSettings, BackgroundLimits, ModelLimits
from server.agent.live_threads import LiveThreads
from server.agent.memory import LiveMemory
from server.agent.providers import Providers
from server.environment import terminal_name
from server.handlers.events import EventFan
from server.handlers.failures import to_wire
from server.handlers.identity import ServerIdentity
from server.handlers.orders import Orders
from server.handlers.services import Services
from server.handlers.table import bindings
from server.release import __version__
from server.settings import Settings
from server.wire.connection import Connect, serve_connection
from server.wire.dispatch import Dispatcher
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.pair import PairClient, make_pair
from server.wire.unix import RelayListener
from state.clock import Clock, SystemClock
from state.errors import HomeBusy
from state.ids import ThreadId
from state.owner import OwnerLock
from state.recovery import open_state

FAREWELL_S = 2.0
"""How long background work and the goodbyes of one listener may take at the end."""


class Server:
    """One running owner of a home; made by `start_server`."""

    def __init__(
        self,
        services: Services,
        connect: Connect,
        stack: AsyncExitStack,
        draining: asyncio.Event,
    ) -> None:
        self.services = services
        self.connect = connect
        self._stack = stack
        self._draining = draining
        self._pairs: set[asyncio.Task[None]] = set()

    def on_stop(self, stop: Callable[[float], Awaitable[None]]) -> None:
        """Stop this listener before what it serves; it gets the seconds it may take."""
        self._stack.push_async_callback(stop, FAREWELL_S)

    def attach(self) -> PairClient:
        """A client in this process, served like any other."""
        transport, client = make_pair()
        task = asyncio.create_task(_served(self.connect, transport))
        self._pairs.add(task)
        task.add_done_callback(self._pairs.discard)
        return client

    async def alone(self, *, besides: int) -> None:
        """Wait until no more than that many clients are attached."""
        await self.services.hub.wait_for_at_most(besides)

    async def stop(self, drain_s: float) -> None:
        """Start nothing new, let running turns end within that time, then close everything."""
        self._draining.set()
        await self.services.live.close(drain_s)
        await self.services.scheduler.stop(min(drain_s, FAREWELL_S))
        for task in list(self._pairs):
            task.cancel()
        await self._stack.aclose()


async def _served(connect: Connect, transport: object) -> None:
    await connect(transport)  # type: ignore[arg-type]  # both ends are of `make_pair`


async def start_server(
    settings: Settings,
    *,
    clock: Clock | None = None,
    steps: Steps = no_steps,
    learning: bool = True,
    wire_limits: WireLimits = WireLimits(),  # noqa: B008  # a frozen value
    model_limits: ModelLimits = ModelLimits(),  # noqa: B008  # a frozen value
) -> Server:
    """Become the owner of the home and serve its relay socket; `learning` runs the scheduler.

    Raises: HomeBusy, HomeUnusable, DatabaseUnusable, DatabaseTooNew, MigrationChanged.
    """
    home = settings.home
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(home.prepare)
        lock = OwnerLock(home)
        if not lock.try_acquire():
            raise HomeBusy(home.root, lock.owner_pid())
        stack.callback(lock.release)
        instance_id = str(uuid.uuid4())
        state = await open_state(home, clock, instance_id)
        stack.push_async_callback(state.close)
        await recover(state, steps, settings.memory.phase2)
        hub = Hub(clock, wire_limits)
        fan = EventFan(hub, clock)
        providers = Providers(
            settings.providers, default=settings.provider, clock=clock, limits=model_limits
        )
        stack.push_async_callback(providers.close)
        background = BackgroundLimits(
            remaining_percent_min=settings.rate_limit_remaining_percent_min
        )
        models = BackgroundModels(providers, clock=clock, limits=background)
        quota = ProviderQuota(providers, clock=clock, limits=background)
        # The scheduler and the threads know of each other only through these two calls.
        scheduler = Scheduler(
            Phase1(state, models, quota, fan.announce, settings.memory, steps),
            Phase2(state, models, quota, fan.announce, settings.memory, steps),
            state,
            settings.memory,
            clock,
            fan.announce,
            lambda: live.busy(),
        )
        live = LiveThreads(
            state,
            providers,
            _agent_settings(settings),
            events=fan,
            nudge=scheduler.nudge,
            memory=LiveMemory(state, version=settings.memory.version),
            clock=clock,
            model_limits=model_limits,
        )
        fan.knows(lambda thread_id: _settings_of(live, thread_id))
        draining = asyncio.Event()
        services = Services(
            state=state,
            clock=clock,
            settings=settings,
            live=live,
            providers=providers,
            hub=hub,
            scheduler=scheduler,
            importer=SessionImport(state),
            reset=MemoryReset(state, scheduler),
            identity=_identity(instance_id),
            orders=Orders(),
            default_cwd=str(Path.cwd()),
            draining=draining.is_set,
        )
        dispatcher = Dispatcher(bindings(services), failures=to_wire, limits=wire_limits)
        connect: Connect = partial(
            serve_connection, hub=hub, dispatcher=dispatcher, limits=wire_limits
        )
        relay = RelayListener(home.relay_socket, connect, limits=wire_limits)
        await relay.start()
        stack.push_async_callback(relay.stop, wire_limits.farewell_s)
        if learning:
            scheduler.start()
        warming = asyncio.create_task(providers.warm())
        stack.callback(warming.cancel)
        return Server(services, connect, stack.pop_all(), draining)
    raise AssertionError("the block above returns or raises")


def _settings_of(live: LiveThreads, thread_id: ThreadId) -> ThreadSettings | None:
    thread = live.get(thread_id)
    return thread.settings if thread is not None else None


def _agent_settings(settings: Settings) -> AgentSettings:
    sandbox = {
        "read-only": {"type": "readOnly"},
        "workspace-write": {"type": "workspaceWrite"},
        "danger-full-access": {"type": "dangerFullAccess"},
    }
    return AgentSettings(
        provider=settings.provider,
        model=settings.model,
        effort=settings.reasoning_effort,
        approval_policy=settings.approval_policy,
        sandbox_policy=sandbox[settings.sandbox_mode],
        use_memories=settings.use_memories,
        dedicated_tools=settings.dedicated_tools,
        memory_version=settings.memory.version,
        memory_enabled=settings.memory.enabled,
    )


def _identity(instance_id: str) -> ServerIdentity:
    system = os.uname()
    return ServerIdentity(
        version=__version__,
        instance_id=instance_id,
        os_name="Mac OS" if sys.platform == "darwin" else platform.system(),
        os_version=system.release.split("-")[0],
        architecture=platform.machine(),
        terminal=terminal_name(),
    )
