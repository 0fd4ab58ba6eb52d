"""Changes of the configuration by clients: always whole, seen at once, refused with a reason."""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest

from server.assembly import Choices, start_server
from server.settings import load_settings
from state.home import Home
from tests.support.homes import serving
from tests.support.methods import error_of, said, started
from tests.support.wire import KINDS, Kind, WireClient

WRITTEN = """\
# my own notes
model = "mine"   # chosen with care

[memories]
use_memories = true
"""


async def _written(client: WireClient, key: str, value: Any, **params: Any) -> dict[str, Any]:
    edit = {"keyPath": key, "value": value, "mergeStrategy": "replace"}
    result: dict[str, Any] = await client.request("config/value/write", {**edit, **params})
    return result


@pytest.mark.parametrize("kind", KINDS)
async def test_the_switches_of_memory_take_effect_for_the_next_thread(
    kind: Kind, tmp_path: Path
) -> None:
    """As the pop-up of a terminal client writes them; what a person wrote stays as it is."""
    async with serving(tmp_path, config=WRITTEN) as home, home.wire.client(kind) as client:
        await started(client)
        keys = {"memories.use_memories": False, "memories.generate_memories": False}
        edits = [
            {"keyPath": key, "value": value, "mergeStrategy": "replace"}
            for key, value in keys.items()
        ]
        result = await client.request(
            "config/batchWrite", {"edits": edits, "reloadUserConfig": True}
        )
        assert (result["status"], result["overriddenMetadata"]) == ("ok", None)
        assert result["filePath"] == str(home.home.config)
        text = home.home.config.read_text()
        assert text.startswith('# my own notes\nmodel = "mine"   # chosen with care\n')
        assert tomllib.loads(text)["memories"] == {
            "use_memories": False,
            "generate_memories": False,
        }
        read = await client.request("config/read", {"includeLayers": True})
        assert read["config"]["memories"]["use_memories"] is False
        assert read["layers"][0]["version"] == result["version"]
        thread = await started(client)
        await said(client, thread, "hello")
        memory = await client.request("thread/memory/read", {"threadId": thread})
        assert memory == {"summary": None}
        state = home.server.services.state
        async with state.database.reading() as reading:
            row = await state.threads.get(reading, thread)  # type: ignore[arg-type]  # an id as text
        assert row is not None and row.memory_mode == "disabled"


