"""How a file of SQL is cut into its statements."""

from state.named_queries import parse_named_queries


def test_a_shared_condition_stands_where_its_name_does() -> None:
    """Only on a line of its own, and only if the file has that name."""
    text = "-- name: due\nand a = 1\n-- name: one\nselect 1\n    $due\norder by $due, $other;\n"
    assert parse_named_queries(text)["one"] == "select 1\nand a = 1\norder by $due, $other;"
