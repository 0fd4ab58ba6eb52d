"""A handshake of the WebSocket protocol with a server, and how it is refused."""

from collections.abc import Mapping

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from tests.support.wire import WireClient
from tests.support.wire_links import WebSocketLink


async def refusal(address: str, headers: Mapping[str, str]) -> Response | None:
    """What a client with those headers is answered; None if it is attached and can initialize."""
    try:
        async with connect(address, additional_headers=headers, proxy=None) as connection:
            client = WireClient(WebSocketLink(connection))
            await client.initialize()
            await client.close()
            return None
    except InvalidStatus as refused:
        return refused.response
