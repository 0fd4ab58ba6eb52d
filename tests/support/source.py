"""The product's own source, as the house tests read it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("protocol", "state", "memory_read", "memory_write", "server")


def modules(*folders: str) -> Iterator[Path]:
    """Every Python file of these folders (default: the five rooms), in order."""
    for folder in folders or ROOMS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Each module that a file imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
