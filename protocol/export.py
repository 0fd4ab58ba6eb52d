"""From the one list to the files of `schemas/`: JSON Schema and a page, always the same bytes.

Clients generate code from these files, so a change of the wire shows as a change of a file.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from protocol.methods import CLIENT_METHODS, NOTIFICATIONS
from protocol.reference import page
from protocol.server_requests import SERVER_REQUESTS

CLIENT_REQUESTS_FILE = "client_requests.json"
NOTIFICATIONS_FILE = "server_notifications.json"
SERVER_REQUESTS_FILE = "server_requests.json"
REFERENCE_FILE = "METHODS.md"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE

Mode = Literal["validation", "serialization"]
Entry = tuple[str, dict[str, tuple[type[BaseModel], Mode]], dict[str, Any]]


def schemas() -> dict[str, bytes]:
    """The files of `schemas/` by name."""
    return {
        REFERENCE_FILE: page().encode(),
        CLIENT_REQUESTS_FILE: _file(
            "Requests of clients and their results",
            [
                (
                    method.name,
                    {
                        "params": (method.params, "validation"),
                        "result": (method.result, "serialization"),
                    },
                    {
                        "summary": method.summary,
                        "experimental": method.experimental,
                        "experimentalFields": list(method.experimental_fields),
                        "paramsOptional": method.params_optional,
                    },
                )
                for method in CLIENT_METHODS
            ],
        ),
        NOTIFICATIONS_FILE: _file(
            "Notifications of the server",
            [
                (
                    notification.name,
                    {"params": (notification.params, "serialization")},
                    {
                        "experimental": notification.experimental,
                        "lossless": notification.lossless,
                        "scope": notification.scope,
                    },
                )
                for notification in NOTIFICATIONS
            ],
        ),
        SERVER_REQUESTS_FILE: _file(
            "Requests of the server and the answers it expects",
            [
                (
                    request.name,
                    {
                        "params": (request.params, "serialization"),
                        "result": (request.answer, "validation"),
                    },
                    {
                        "summary": request.summary,
                        "deadlineS": request.deadline_s,
                        "default": dict(request.default),
                    },
                )
                for request in SERVER_REQUESTS
            ],
        ),
    }


def write_schemas(folder: Path) -> list[str]:
    """Write the files that differ; their names.

    Raises: OSError.
    """
    changed = differing(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in schemas().items():
        if name in changed:
            (folder / name).write_bytes(content)
    return changed


def differing(folder: Path) -> list[str]:
    """Names of the files that are missing or not as the list says.

    Raises: OSError.
    """
    return [
        name
        for name, content in schemas().items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    ]


def _file(title: str, entries: Iterable[Entry]) -> bytes:
    entries = list(entries)
    wanted: dict[tuple[type[BaseModel], Mode], None] = {}
    for _, models, _ in entries:
        wanted |= dict.fromkeys(models.values())
    references, definitions = models_json_schema(
        list(wanted), by_alias=True, ref_template="#/definitions/{model}"
    )
    body = {
        "$schema": _DIALECT,
        "title": title,
        "methods": {name: _entry(models, facts, references) for name, models, facts in entries},
        "definitions": definitions.get("$defs", {}),
    }
    return orjson.dumps(body, option=_OPTIONS)


def _entry(
    models: Mapping[str, tuple[type[BaseModel], Mode]],
    facts: Mapping[str, Any],
    references: Mapping[Any, Mapping[str, Any]],
) -> dict[str, Any]:
    return {**facts, **{role: references[model] for role, model in models.items()}}
