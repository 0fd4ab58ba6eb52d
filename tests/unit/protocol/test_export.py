"""The files of `schemas/` are made from the list, and are up to date."""

import json
from pathlib import Path

import pytest

from protocol import errors
from protocol.export import differing, schemas, write_schemas
from protocol.jsonrpc import Malformed, parse_frame
from protocol.methods import CLIENT_METHODS, NOTIFICATIONS
from protocol.server_requests import SERVER_REQUESTS

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


def test_the_committed_schemas_are_those_of_the_list() -> None:
    """Run `memoryd schema write` and tell clients in schemas/CHANGELOG.md."""
    assert differing(SCHEMAS) == []


def test_writing_twice_writes_once(tmp_path: Path) -> None:
    """The same list gives the same bytes."""
    assert write_schemas(tmp_path) == sorted(schemas())
    assert write_schemas(tmp_path) == []
    assert differing(tmp_path) == []


def test_every_method_and_notification_is_exported_with_its_parts() -> None:
    """References lead to definitions in the same file."""
    files = {
        name: json.loads(content) for name, content in schemas().items() if name.endswith(".json")
    }
    assert list(files["client_requests.json"]["methods"]) == sorted(
        method.name for method in CLIENT_METHODS
    )
    assert len(files["server_notifications.json"]["methods"]) == len(NOTIFICATIONS)
    assert len(files["server_requests.json"]["methods"]) == len(SERVER_REQUESTS)
    for file in files.values():
        text = json.dumps(file)
        for name in file["definitions"]:
            assert f"#/definitions/{name}" in text
        for entry in file["methods"].values():
            reference = entry["params"]["$ref"].removeprefix("#/definitions/")
            assert reference in file["definitions"]


@pytest.mark.requirement("FR-T14")
def test_the_page_tells_the_rule_on_batches_and_every_code() -> None:
    """As the server keeps it: the words and the code are those of its answer."""
    page = schemas()["METHODS.md"].decode()
    [rule] = [line for line in page.split("\n- ") if line.startswith("**No batches.**")]
    rule = " ".join(rule.split())
    for batch in ("[]", '[{"id":1,"method":"initialize"}]', '[{"method":"initialized"}]'):
        answer = parse_frame(batch)
        assert isinstance(answer, Malformed) and answer.id is None
        assert f"one error {answer.error.code} with `id` null" in rule
        assert f'"{answer.error.message}"' in rule
    codes = {value for name, value in vars(errors).items() if name.isupper()}
    assert [code for code in codes if f"| {code} |" not in page] == []


def test_the_page_names_everything_that_may_be_sent_or_told() -> None:
    """It is made of the list as well, so it cannot fall behind."""
    text = schemas()["METHODS.md"].decode()
    names = [method.name for method in CLIENT_METHODS]
    names += [told.name for told in NOTIFICATIONS]
    names += [question.name for question in SERVER_REQUESTS]
    assert [name for name in names if f"`{name}`" not in text] == []
