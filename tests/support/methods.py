"""Short ways to use a server's methods in tests."""

from typing import Any

from tests.support.wire import WireClient


async def started(client: WireClient, **params: Any) -> str:
    """A new thread; its id."""
    result = await client.request("thread/start", {"cwd": "/home/user/project", **params})
    return str(result["thread"]["id"])


async def said(client: WireClient, thread_id: str, text: str, **params: Any) -> dict[str, Any]:
    """One whole turn; its end."""
    words = [{"type": "text", "text": text}]
    await client.request("turn/start", {"threadId": thread_id, "input": words, **params})
    return dict((await client.notification("turn/completed"))["turn"])


async def error_of(client: WireClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The error of a request that must fail."""
    reply = await client.reply(method, params)
    assert "error" in reply, reply
    return dict(reply["error"])
