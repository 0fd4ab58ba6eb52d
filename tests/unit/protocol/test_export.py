"""The files of `schemas/` are made from the list, and are up to date."""

import json
from pathlib import Path

from protocol.export import differing, schemas, write_schemas
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


def test_the_page_names_everything_that_may_be_sent_or_told() -> None:
    """It is made of the list as well, so it cannot fall behind."""
    text = schemas()["METHODS.md"].decode()
    names = [method.name for method in CLIENT_METHODS]
    names += [told.name for told in NOTIFICATIONS]
    names += [question.name for question in SERVER_REQUESTS]
    assert [name for name in names if f"`{name}`" not in text] == []
