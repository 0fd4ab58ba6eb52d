"""`memoryd eval`: the committed evals, run on this machine without a home, a server or a model."""

import asyncio
from argparse import Namespace
from functools import partial

from memory_read.semantic.minilm import MiniLm, missing_modules
from server.cli.attach import absolute
from server.cli.notices import aside
from server.cli.render import as_json, told
from server.errors import CommandFailed
from server.release import adding


def run(arguments: Namespace) -> int:
    """Run an eval and print its figures; 1 when a measured part misses its target."""
    return asyncio.run(
        {"extraction": _extraction, "retrieval": _retrieval}[arguments.what](arguments)
    )


async def _extraction(arguments: Namespace) -> int:
    from server.evals.corpus import PARTS
    from server.evals.extraction import as_object, as_table, measured, reached
    from server.evals.scoring import figures

    parts = [part for part in PARTS if arguments.part in (None, part)]
    scores = {part: await measured(part, partial(_begun, part)) for part in parts}
    if arguments.json:
        told([as_json({"parts": [as_object(part, scores[part]) for part in parts]})])
    else:
        for number, part in enumerate(parts):
            told([*([""] if number else []), *as_table(part, scores[part])])
    return 0 if all(reached(figures("all", scores[part])) for part in parts) else 1


async def _retrieval(arguments: Namespace) -> int:
    from server.evals.conversations import beam, locomo, our_own
    from server.evals.retrieval import as_object, as_table, measured, reached

    chosen = {"locomo": (locomo, arguments.locomo), "beam": (beam, arguments.beam)}
    corpora = {
        name: await asyncio.to_thread(read, absolute(place))
        for name, (read, place) in chosen.items()
        if place is not None
    } or {"own": await asyncio.to_thread(our_own)}
    embedder = await asyncio.to_thread(_model) if arguments.semantic else None
    found = {
        name: await measured(conversations, partial(_begun, name), embedder)
        for name, conversations in corpora.items()
    }
    told([as_json(as_object(found))] if arguments.json else as_table(found))
    return 0 if reached(found) else 1


def _model() -> MiniLm:
    """Raises: CommandFailed."""
    missing = missing_modules()
    if missing:
        raise CommandFailed(f"--semantic needs {', '.join(missing)}: {adding('semantic')}")
    return MiniLm()


def _begun(corpus: str, what: str) -> None:
    aside(f"{corpus}: {what}")
