"""A write transaction waits for nobody but the database."""

import ast
from collections.abc import Iterator

from tests.support.source import modules, name_of

OPENERS = frozenset({"writing", "fenced", "finishing"})


def _bodies(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.AsyncWith):
            continue
        for item in node.items:
            call, name = item.context_expr, item.optional_vars
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr in OPENERS
                and isinstance(name, ast.Name)
            ):
                yield from ((name.id, statement) for statement in node.body)


def _foreign(text: str) -> list[int]:
    """The lines of a module on which a body of a transaction awaits something without it."""
    return [
        node.lineno
        for name, statement in _bodies(ast.parse(text))
        for node in ast.walk(statement)
        if isinstance(node, ast.Await)
        and not any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node.value))
    ]


def test_a_body_awaits_nothing_but_its_transaction() -> None:
    """Files, other connections and models would hold the one writer of the home."""
    faults = [
        f"{name_of(path)}:{line}"
        for path in modules()
        for line in _foreign(path.read_text("utf-8"))
    ]
    assert faults == []


def test_the_rule_sees_what_it_forbids() -> None:
    """Its own negative."""
    text = (
        "async def f(d):\n"
        "    async with d.writing() as tx:\n"
        "        await tx.run(1)\n"
        "        await to_thread(work)\n"
    )
    assert _foreign(text) == [4]
