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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memory_write.controls.agent_memories import AgentMemoryImport
from memory_write.controls.pause import MemoryPause
from memory_write.controls.reset import MemoryReset
from memory_write.controls.transfer import SessionImport
from memory_write.lanes import lanes_of
from memory_write.phase2.recover import recover
from memory_write.phase2.restore import restore_published
from memory_write.ports import Steps, no_steps
from server.agent.background import BackgroundModels
from server.agent.background_quota import ProviderQuota
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
from server.wire.pair import PairClient, PairTransport, make_pair
from server.wire.unix import RelayListener
from state.clock import Clock, SystemClock
from state.errors import HomeBusy
from state.home import Home
from state.ids import ThreadId
from state.owner import OwnerLock
from state.policy.redaction import use_second_pass
from state.policy.second_pass import SecondPass
from state.policy.second_pass import installed as second_pass_installed
from state.recovery import State, open_state, refuse_newer

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
        """Wait until no more than that many clients are attached, and what they ordered is done."""
        await self.services.orders.settled()
        await self.services.hub.wait_for_at_most(besides)

    async def stop(self, drain_s: float) -> None:
        """Start nothing new, let running turns end within that time, then close everything."""
        self._draining.set()
        await self.services.live.close(drain_s)
        await self.services.lanes.stop(min(drain_s, FAREWELL_S))
        for task in list(self._pairs):
            task.cancel()
        await self._stack.aclose()


async def _served(connect: Connect, transport: PairTransport) -> None:
    await connect(transport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What tests replace of a server: its time, its fault points, its bounds, its timers."""

    clock: Clock = SystemClock()
    steps: Steps = no_steps
    learning: bool = True
    """Whether the scheduler runs by itself; orders are carried out in any case."""
    wire: WireLimits = WireLimits()
    model: ModelLimits = ModelLimits()


async def start_server(settings: Settings, choices: Choices = Choices()) -> Server:
    """Become the owner of the home and serve its relay socket.

    Raises: HomeBusy, HomeUnusable, DatabaseUnusable, DatabaseTooNew, MigrationChanged.
    """
    async with AsyncExitStack() as stack:
        instance_id = str(uuid.uuid4())
        state = await _owned_state(settings, choices, instance_id, stack)
        draining = asyncio.Event()
        services = _services(settings, choices, state, instance_id, draining.is_set)
        stack.push_async_callback(services.providers.close)
        dispatcher = Dispatcher(bindings(services), failures=to_wire, limits=choices.wire)
        connect: Connect = partial(
            serve_connection, hub=services.hub, dispatcher=dispatcher, limits=choices.wire
        )
        relay = RelayListener(settings.home.relay_socket, connect, limits=choices.wire)
        await relay.start()
        stack.push_async_callback(relay.stop, choices.wire.farewell_s)
        if choices.learning:
            services.lanes.start()
        return Server(services, connect, stack.pop_all(), draining)
    raise AssertionError("the block above returns or raises")


async def _owned_state(
    settings: Settings, choices: Choices, instance_id: str, stack: AsyncExitStack
) -> State:
    """The opened home, its lock held, and what a crash left open settled."""
    home = settings.home
    await asyncio.to_thread(refuse_newer, home)
    await asyncio.to_thread(home.prepare)
    lock = OwnerLock(home)
    if not lock.try_acquire():
        raise HomeBusy(home.root, lock.owner_pid())
    stack.callback(lock.release)
    state = await open_state(home, choices.clock, instance_id, lock=lock)
    stack.push_async_callback(state.close)
    _use_scanner(home, stack)
    await restore_published(state, settings.memory.phase2)
    await recover(state, choices.steps, settings.memory.phase2)
    return state


def _use_scanner(home: Home, stack: AsyncExitStack) -> None:
    """Let the scanner of the extra `secrets` look for secrets too; its rules load meanwhile."""
    if not second_pass_installed():
        return
    second = SecondPass(home.run / "scanner")
    use_second_pass(second)
    stack.callback(use_second_pass, None)
    loading = asyncio.create_task(asyncio.to_thread(second.load), name="scanner rules")
    stack.callback(loading.cancel)


def _services(
    settings: Settings,
    choices: Choices,
    state: State,
    instance_id: str,
    draining: Callable[[], bool],
) -> Services:
    """Every port joined to what implements it."""
    clock, memory = choices.clock, settings.memory
    hub = Hub(clock, choices.wire)
    fan = EventFan(hub, clock)
    providers = Providers(
        settings.providers, default=settings.provider, clock=clock, limits=choices.model
    )
    background = BackgroundLimits(remaining_percent_min=settings.rate_limit_remaining_percent_min)
    models = BackgroundModels(providers, clock=clock, limits=background)
    quota = ProviderQuota(providers, clock=clock, limits=background)
    lanes = lanes_of(
        state,
        models,
        quota,
        fan.announce,
        memory,
        lambda: live.busy(),  # the lanes and the threads know of each other by two calls only
        choices.steps,
    )
    live = LiveThreads(
        state,
        providers,
        _agent_settings(settings),
        events=fan,
        nudge=lanes.nudge,
        memory=LiveMemory(state),
        clock=clock,
        model_limits=choices.model,
    )
    fan.knows(lambda thread_id: _settings_of(live, thread_id))
    return Services(
        state=state,
        clock=clock,
        settings=settings,
        live=live,
        providers=providers,
        hub=hub,
        lanes=lanes,
        importer=SessionImport(state),
        agent_memories=AgentMemoryImport(state, lanes.versions),
        reset=MemoryReset(state, lanes),
        pause=MemoryPause(state, lanes, fan.announce),
        quota=quota,
        identity=_identity(instance_id),
        orders=Orders(),
        default_cwd=_working_folder(),
        draining=draining,
    )


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # it was removed under the shell that we were started from
        return str(Path.home())


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
