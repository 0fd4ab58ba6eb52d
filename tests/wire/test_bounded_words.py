"""Names and paths in requests have bounds, so that no row of a list is too long for a client."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.handlers.sizes import FRAME_BYTES_MAX
from tests.support.homes import provider_config, serving
from tests.support.methods import error_of, said, started
from tests.support.responses_server import ResponsesServer

LONG = "x" * 100_000
UNUSABLE: list[dict[str, Any]] = [
    *({name: LONG} for name in ("cwd", "model", "modelProvider", "serviceTier", "permissions")),
    *({"config": {key: LONG}} for key in ("model", "model_provider", "model_reasoning_effort")),
    {"cwd": "a\0b"},
    *({"runtimeWorkspaceRoots": one} for one in (["src"], ["/a\0b"], ["/srv"] * 50_000, "/srv")),
    {"config": {"sandbox_mode": []}},
    {"permissions": ":none"},
]
OF_START: list[dict[str, Any]] = [
    *({name: LONG} for name in ("threadSource", "projectId", "serviceName")),
]
OF_TURN: list[dict[str, Any]] = [
    *({name: LONG} for name in ("model", "effort", "cwd", "permissions", "clientUserMessageId")),
    {"cwd": "a\0b"},
    {"runtimeWorkspaceRoots": ["src"]},
    {"sandboxPolicy": {"type": "workspaceWrite", "writableRoots": ["/tmp"] * 50_000}},
]


async def test_a_word_that_is_too_long_is_refused_wherever_it_is_given(tmp_path: Path) -> None:
    """It is refused by its name, and no list holds a row that no client could read."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("websocket") as client,
    ):
        thread = await started(client)
        await said(client, thread, "hello")
        asked: list[tuple[str, dict[str, Any]]] = [
            *(("thread/start", one) for one in (*UNUSABLE, *OF_START)),
            *(("thread/fork", {"threadId": thread, **one}) for one in UNUSABLE),
            *(
                ("thread/resume", {"threadId": thread, **one})
                for one in (*UNUSABLE, {"path": "a\0b"})
            ),
            *(("turn/start", {"threadId": thread, "input": [], **one}) for one in OF_TURN),
            *(
                ("thread/settings/update", {"threadId": thread, **one})
                for one in OF_TURN
                if not {"clientUserMessageId", "runtimeWorkspaceRoots"} & one.keys()
            ),
        ]
        for method, params in asked:
            error = await error_of(client, method, params)
            assert error["code"] in (-32600, -32602), (method, params.keys(), error)
            assert len(json.dumps(error)) < 1_000
        page = await client.request("thread/list", {"limit": 100})
        assert [row["id"] for row in page["data"]] == [thread]
        assert len(json.dumps(page)) < FRAME_BYTES_MAX
        assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("profile", "sandbox"),
    [
        (":read-only", "readOnly"),
        (":workspace", "workspaceWrite"),
        (":danger-full-access", "dangerFullAccess"),
    ],
)
async def test_a_listed_profile_holds_wherever_it_is_chosen(
    profile: str, sandbox: str, tmp_path: Path
) -> None:
    """At the start, with a turn, between turns and in a fork: what is asked for is never left."""
    async with (
        ResponsesServer() as model,
        serving(tmp_path, config=provider_config(model.base_url)) as home,
        home.wire.client("websocket") as client,
    ):

        async def shown(thread: str) -> str:
            resumed = await client.request(
                "thread/resume", {"threadId": thread, "excludeTurns": True}
            )
            return str(resumed["sandbox"]["type"])

        async def profile_told(thread: str) -> Any:
            await shown(thread)  # what came before its reply is here
            told = [one["params"] for one in client.notifications("thread/settings/updated")]
            assert told[-1]["threadId"] == thread
            return told[-1]["threadSettings"]["activePermissionProfile"]

        other = "danger-full-access" if sandbox == "readOnly" else "read-only"
        listed = await client.request("permissionProfile/list", {})
        assert profile in [one["id"] for one in listed["data"]]
        begun = await client.request("thread/start", {"permissions": profile})
        assert begun["sandbox"]["type"] == sandbox
        active = {"id": profile, "extends": None}
        assert begun["activePermissionProfile"] == active
        thread = await started(client, sandbox=other)
        await said(client, thread, "hello")
        assert await shown(thread) != sandbox
        fork = await client.request("thread/fork", {"threadId": thread, "permissions": profile})
        assert fork["sandbox"]["type"] == sandbox
        assert fork["activePermissionProfile"] == active
        await said(client, thread, "hello", permissions=profile)
        assert await shown(thread) == sandbox
        again = await started(client, sandbox=other)
        await said(client, again, "hello")
        await client.request("thread/settings/update", {"threadId": again, "permissions": profile})
        assert await shown(again) == sandbox
        assert await profile_told(again) == active
        wider = {"type": "workspaceWrite", "networkAccess": True}
        await client.request("thread/settings/update", {"threadId": again, "sandboxPolicy": wider})
        assert await shown(again) == "workspaceWrite"
        assert await profile_told(again) is None
        error = await error_of(client, "thread/start", {"permissions": profile, "sandbox": other})
        assert error["message"] == "`permissions` cannot be combined with `sandbox`"


async def test_what_is_listed_by_folder_is_never_longer_than_a_client_can_read(
    tmp_path: Path,
) -> None:
    """Folders that would not fit are refused together; as many short ones as may be are told."""
    long = [f"/{number}/{'x' * 4_000}" for number in range(100)]
    short = [f"/home/somebody/projects/{number}" for number in range(100)]
    async with serving(tmp_path) as home, home.wire.client("websocket") as client:
        for method in ("skills/list", "hooks/list"):
            error = await error_of(client, method, {"cwds": long})
            assert error["code"] == -32600 and "fewer folders" in error["message"]
            told = await client.request(method, {"cwds": short})
            assert [row["cwd"] for row in told["data"]] == short


def _config(**words: str) -> str:
    return "".join(f"{key} = {json.dumps(text)}\n" for key, text in words.items())


async def test_a_long_configuration_is_told_with_its_long_texts_cut(tmp_path: Path) -> None:
    """With and without layers; what is short stands there as it is."""
    config = _config(model="mine", instructions=LONG, developer_instructions=LONG)
    async with serving(tmp_path, config=config) as home, home.wire.client("websocket") as client:
        for layers in (False, True):
            read = await client.request("config/read", {"includeLayers": layers})
            assert len(json.dumps(read)) < FRAME_BYTES_MAX
            assert read["config"]["model"] == "mine"
            assert "chars truncated" in read["config"]["instructions"]
            assert "instructions" in read["origins"]


async def test_a_configuration_of_many_keys_is_told_without_origins_or_refused(
    tmp_path: Path,
) -> None:
    """The refusal names the file, and the server goes on under what it says."""
    many = "\n".join(f'[projects."/p/{n}"]\ntrust_level = "trusted"' for n in range(400))
    async with serving(tmp_path, config=many) as home, home.wire.client("websocket") as client:
        read = await client.request("config/read", {})
        assert len(read["config"]["projects"]) == 400 and read["origins"] == {}
        assert len(json.dumps(read)) < FRAME_BYTES_MAX
    (tmp_path / "more").mkdir()
    most = "\n".join(f'[projects."/p/{n}"]\ntrust_level = "trusted"' for n in range(3_000))
    async with (
        serving(tmp_path / "more", config=most) as home,
        home.wire.client("websocket") as client,
    ):
        error = await error_of(client, "config/read", {})
        assert error["code"] == -32600 and str(home.home.config) in error["message"]
        assert await started(client)
