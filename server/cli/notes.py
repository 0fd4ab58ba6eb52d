"""`memoryd remember` and `memoryd correct`: a person tells memory something, and gets a receipt."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Iterator

from memory_read.inert import PAYLOAD_CHARS_MAX
from server.cli.attach import attached
from server.cli.client import Json
from server.cli.given import piped, worded
from server.cli.notices import aside
from server.cli.render import as_json, count, told
from server.errors import CommandFailed

TEXT_BYTES_MAX = 32_768


def run(arguments: Namespace) -> int:
    """Keep one note; the exit status."""
    text = _text(arguments)
    return asyncio.run(_run(arguments, text))


async def _run(arguments: Namespace, text: str) -> int:
    params: dict[str, object] = {"text": text, "version": arguments.memory_version}
    if arguments.command == "correct":
        params |= {"id": arguments.id, "base": arguments.base}
    async with attached(arguments) as client:
        receipt = await client.request(f"memory/{arguments.command}", params)
    told([as_json(receipt)] if arguments.json else _lines(receipt))
    for one in receipt["missing"]:
        aside(f"memoryd: warning: version {one['version']} does not have it: {one['reason']}")
    return 1 if receipt["missing"] else 0


def _lines(receipt: Json) -> Iterator[str]:
    """What a person should know: that it is kept, as what, and from when on."""
    done = "corrected" if receipt["corrects"] else "remembered"
    yield f"{done} as {receipt['noteId']}"
    if receipt["corrects"]:
        yield f"{receipt['corrects']} gives way to it"
    if receipt["masked"]:
        yield "a secret in it was masked"
    if receipt["withheld"]:
        yield (
            f"{count(receipt['withheld'], 'line')} of it no thread is told, as it looks like markup"
            f" or is {PAYLOAD_CHARS_MAX} characters and more without a blank: say it in words"
        )
    if receipt["inForce"] == "next thread":
        yield "in force for every thread that starts from now on; `memoryd consolidate` works it in"
    else:
        yield "kept, but memory is switched off: no thread is told of it until it is on again"


def _text(arguments: Namespace) -> str:
    """The words, from the command line or from standard input.

    Raises: CommandFailed.
    """
    words: list[str] = arguments.text
    if words and words != ["-"]:
        text = worded(words)
        if not text.strip():
            raise CommandFailed(
                "the note is empty: give TEXT, or `-` and text on standard input", status=2
            )
        return text
    if not words and sys.stdin.isatty():
        raise CommandFailed("nothing to keep: give TEXT, or text on standard input", status=2)
    text = piped(
        bytes_max=TEXT_BYTES_MAX,
        too_long=f"a note has at most {TEXT_BYTES_MAX} bytes; keep a shorter one",
    )
    if not text.strip():
        raise CommandFailed("nothing to keep: standard input is empty", status=2)
    return text
