"""A model behind the Responses API that answers at once, in a process of its own.

`python instant_model.py [--latency-ms N]` prints its port. A request whose input holds `deltas:N`
is answered in N deltas at once, one that holds `paced:N` in N deltas a millisecond apart, any other
in a few. A request with an output schema counts as an
extraction: it is answered after the latency, and `GET /extractions` tells when each came and went.
Answers are made once, so that the figures are those of the servers under measurement; only the
tokens of the input are told of each request, four bytes to one.
"""

import argparse
import asyncio
import json
import re
import time
from functools import lru_cache

_WORDS = "The answer comes in a few words, as a model would give it, and then it ends. "
_ASKED = re.compile(rb"deltas:(\d+)")
_PACED = re.compile(rb"paced:(\d+)")
_PACE_S = 0.001
_INPUT_TOKENS, _TOTAL_TOKENS = b'"input_tokens": -1', b'"total_tokens": -1'
"""Where an answer tells them."""
_BYTES_PER_TOKEN = 4
_EXTRACTION = json.dumps(
    {
        "raw_memory": "---\ntask: make the change\n---\n- preference: small commits\n",
        "rollout_summary": "The user asked for a change and prefers small commits.",
        "rollout_slug": "small-change",
    }
)


def _event(value: dict[str, object]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


@lru_cache(maxsize=16)
def answer(deltas: int, text: str | None = None) -> bytes:
    """A whole response as server-sent events, but for the tokens of its request."""
    pieces = [_WORDS[at % 60 : at % 60 + 8] for at in range(0, deltas * 8, 8)]
    if text is not None:
        pieces = [text]
    whole = "".join(pieces)
    item = {"type": "message", "id": "msg_1", "role": "assistant", "phase": "final_answer"}
    content = [{"type": "output_text", "text": whole, "annotations": []}]
    done = {**item, "status": "completed", "content": content}
    usage = {
        "input_tokens": -1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": len(whole) // _BYTES_PER_TOKEN,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": -1,
    }
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": response},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        *(
            {
                "type": "response.output_text.delta",
                "item_id": "msg_1",
                "output_index": 0,
                "content_index": 0,
                "delta": piece,
            }
            for piece in pieces
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [done], "usage": usage},
        },
    ]
    return b"".join(_event(one) for one in events)


def answer_to(request: bytes, deltas: int, text: str | None = None) -> bytes:
    """The same, as an answer to that request."""
    tokens = len(request) // _BYTES_PER_TOKEN
    told = answer(deltas, text)
    told = told.replace(_INPUT_TOKENS, b'"input_tokens": %d' % tokens)
    return told.replace(_TOTAL_TOKENS, b'"total_tokens": %d' % tokens)


class InstantModel(asyncio.Protocol):
    """One connection; requests of it one after the other."""

    latency_s = 0.0
    extractions: list[tuple[float, float]]

    def __init__(self) -> None:
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None
        self._pacing: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request once it is whole."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[:end])
            length = re.search(rb"content-length:\s*(\d+)", head, re.IGNORECASE)
            size = int(length[1]) if length else 0
            if len(self._data) < end + 4 + size:
                return
            body = bytes(self._data[end + 4 : end + 4 + size])
            del self._data[: end + 4 + size]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            told = json.dumps(self.extractions if b"/extractions" in head else {"models": []})
            self._send(told.encode(), "application/json")
        elif b'"json_schema"' in body:
            came = time.perf_counter()
            asyncio.get_running_loop().call_later(self.latency_s, self._extracted, came, body)
        elif paced := _PACED.search(body):
            self._pacing = asyncio.ensure_future(self._send_paced(answer_to(body, int(paced[1]))))
        else:
            asked = _ASKED.findall(body)
            self._send(answer_to(body, int(asked[-1]) if asked else 10), "text/event-stream")

    def _extracted(self, came: float, body: bytes) -> None:
        self._send(answer_to(body, 1, _EXTRACTION), "text/event-stream")
        self.extractions.append((came, time.perf_counter()))

    async def _send_paced(self, body: bytes) -> None:
        """Each event alone, at its time; what is late is sent at once, so the pace is kept."""
        assert self._transport is not None
        kind = "content-type: text/event-stream"
        head = f"HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode())
        due = time.perf_counter()
        for event in body.split(b"\n\n")[:-1]:
            self._transport.write(event + b"\n\n")
            due += _PACE_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    def _send(self, body: bytes, kind: str) -> None:
        if self._transport is not None:
            head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)


async def _serve(latency_ms: float) -> None:
    InstantModel.latency_s = latency_ms / 1000
    InstantModel.extractions = []
    server = await asyncio.get_running_loop().create_server(InstantModel, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=0)
    asyncio.run(_serve(parser.parse_args().latency_ms))
