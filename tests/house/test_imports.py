"""Imports point down, there are no circles, and each dependency has its one owner."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

from tests.support.source import ROOMS, ROOT, imports, modules, name_of

# Which modules may import a dependency; a trailing `.` stands for everything below a package.
OWNERS = {
    "aiosqlite": ("state.database", "state.visits"),
    # A broken file is looked at without the driver that would open it for writing.
    "sqlite3": (
        "state.database",
        "state.visits",
        "state.database_faults",
        "state.soundness",
        # Where a statement ends is asked of SQLite itself.
        "state.named_queries",
    ),
    # Our own repositories are written, those of others only read.
    "dulwich": ("state.workspace.repo", "state.workspace.foreign_git"),
    "jsonrpcserver": ("server.wire.dispatch",),
    "oslash": ("server.wire.dispatch",),
    "starlette": ("server.wire.http",),
    "uvicorn": ("server.wire.http",),
    "websockets": ("server.cli.client",),
    "openai": ("server.agent.models.openai_client",),
    "httpx2": ("server.agent.models.openai_client", "server.agent.mcp.connection"),
    "mcp": ("server.agent.mcp.connection",),
    "mcp_types": ("server.agent.mcp.connection",),
    "tenacity": ("server.agent.models.retry",),
    "tomlkit": ("server.config_edit",),
    "tomllib": ("server.config_file",),
    "tqdm": ("server.cli.",),
    "numpy": ("memory_read.semantic.vectors",),
    "onnxruntime": ("memory_read.semantic.minilm",),
    "tokenizers": ("memory_read.semantic.minilm",),
    "zstandard": ("state.rollouts.",),
    "uvloop": ("server.cli.",),
    "pydantic": (
        "protocol.",
        "server.config_file",
        "server.config_sections",
        "state.rollouts.items",
        "memory_write.phase1.output",
        "server.handlers.failures",
        "server.wire.dispatch",
    ),
    "subprocess": ("server.agent.tools.", "server.cli.", "memory_write.apart"),
}


def _may(module: str, owners: tuple[str, ...]) -> bool:
    return any(module == o or (o.endswith(".") and module.startswith(o)) for o in owners)


def test_each_dependency_is_imported_by_its_owner_only() -> None:
    """So that a library can be swapped, or its pitfalls handled, in one file."""
    strangers = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in modules()
        for imported, line in imports(path)
        if (owners := OWNERS.get(imported.split(".")[0])) and not _may(name_of(path), owners)
    ]
    assert strangers == []


def test_the_environment_is_read_in_one_place() -> None:
    """Settings hand values down; nobody else looks at the environment."""
    readers = {
        name_of(path)
        for path in modules()
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text("utf-8"))
    }
    assert readers <= {"server.environment", "server._launch"}


def test_the_wall_clock_is_read_in_one_place() -> None:
    """Everything else asks the clock port, so that tests can move time."""
    clock = re.compile(r"\btime\.time(_ns)?\(|datetime\.now\(|datetime\.utcnow\(|date\.today\(")
    readers = {name_of(path) for path in modules() if clock.search(path.read_text("utf-8"))}
    assert readers <= {"state.clock"}


def test_rooms_and_layers_keep_their_contracts() -> None:
    """The tables of import rules in pyproject.toml hold."""
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_circle_of_files() -> None:
    """Also not one that an import inside a function or under TYPE_CHECKING would hide."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    circles = [
        f"{upper} <-> {lower}"
        for upper in sorted(graph.modules)
        for lower in graph.find_modules_directly_imported_by(upper)
        if graph.chain_exists(importer=lower, imported=upper)
    ]
    assert circles == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_other_distribution_ships_a_package_of_our_names(room: str) -> None:
    """Plain package names are safe only while we are alone with them."""
    assert set(packages_distributions().get(room, [])) <= {"memoryd"}
