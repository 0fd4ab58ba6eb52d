"""Memory text has one door with one gate, and who goes through it is tried as a read surface."""

import ast
from collections.abc import Iterator

from tests.support.read_surfaces import COMMAND, SURFACES
from tests.support.source import ROOT, modules

DOORS = {
    "LiveMemory",
    "MemorySearch",
    "MemorySnapshot",
    "exported",
    "memory_section",
    "memory_tools",
    "raw_summary",
}
HOMES_OF_DOORS = {
    "memory_read.export",
    "memory_read.instructions",
    "memory_read.search",
    "memory_read.snapshot",
    "memory_read.tools",
    "server.agent.memory",
}
TURNS = (
    "a first turn",
    "the next turn of a thread that was told",
    "a fork",
    "a resumed thread",
    "a compacted thread",
)
OPENED_BY = {
    "memory_read/export.py": ("memory/export",),
    "memory_read/instructions.py": (*TURNS, "thread/memory/read"),
    "memory_read/search.py": ("memory/search", "tool recall", "an offline answer"),
    "memory_read/tools.py": ("tool list", "tool read", "tool search"),
    "server/agent/memory.py": (*TURNS, "tool list", "tool read", "tool search"),
    "server/assembly.py": (*TURNS, "tool list", "tool read", "tool search", "tool recall"),
    "server/handlers/exchange.py": ("memory/export",),
    "server/handlers/memory.py": ("thread/memory/read",),
    "server/handlers/notes.py": ("memory/correct",),
    "server/handlers/overview.py": (),
    "server/searching.py": ("memory/search", "tool recall", "an offline answer"),
}
"""Who opens the door, and the surfaces by which that is tried; none where names alone are told."""
OF_NO_THREAD = {"server/evals/retrieval.py"}
"""What reads a memory that it made for itself."""
FOLDER_KNOWN_TO = {
    "memory_read/scanning.py": "units for ranking; a hit is read through the door",
    "memory_read/search_index.py": "stems and digests of units",
    "memory_read/semantic/filling.py": "vectors of units",
    "memory_read/snapshot.py": "the door",
    "server/cli/demo.py": "the summary of a home that was made for the demo",
    "server/cli/doctor.py": "whether it can be used",
    "server/cli/search.py": "whether a summary is there at all",
    "server/evals/retrieval.py": "a memory that it made for itself",
    "server/handlers/memory.py": "whether a summary of version 2 is there and valid",
    "server/handlers/notes.py": "the name of the folder",
    "server/handlers/overview.py": "names, sizes and faults",
    "server/machine.py": "what commands see, which is nothing while something is withheld",
    "server/handlers/waiting.py": "how many notes changed",
    "server/unused_memory.py": "how many files there are",
}
"""Who knows of the folder itself, and what it takes out of it."""


def _calls(path: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def _openings(path: str) -> Iterator[ast.Call]:
    """Calls of a door, and those that hand one on to be called in a thread."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in HOMES_OF_DOORS
        for alias in node.names
    }
    for call in _calls(path):
        named = {one.id for one in (call.func, *call.args[:1]) if isinstance(one, ast.Name)}
        if named & names & DOORS:
            yield call


def _gated(call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    names |= {one.attr for one in given if isinstance(one, ast.Attribute)}
    return not names.isdisjoint({"gate", "_gate", "OPEN"})


def _files() -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for room in ("memory_read", "memory_write", "server")
        for path in modules(room)
    ]


def test_each_who_reads_memory_is_tried_as_a_surface() -> None:
    """A new reader has to be named here, with what tries it."""
    found = {path for path in _files() for _ in _openings(path)}
    assert found - OF_NO_THREAD == OPENED_BY.keys()
    tried = {one for surfaces in OPENED_BY.values() for one in surfaces}
    assert tried | {COMMAND} == SURFACES.keys(), "a command reads files without the door"


def test_each_reader_goes_through_the_gate() -> None:
    """What was withdrawn is withheld there, until the files are without it."""
    past = [
        f"{path}:{call.lineno}"
        for path in _files()
        for call in _openings(path)
        if path not in OF_NO_THREAD and not _gated(call)
    ]
    assert past == []


def test_who_knows_of_the_folder_says_what_for() -> None:
    """Reading files of memory without the door gives no text to anybody."""
    found = {
        path
        for path in _files()
        if not path.startswith("memory_write/")
        for call in _calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "memories"
    }
    assert found == FOLDER_KNOWN_TO.keys()
