"""The only place that joins ports and implementations: start order, and stop in reverse.

Invariant: whoever holds a `Server` holds the owner lock of its home. Its front takes the lock
before anything is opened, and it is released after all is closed, so no two processes ever work on
one home.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from memory_read.withheld import ReadGate
from memory_write.controls.agent_memories import AgentMemoryImport
from memory_write.controls.notes import NoteKeeper
from memory_write.controls.outside import OutsideContext
from memory_write.controls.pause import MemoryPause
from memory_write.controls.reset import MemoryReset
from memory_write.controls.restore import MemoryRestore
from memory_write.controls.transfer import SessionImport
from memory_write.lanes import lanes_of
from memory_write.phase2.left import left_in
from memory_write.phase2.recover import recover
from memory_write.phase2.restore import restore_published
from memory_write.ports import Announcement, Steps, no_steps
from protocol.messages.handshake import Warning
from protocol.methods import WARNING
from server.agent.background import BackgroundModels
from server.agent.background_quota import ProviderQuota
from server.agent.command_rules import CommandRules
from server.agent.events import McpServerChanged
from server.agent.inputs import ThreadSettings
from server.agent.instruction_files import InstructionSettings
from server.agent.limits import AgentSettings, BackgroundLimits, ModelLimits
from server.agent.live_threads import LiveThreads
from server.agent.mcp.fleet import McpFleet
from server.agent.mcp.values import McpStatus
from server.agent.memory import LiveMemory
from server.agent.providers import Providers
from server.agent.tool_parts import ToolParts
from server.agent.toolbox import Toolbox
from server.agent.tools.stage import StagedTool
from server.config_writing import ConfigWriter
from server.front import Front, open_front
from server.handlers.events import EventFan
from server.handlers.failures import to_wire
from server.handlers.idling import IdleThreads
from server.handlers.orders import Orders
from server.handlers.questions import Questioner
from server.handlers.services import Services
from server.handlers.table import bindings
from server.loop_lag import LoopLag
from server.machine import Machine, machine_of
from server.searching import searching_of
from server.settings import Settings
from server.unused_memory import unused_memory
from server.wire.connection import Connect
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.pair import PairClient, PairTransport, make_pair
from server.wire.unix import RelayListener
from state.clock import Clock, SystemClock
from state.home import Home
from state.ids import ThreadId
from state.policy.redaction import use_second_pass
from state.policy.second_pass import SecondPass
from state.policy.second_pass import installed as second_pass_installed

_LOG = logging.getLogger(__name__)

FAREWELL_S = 2.0
"""How long background work and the goodbyes of one listener may take at the end."""
GOING = "the server is shutting down: what runs may still end, nothing new is begun"
"""What every client is told when that begins; on byte streams there is no close code to say it."""


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

    async def settled(self) -> None:
        """Wait until what clients ordered is done."""
        await self.services.orders.settled()

    async def alone(self, *, besides: int) -> None:
        """Wait until no more than that many clients are attached."""
        await self.services.hub.wait_for_at_most(besides)

    async def stop(self, drain_s: float) -> None:
        """Start nothing new, let running turns end within that time, then close everything."""
        self._draining.set()
        self.services.hub.tell_all(WARNING, Warning(thread_id=None, message=GOING))
        await self.services.live.close(drain_s)
        await self.services.machine.close()
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
    tools: tuple[StagedTool, ...] = ()
    """Further tools of every thread."""


async def start_server(settings: Settings, choices: Choices = Choices()) -> Server:
    """Become the owner of the home and serve its relay socket.

    Raises: HomeBusy, HomeUnusable, DatabaseUnusable, DatabaseTooNew, MigrationChanged.
    """
    front = await open_front(settings, clock=choices.clock, wire=choices.wire)
    return await make_whole(front, choices)


async def make_whole(front: Front, choices: Choices = Choices()) -> Server:
    """Settle what a crash left open, and join everything that answers behind an open front.

    Time and bounds of the wire are those of the front, which is closed when this fails.
    Raises: DatabaseBusy, DatabaseUnusable, HomeUnusable.
    """
    settings = front.settings
    async with front.closing as stack:
        _use_scanner(settings.home, stack)
        await restore_published(front.state, settings.memory.phase2)
        await recover(front.state, choices.steps, settings.memory.phase2)
        draining = asyncio.Event()
        services = _services(front, choices, draining.is_set)
        stack.push_async_callback(services.providers.close)
        if services.semantic is not None:
            stack.push_async_callback(services.semantic.filling.close)
        stack.push_async_callback(services.index.close)
        await services.lanes.before_reading()
        table = bindings(services)
        relay = RelayListener(settings.home.relay_socket, front.connect, limits=front.wire)
        await relay.start()
        stack.push_async_callback(relay.stop, front.wire.farewell_s)
        unused = await asyncio.to_thread(unused_memory, settings.home, settings.memory_off_by)
        if unused is not None:
            _LOG.warning("%s", unused)
        services.loop_lag.start()
        stack.callback(services.loop_lag.stop)
        idle = IdleThreads(services.live, services.hub, front.clock, idle_s=settings.thread_idle_s)
        idle.start()
        stack.push_async_callback(idle.stop)
        # Whoever waits is answered before learning begins.
        front.dispatcher.join(table, to_wire)
        if choices.learning:
            services.lanes.start()
            services.index.nudge()
        return Server(services, front.connect, stack.pop_all(), draining)
    raise AssertionError("the block above returns or raises")


def _use_scanner(home: Home, stack: AsyncExitStack) -> None:
    """Let the scanner of the extra `secrets` look for secrets too; its rules load meanwhile."""
    if not second_pass_installed():
        return
    second = SecondPass(home.run / "scanner")
    use_second_pass(second)
    stack.callback(use_second_pass, None)
    loading = asyncio.create_task(asyncio.to_thread(second.load), name="scanner rules")
    stack.callback(loading.cancel)


def _services(front: Front, choices: Choices, draining: Callable[[], bool]) -> Services:
    """Every port joined to what implements it.

    Longer than the habit: one statement a part, in the order in which they need each other.
    """
    settings, state, clock, hub = front.settings, front.state, front.clock, front.hub
    memory = settings.memory
    fan = EventFan(hub, clock)
    providers = Providers(
        settings.providers, default=settings.provider, clock=clock, limits=choices.model
    )
    background = BackgroundLimits(
        context_window=settings.context_window,
        remaining_percent_min=settings.rate_limit_remaining_percent_min,
    )
    models = BackgroundModels(providers, clock=clock, limits=background)
    quota = ProviderQuota(providers, clock=clock, limits=background)

    def tell(announcement: Announcement) -> None:
        """Threads that are loaded hear of a withdrawal before anybody else does."""
        if "linesTakenOut" in announcement.data:
            live.forget_recalled(announcement.version)
        fan.announce(announcement)

    left = left_in(settings.home, memory.phase2)
    gate = ReadGate(state.outputs.withheld, left, settings.home.memories)
    found, announce = searching_of(settings, state, gate, tell)
    index, search = found.index, found.search
    lanes = lanes_of(
        state,
        models,
        quota,
        announce,
        memory,
        lambda: live.busy(),  # the lanes and the threads know of each other by two calls only
        choices.steps,
    )
    read = LiveMemory(state, search, memory.versions, gate)
    withheld = state.outputs.withheld
    machine = machine_of(settings, clock, lambda thread_id: _settings_of(live, thread_id), withheld)
    mcp = McpFleet(
        settings.mcp_servers,
        left_out=settings.mcp_left_out,
        tell=lambda of, told: fan(_server_changed(of, told)),
    )
    live = LiveThreads(
        state,
        providers,
        _agent_settings(settings),
        events=fan,
        nudge=lanes.nudge,
        memory=read,
        bar=OutsideContext(state, lanes, announce).taken_in,
        clock=clock,
        model_limits=choices.model,
        tools=_tool_parts(settings, choices, hub, machine, mcp),
    )
    withheld.watch(live.forget_recalled)
    fan.knows(lambda thread_id: _settings_of(live, thread_id))
    in_force = front.in_force
    in_force.watch(lambda changed: live.use(_agent_settings(changed)))
    in_force.watch(lambda changed: lanes.enable(changed.memory.enabled))
    return Services(
        state=state,
        clock=clock,
        config=ConfigWriter(in_force, clock),
        in_force=in_force,
        live=live,
        machine=machine,
        providers=providers,
        mcp=mcp,
        hub=hub,
        lanes=lanes,
        importer=SessionImport(state),
        agent_memories=AgentMemoryImport(state, lanes.versions),
        restore=MemoryRestore(state, lanes.versions),
        notes=NoteKeeper(state, lanes.versions),
        reset=MemoryReset(state, lanes),
        gate=gate,
        search=search,
        index=index,
        semantic=found.semantic,
        pause=MemoryPause(state, lanes, fan.announce),
        read=read,
        quota=quota,
        loop_lag=LoopLag(),
        identity=front.identity,
        wire=front.wire,
        orders=Orders(),
        default_cwd=_working_folder(),
        draining=draining,
    )


def _tool_parts(
    settings: Settings, choices: Choices, hub: Hub, machine: Machine, mcp: McpFleet
) -> ToolParts:
    """The tools of every thread, and what they need beside their turn."""
    rules = CommandRules(settings.home.root / "rules")
    given = {tool.name for tool in choices.tools}
    own = [tool for tool in machine.tools(rules) if tool.name not in given]
    more = (*choices.tools, *own)
    sandbox = machine.sandbox
    toolbox = Toolbox(
        more=more, places=sandbox.places, roots=sandbox.roots, web_search=settings.web_search
    )

    async def release(thread_id: ThreadId) -> None:
        await asyncio.gather(machine.release(thread_id), mcp.release(thread_id))

    return ToolParts(
        sets=toolbox.sets,
        hosted=toolbox.hosted,
        asker=Questioner(hub),
        rules=rules,
        servers=mcp,
        release=release,
        shell=machine.shell,
    )


def _server_changed(thread_id: ThreadId, status: McpStatus) -> McpServerChanged:
    return McpServerChanged(
        thread_id=thread_id, name=status.name, state=status.state, error=status.error
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
    return AgentSettings(
        provider=settings.provider,
        model=settings.model,
        model_fallbacks=settings.model_fallbacks,
        effort=settings.reasoning_effort,
        context_window=settings.context_window,
        auto_compact_tokens=settings.auto_compact_tokens,
        approval_policy=settings.approval_policy,
        sandbox_policy=settings.sandbox_policy,
        use_memories=settings.use_memories,
        dedicated_tools=settings.dedicated_tools,
        memory_version=settings.memory.version,
        memory_enabled=settings.memory.enabled,
        pollutable=settings.pollutable,
        instruction_files=InstructionSettings(
            enabled=settings.instruction_files,
            home=settings.home.root,
            bytes_max=settings.project_doc_bytes_max,
            fallbacks=settings.project_doc_fallbacks,
        ),
        projects=settings.projects,
    )
