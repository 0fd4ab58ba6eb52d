"""`initialize`: who the client is and what it wants."""

import sys

from protocol import methods
from protocol.errors import refused
from protocol.messages.handshake import (
    ConfigWarning,
    InitializeCapabilities,
    InitializeParams,
    InitializeResult,
    ServerInstance,
    ServerLimits,
)
from server.handlers.identity import ServerIdentity
from server.handlers.sizes import INPUT_CHARACTERS_MAX, PAGE_BYTES_MAX, ROWS_MAX
from server.in_force import SettingsInForce
from server.wire.dispatch import Call
from server.wire.hub import Hub
from server.wire.limits import WireLimits
from server.wire.peer import Introduction, Peer
from state.home import Home

CONFIG_WARNINGS_MAX = 20
_PRINTABLE = range(0x20, 0x7F)


class HandshakeHandlers:
    """Answers the first request of every connection, with what a server's front has alone."""

    def __init__(
        self,
        *,
        home: Home,
        identity: ServerIdentity,
        in_force: SettingsInForce,
        hub: Hub,
        wire: WireLimits,
    ) -> None:
        self._home = home
        self._identity = identity
        self._in_force = in_force
        self._hub = hub
        self._limits = ServerLimits(
            frame_bytes_max=wire.frame_bytes_max,
            reply_bytes_max=wire.outbox_bytes_max,
            page_bytes_max=PAGE_BYTES_MAX,
            page_rows_max=ROWS_MAX,
            requests_in_flight_max=wire.requests_in_flight_max,
            input_characters_max=INPUT_CHARACTERS_MAX,
        )

    async def initialize(self, call: Call, params: InitializeParams) -> InitializeResult:
        """Take the client in; notifications reach it from the reply on."""
        client = params.client_info
        if any(ord(character) not in _PRINTABLE for character in client.name):
            raise refused(
                f"Invalid clientInfo.name: '{client.name[:200]}'. "
                "Must be a valid HTTP header value."
            )
        wanted = params.capabilities or InitializeCapabilities()
        identity = self._identity
        identity.welcome(client.name)
        call.peer.introduce(
            Introduction(
                name=client.name,
                version=client.version,
                experimental=wanted.experimental_api,
                opted_out=frozenset(wanted.opt_out_notification_methods or ()),
            )
        )
        call.after_reply(lambda: self._tell_faults(call.peer))
        return InitializeResult(
            user_agent=identity.user_agent(client.name, client.version),
            codex_home=str(self._home.root),
            platform_family="windows" if sys.platform == "win32" else "unix",
            platform_os="macos" if sys.platform == "darwin" else sys.platform,
            memoryd=ServerInstance(
                version=identity.version,
                instance_id=identity.instance_id,
                started_at_ms=identity.started_at_ms,
                limits=self._limits,
            ),
        )

    def _tell_faults(self, peer: Peer) -> None:
        """What in the configuration does not do what its writer may expect, as in the original."""
        for one in self._in_force.settings.warnings[:CONFIG_WARNINGS_MAX]:
            start = {"line": one.line or 1, "column": 1}
            warning = ConfigWarning(
                summary=one.message,
                details=None,
                path=None if one.path is None else str(one.path),
                range=None if one.line is None else {"start": start, "end": start},
            )
            self._hub.tell(peer, methods.CONFIG_WARNING, warning, thread_id=None)
