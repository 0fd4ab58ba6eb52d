"""Memory goes from one machine to another: other user name, other home, no path of the first."""

import json
import os
from pathlib import Path

import pytest

from state.home import Home
from tests.support.exchange import (
    SAID,
    SECRET,
    a_checkout,
    a_session,
    consolidated,
    files_of,
    learned,
)
from tests.support.homes import Serving, serving
from tests.support.methods import error_of

RESOURCES = "extensions/restored_memory/resources"
NOTES = "extensions/ad_hoc/notes"


class Machine:
    """A machine with its user and the home of memoryd below the user's."""

    def __init__(self, folder: Path, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.user_home = folder / "users" / user
        self.user_home.mkdir(parents=True)
        self._monkeypatch = monkeypatch

    def log_in(self) -> Path:
        """From now on this is the machine; where its memoryd is."""
        self._monkeypatch.setenv("HOME", str(self.user_home))
        return self.user_home


@pytest.fixture
def alice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "one", "Alice-Q7", monkeypatch)


@pytest.fixture
def bob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "two", "bob-x9", monkeypatch)


async def _exported(machine: Machine, target: Path, version: str = "v1") -> Serving:
    """Learn in a checkout and in a folder of no repository, keep notes, export."""
    user_home = machine.log_in()
    shop = a_checkout(user_home / "work" / "shop", "git@git.example.org:acme/shop.git")
    config = f'[memories]\nversion = "{version}"\n'
    async with serving(user_home, config=config) as home, home.wire.client("pair") as client:
        await client.request(
            "memory/remember", {"text": f"The lamp tool lies in {user_home}/tools/lamp."}
        )
        await learned(client, a_session(user_home / "sessions", shop / "api"))
        folder = home.home.memories(version)
        skill = folder / "skills" / "deploy" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"# Deploy\n\nfrom {shop}/api with {SECRET}, see {home.home.root}/x\n")
        await client.request("memory/remember", {"text": f"Deploys wait for Friday, {SECRET}."})
        result = await client.request("memory/export", {"folder": str(target)})
        assert (result["version"], result["leftOut"]) == (version, [])
        assert result["files"] == len(files_of(target)) - 1
    return home


@pytest.mark.requirement("FR-U8")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_an_export_is_plain_files_without_a_path_or_secret_of_the_machine(
    version: str, tmp_path: Path, alice: Machine
) -> None:
    target = tmp_path / "export"
    await _exported(alice, target, version)
    files = files_of(target)
    every = "\n".join([*files, *files.values()])
    for never in ("Alice-Q7", str(tmp_path), str(alice.user_home), SECRET, "users-alice"):
        assert never.lower() not in every.lower(), never
    assert ("MEMORY.md" in files) == (version == "v1") and "memory_summary.md" in files
    recap = next(text for path, text in files.items() if path.startswith("rollout_summaries/"))
    assert "cwd: git:git.example.org/acme/shop/api\n" in recap
    assert "rollout_path: $MEMORYD_HOME/sessions/" in recap
    assert "~/tools/lamp" in every and SAID.lower()[:10] in every.lower()
    skill = files["skills/deploy/SKILL.md"]
    assert "git:git.example.org/acme/shop/api with [REDACTED" in skill
    assert "$MEMORYD_HOME/x" in skill
    manifest = json.loads(files["manifest.json"])
    assert (manifest["tombstones"], manifest["memoryVersion"]) == ([], version)
    assert sorted(one["path"] for one in manifest["files"]) == sorted(
        files.keys() - {"manifest.json"}
    )
    assert [name for name in manifest["pendingNotes"] if "friday" in name]
    assert not any(path.lstat().st_mode & 0o077 for path in [target, *target.rglob("*")])


@pytest.mark.requirement("FR-U8")
async def test_two_exports_of_one_state_differ_in_the_line_of_the_time_alone(
    tmp_path: Path, alice: Machine
) -> None:
    await _exported(alice, tmp_path / "first")
    async with serving(alice.log_in()) as home, home.wire.client("pair") as client:
        await client.request("memory/export", {"folder": str(tmp_path / "second")})
    one, other = (files_of(tmp_path / name) for name in ("first", "second"))
    lines = [
        [line for line in files.pop("manifest.json").splitlines() if "createdAt" not in line]
        for files in (one, other)
    ]
    assert lines[0] == lines[1] and one == other


