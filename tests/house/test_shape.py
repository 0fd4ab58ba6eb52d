"""Sizes, module docstrings and room READMEs: the habits that keep the house readable."""

import ast
from pathlib import Path

import pytest

from tests.support.source import ROOMS, ROOT, modules, name_of

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
REASON = "Longer than the habit:"  # stands in the docstring of a file or function that is


def _docstring(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _all() -> list[Path]:
    return [*modules(), *modules("tests")]


def test_files_and_functions_keep_to_their_size_or_say_why_not() -> None:
    """A long one states its reason in its docstring."""
    long = []
    for path in _all():
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        lines = text.count("\n")
        if lines > FILE_LINES_MAX and REASON not in _docstring(tree):
            long.append(f"{name_of(path)}: {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > FUNCTION_LINES_MAX and REASON not in _docstring(node):
                    long.append(f"{name_of(path)}.{node.name}: {length} lines")
    assert long == []


def test_no_module_is_empty_and_none_is_named_after_nothing() -> None:
    """`__init__` holds its docstring only; a file without a name for its job has no place."""
    faults = []
    for path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        if path.stem in {"utils", "helpers", "common", "manager", "misc"}:
            faults.append(f"{name_of(path)}: a name that says nothing")
        if path.stem == "__init__" and len(tree.body) != 1:
            faults.append(f"{name_of(path)}: more than a docstring")
        if path.stem != "__init__" and len(tree.body) < 2:
            faults.append(f"{name_of(path)}: empty")
    assert faults == []


@pytest.mark.parametrize("room", ROOMS)
def test_the_readme_of_a_room_names_each_of_its_modules(room: str) -> None:
    """A newcomer finds every file from the room's own page."""
    pages = "".join(page.read_text("utf-8") for page in sorted((ROOT / room).rglob("README.md")))
    missing = [
        str(path.relative_to(ROOT))
        for path in modules(room)
        if path.stem != "__init__" and f"{path.stem}" not in pages
    ]
    assert missing == []


def test_the_top_level_holds_only_what_was_agreed() -> None:
    """The folders are fixed by the product's owner."""
    import subprocess

    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    visible = {name for name in top if not name.startswith(".")}
    agreed = {*ROOMS, "schemas", "tests", "docker", "README.md", "pyproject.toml"}
    assert visible <= {*agreed, "LICENSE", "constraints.txt"}
