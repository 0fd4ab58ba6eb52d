"""A whole server on a home of its own, with clients of every kind."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_write.ports import Steps, no_steps
from server.agent.limits import ModelLimits, RetryLimits
from server.agent.tools.stage import StagedTool
from server.assembly import Choices, Server, start_server
from server.settings import load_settings
from server.wire.limits import WireLimits
from state.clock import Clock, SystemClock
from state.home import Home
from tests.support.wire import Wire

ONE_TRY = ModelLimits(retry=RetryLimits(attempts_max=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A running server and the ways to attach to it."""

    server: Server
    wire: Wire
    home: Home


def provider_config(base_url: str) -> str:
    """A configuration that points to a scripted model."""
    return f"""
        model = "mock-model"
        model_provider = "mock"
        [model_providers.mock]
        base_url = {json.dumps(base_url)}
        """


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    config: str = "",
    clock: Clock | None = None,
    learning: bool = False,
    steps: Steps = no_steps,
    wire_limits: WireLimits = WireLimits(),
    tools: Sequence[StagedTool] = (),
) -> AsyncIterator[Serving]:
    """The server of `folder/home`, stopped at the end."""
    home = Home(folder / "home")
    home.root.mkdir(exist_ok=True)
    if config:
        home.config.write_text(config, "utf-8")
    server = await start_server(
        load_settings(home),
        Choices(
            clock=clock or SystemClock(),
            steps=steps,
            learning=learning,
            wire=wire_limits,
            model=ONE_TRY,
            tools=tuple(tools),
        ),
    )
    wire = Wire(server.connect, folder, limits=wire_limits, clock=clock or SystemClock())
    try:
        yield Serving(server=server, wire=wire, home=home)
    finally:
        await wire.stop()
        await server.stop(drain_s=1)