@pytest.mark.requirement("FR-U8")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_another_user_takes_it_in_once_also_after_a_consolidation(
    version: str, tmp_path: Path, alice: Machine, bob: Machine
) -> None:
    target = tmp_path / "export"
    await _exported(alice, target, version)
    config = f'[memories]\nversion = "{version}"\n'
    async with serving(bob.log_in(), config=config) as home, home.wire.client("pair") as client:
        live = home.home.memories(version)
        dry = await client.request("memory/restore", {"folder": str(target), "dryRun": True})
        assert (dry["dryRun"], dry["notes"], dry["version"]) == (True, 2, version)
        assert not live.exists()
        first = await client.request("memory/restore", {"folder": str(target)})
        assert {**first, "dryRun": True} == dry and first["awaitsConsolidation"]
        assert first["notes"] + first["imported"] == first["found"]
        assert len(list((live / NOTES).glob("*.md"))) == 2
        before = files_of(live / "extensions")
        again = await client.request("memory/restore", {"folder": str(target)})
        assert (again["notes"], again["imported"], again["updated"]) == (0, 0, 0)
        assert again["unchanged"] == again["found"] and not again["awaitsConsolidation"]
        await consolidated(client)
        if version == "v1":
            assert "source=restored_memory" in (live / "MEMORY.md").read_text()
        third = await client.request("memory/restore", {"folder": str(target)})
        assert third["unchanged"] == third["found"] and third["leftOut"] == []
        after = files_of(live / "extensions")
        assert {path: after[path] for path in before} == before


@pytest.mark.requirement("FR-U8")
async def test_of_a_changed_export_only_what_is_new_comes(
    tmp_path: Path, alice: Machine, bob: Machine
) -> None:
    await _exported(alice, tmp_path / "first")
    async with serving(alice.log_in()) as home, home.wire.client("pair") as client:
        await client.request("memory/remember", {"text": "The harbour lamp is green."})
        (home.home.memories("v1") / "skills" / "deploy" / "SKILL.md").unlink()
        await client.request("memory/export", {"folder": str(tmp_path / "second")})
        own = await client.request("memory/restore", {"folder": str(tmp_path / "second")})
        assert own["unchanged"] == own["found"], own
    async with serving(bob.log_in()) as home, home.wire.client("pair") as client:
        await client.request("memory/restore", {"folder": str(tmp_path / "first")})
        more = await client.request("memory/restore", {"folder": str(tmp_path / "second")})
        assert (more["notes"], more["imported"], more["updated"]) == (1, 0, 0)
        assert (more["removed"], more["unchanged"]) == (1, more["found"] - 1)


@pytest.mark.requirement("FR-U8")
async def test_what_was_forgotten_or_deleted_here_does_not_come_back(
    tmp_path: Path, alice: Machine, bob: Machine
) -> None:
    await _exported(alice, tmp_path / "export")
    async with serving(bob.log_in()) as home, home.wire.client("pair") as client:
        await client.request("memory/remember", {"text": "Forget that the lamp tool lies"})
        told = await client.request("memory/restore", {"folder": str(tmp_path / "export")})
        assert told["notes"] == 1
        assert ["lamp" in one["path"] for one in told["leftOut"]] == [True]
        held = files_of(home.home.memories("v1") / "extensions")
        assert not [path for path, text in held.items() if "~/tools/lamp" in text]
    async with serving(alice.log_in()) as home, home.wire.client("pair") as client:
        threads = (await client.request("thread/list", {}))["data"]
        await client.request("thread/delete", {"threadId": threads[0]["id"]})
        told = await client.request("memory/restore", {"folder": str(tmp_path / "export")})
        reasons = {one["path"]: one["reason"] for one in told["leftOut"]}
        assert "deleted or barred" in reasons["MEMORY.md"]
        assert any(path.startswith("rollout_summaries/") for path in reasons)
        assert SAID not in "".join(files_of(home.home.memories("v1") / "extensions").values())


async def test_folders_that_cannot_be_exported_to_are_refused(
    tmp_path: Path, alice: Machine
) -> None:
    async with serving(alice.log_in()) as home, home.wire.client("pair") as client:
        error = await error_of(client, "memory/export", {"folder": str(tmp_path / "new")})
        assert "there is no memory of version v1" in error["message"]
        await client.request("memory/remember", {"text": "The harbour lamp is green."})
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine.txt").write_text("mine")
        (tmp_path / "empty").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "empty")
        (tmp_path / "file").write_text("mine")
        for name, reason in (
            ("full", "not empty"),
            ("link", "a link"),
            ("file", "not a folder"),
            (str(home.home.root / "x"), "home of memoryd"),
        ):
            error = await error_of(client, "memory/export", {"folder": str(tmp_path / name)})
            assert reason in error["message"] and error["data"]["kind"] == "exportRefused"
        assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
        error = await error_of(client, "memory/export", {"folder": "relative"})
        assert "must be an absolute path" in error["message"]
        error = await error_of(client, "memory/restore", {"folder": "relative"})
        assert "must be an absolute path" in error["message"]
        error = await error_of(client, "memory/export", {"folder": "/x", "more": 1})
        assert error["code"] == -32602
        error = await error_of(
            client, "memory/export", {"folder": str(tmp_path / "new"), "version": "v9"}
        )
        assert "no memory version v9" in error["message"]
        empty = {"folder": str(tmp_path / "empty")}
        assert (await client.request("memory/export", empty))["files"] == 1
        assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
        assert Home(home.home.root).keys.joinpath("export_origin").lstat().st_mode & 0o077 == 0