async def test_the_feature_can_be_switched_off_and_on_again(tmp_path: Path) -> None:
    """Also by its old name, as clients write it; learning follows at once."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        for key in ("features.memories", "features.memory_tool"):
            await client.request(
                "config/batchWrite",
                {"edits": [{"keyPath": key, "value": False, "mergeStrategy": "upsert"}]},
            )
            report = await client.request("memory/overview", {})
            assert report["enabled"] is False
            await _written(client, key, None)
            report = await client.request("memory/overview", {})
            assert report["enabled"] is True
        assert home.home.config.read_text().strip() in ("", "[features]")


async def test_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    """All edits or none; each refusal says why."""
    async with serving(tmp_path, config=WRITTEN) as home, home.wire.client("pair") as client:
        for edit, code, sentence in (
            (("memories.use_memories", "often"), "configValidationError", "memories.use_memories"),
            (("model.inner", 1), "configValidationError", "`model` is a value"),
            (("", 1), "configValidationError", "no key path"),
            (("a..b", 1), "configValidationError", "no key path"),
            (("tui.x", [None]), "configValidationError", "TOML has no value for null"),
        ):
            good = {"keyPath": "model", "value": "other", "mergeStrategy": "replace"}
            bad = {"keyPath": edit[0], "value": edit[1], "mergeStrategy": "replace"}
            error = await error_of(client, "config/batchWrite", {"edits": [good, bad]})
            assert error["data"]["config_write_error_code"] == code
            assert sentence in error["message"]
            assert "ignored" not in error["message"]  # it was refused, nothing was taken
        stale = {"keyPath": "model", "value": "x", "mergeStrategy": "replace"}
        error = await error_of(
            client, "config/value/write", {**stale, "expectedVersion": "sha256:old"}
        )
        assert error["data"]["config_write_error_code"] == "configVersionConflict"
        error = await error_of(client, "config/value/write", {**stale, "filePath": "/etc/passwd"})
        assert error["data"]["config_write_error_code"] == "configLayerReadonly"
        assert home.home.config.read_text() == WRITTEN
        home.home.config.write_text("model = ", "utf-8")
        error = await error_of(client, "config/value/write", stale)
        assert "not valid TOML" in error["message"]
        assert home.home.config.read_text() == "model = "


async def test_a_key_of_the_command_line_stands_above_and_the_reply_says_so(
    tmp_path: Path,
) -> None:
    """The file has the value; what counts is told."""
    home = Home(tmp_path / "home")
    home.root.mkdir()
    server = await start_server(load_settings(home, ["model=above"]), Choices(learning=False))
    link = server.attach()
    from tests.support.wire_links import PairLink

    client = WireClient(PairLink(link))
    await client.initialize()
    result = await _written(client, "model", "below")
    assert result["status"] == "okOverridden"
    assert result["overriddenMetadata"]["effectiveValue"] == "above"
    assert tomllib.loads(home.config.read_text())["model"] == "below"
    await client.close()
    await server.stop(0)


@pytest.mark.requirement("FR-S10")
async def test_ten_clients_with_fifty_changes_each_leave_a_whole_file_and_few_copies(
    tmp_path: Path,
) -> None:
    """At every moment it parses; nobody's change is lost; a person's text is kept in a copy."""
    async with serving(tmp_path, config=WRITTEN) as home:

        async def write(number: int) -> None:
            async with home.wire.client("pair") as client:
                for count in range(50):
                    await _written(client, f"tui.of_{number}.key_{count}", count)
                    # While the nine others write.
                    tomllib.loads(await asyncio.to_thread(home.home.config.read_text, "utf-8"))
                    if count == 25 and number == 0:
                        # Somebody with an editor, in between.
                        config = home.home.config
                        text = config.read_text("utf-8")
                        replaced = config.with_name("by-hand")
                        replaced.write_text(f"# by hand\n{text}", "utf-8")
                        replaced.replace(config)

        await asyncio.gather(*(write(number) for number in range(10)))
        text = home.home.config.read_text("utf-8")
        written = tomllib.loads(text)["tui"]
        assert {name: len(keys) for name, keys in written.items()} == {
            f"of_{number}": 50 for number in range(10)
        }
        assert "# my own notes" in text
        copies = sorted(home.home.root.glob("config.toml.bak-*"))
        assert 1 <= len(copies) <= 3
        assert copies[0].read_text("utf-8") == WRITTEN
        assert {one.stat().st_mode & 0o777 for one in (*copies, home.home.config)} == {0o600}


async def test_copies_of_hand_written_texts_are_never_more_than_three(tmp_path: Path) -> None:
    """However often a person and a client take turns."""
    async with serving(tmp_path, config=WRITTEN) as home, home.wire.client("pair") as client:
        for number in range(6):
            home.home.config.write_text(f"# edition {number}\n", "utf-8")
            await _written(client, "model", f"m{number}")
        copies = sorted(home.home.root.glob("config.toml.bak-*"))
        assert len(copies) == 3
        assert copies[-1].read_text("utf-8") == "# edition 5\n"


SECRETS = [
    *(f"ghp_{number}{'a1B2' * 9}" for number in range(4)),
    "opaque-one",
    "opaque-two",
    "opaque-three",
    "opaque-four",
    "hunter2secret",
]
WITH_SECRETS = f"""
[mcp_servers.tracker]
command = "tracker"
args = ["--token", "{SECRETS[0]}", "postgres://u:{SECRETS[8]}@db/x"]
env = {{ GITHUB_PAT = "{SECRETS[1]}", PLAIN = "{SECRETS[4]}" }}
bearer_token_env_var = "TRACKER_TOKEN"
env_http_headers = {{ X-Key = "NAME_OF_KEY" }}
http_headers = {{ X-Custom = "{SECRETS[5]}" }}
[model_providers.other]
base_url = "https://models.example/{SECRETS[2]}"
env_key = "OTHER_API_KEY"
query_params = {{ sig = "{SECRETS[6]}" }}
experimental_bearer_token = "{SECRETS[7]}"
[[hooks.each]]
password = "{SECRETS[3]}"
"""


async def test_no_secret_of_the_file_is_read_out(tmp_path: Path) -> None:
    """Whatever its key and however deep; names of variables and what is plain stay."""
    async with serving(tmp_path, config=WITH_SECRETS) as home, home.wire.client("pair") as client:
        read = await client.request("config/read", {"includeLayers": True})
        text = str(read)
        assert [secret for secret in SECRETS if secret in text] == []
        for plain in ("TRACKER_TOKEN", "NAME_OF_KEY", "OTHER_API_KEY", "--token", "GITHUB_PAT"):
            assert plain in text, plain


async def test_a_value_that_would_not_fit_into_any_reply_is_refused(tmp_path: Path) -> None:
    """Every client reads the whole configuration when it starts."""
    async with serving(tmp_path) as home, home.wire.client("pair") as client:
        before = await client.request("config/read", {})
        for value in ("x" * 100_000, ["x"] * 10_000, {"a": "x" * 20_000}):
            edit = {"keyPath": "instructions", "value": value, "mergeStrategy": "replace"}
            for method, params in (
                ("config/value/write", edit),
                ("config/batchWrite", {"edits": [edit]}),
            ):
                error = await error_of(client, method, params)
                assert error["data"]["config_write_error_code"] == "configValidationError"
        assert await client.request("config/read", {}) == before
