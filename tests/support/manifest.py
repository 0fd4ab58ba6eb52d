"""The requirements of `tests/manifest.toml`, and which of them the tests name."""

import ast
import tomllib
from dataclasses import dataclass

from tests.support.source import ROOT, modules


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the product must do; `deferred` and `partial` say what no test holds yet."""

    must: str
    deferred: str | None = None
    partial: str | None = None


def requirements() -> dict[str, Requirement]:
    """Every requirement by its id."""
    text = (ROOT / "tests" / "manifest.toml").read_text("utf-8")
    return {key: Requirement(**value) for key, value in tomllib.loads(text).items()}


def named_in_tests() -> dict[str, list[str]]:
    """The ids that tests name, each with the files that do."""
    found: dict[str, list[str]] = {}
    for path in modules("tests"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "requirement"
            ):
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        where = str(path.relative_to(ROOT))
                        found.setdefault(str(argument.value), []).append(where)
    return found
