"""Files changed by a model, over the wire: what policies allow, what clients see, what git says."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server.assembly import Server
from state.ids import ThreadId
from tests.support.homes import provider_config, serving
from tests.support.responses_server import Call, ResponsesServer, calls, says
from tests.support.wire import KINDS, Kind, WireClient

APPROVAL = "item/fileChange/requestApproval"


class _Scene:
    def __init__(
        self, server: Server, client: WireClient, model: ResponsesServer, project: Path
    ) -> None:
        self.server = server
        self.client = client
        self.project = project
        self.model = model

    async def thread(self, **given: Any) -> str:
        """A thread that may write its project and may ask."""
        wanted = {"cwd": str(self.project), "sandbox": "workspace-write", **given}
        started = await self.client.request(
            "thread/start", {"approvalPolicy": "on-request", **wanted}
        )
        return str(started["thread"]["id"])

    async def patch(
        self, thread_id: str, *lines: str, function: bool = False, piece: int | None = None
    ) -> None:
        """A turn in which the model sends that patch, in pieces of that many characters."""
        text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
        given: Any = json.dumps({"input": text}) if function else text
        custom = not function
        call = Call(name="apply_patch", arguments=given, custom=custom, piece_characters=piece)
        self.model.script(calls(call), says("done"))
        words = [{"type": "text", "text": "go"}]
        await self.client.request("turn/start", {"threadId": thread_id, "input": words})

    async def ended(self) -> str:
        """What the model was told, once the turn has ended."""
        turn = (await self.client.notification("turn/completed"))["turn"]
        assert turn["status"] == "completed", turn
        return str(self.model.requests[-1].body["input"][-1]["output"])

    def items(self) -> list[dict[str, Any]]:
        """The completed changes so far."""
        told = [one["params"]["item"] for one in self.client.notifications("item/completed")]
        return [one for one in told if one["type"] == "fileChange"]


@asynccontextmanager
async def _scene(folder: Path, kind: Kind = "pair") -> AsyncIterator[_Scene]:
    project = folder / "project"
    project.mkdir()
    async with ResponsesServer() as model:
        config = provider_config(model.base_url)
        async with serving(folder, config=config) as home, home.wire.client(kind) as client:
            await home.server.services.providers.get("mock").warm()
            yield _Scene(home.server, client, model, project)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_change_is_made_shown_and_told_as_a_difference(kind: Kind, tmp_path: Path) -> None:
    """Two patches of one turn's file are one difference; both forms of the tool work."""
    async with _scene(tmp_path, kind) as scene:
        (scene.project / "a.py").write_text("one\ntwo\nthree\n")
        thread_id = await scene.thread()
        await scene.patch(thread_id, "*** Update File: a.py", "@@", " one", "-two", "+2")
        assert (await scene.ended()).endswith("M a.py\n")
        [item] = scene.items()
        assert item["changes"] == [
            {
                "path": str(scene.project / "a.py"),
                "kind": {"type": "update", "move_path": None},
                "diff": "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
            }
        ]
        diff = (await scene.client.notification("turn/diff/updated"))["diff"]
        assert "--- a/a.py\n+++ b/a.py\n" in diff and "-two\n+2\n" in diff
        await scene.patch(thread_id, "*** Delete File: a.py", function=True)
        assert (await scene.ended()).endswith("D a.py\n")
        assert not (scene.project / "a.py").exists()
        read = await scene.client.request(
            "thread/read", {"threadId": thread_id, "includeTurns": True}
        )
        kinds = [
            change["kind"]["type"]
            for turn in read["thread"]["turns"]
            for one in turn["items"]
            if one["type"] == "fileChange"
            for change in one["changes"]
        ]
        assert kinds == ["update", "delete"]


@pytest.mark.parametrize("where", ["outside", "link", "git", "home"])
async def test_what_lies_outside_is_asked_about_and_a_no_changes_nothing(
    where: str, tmp_path: Path
) -> None:
    """Also through a link, into git's own folder, and into our home."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    async with _scene(tmp_path) as scene:
        (scene.project / "link").symlink_to(outside)
        (scene.project / ".git").mkdir()
        home = tmp_path / "home"
        path = {
            "outside": str(outside / "f"),
            "link": "link/f",
            "git": ".git/config",
            "home": str(home / "rules" / "default.rules"),
        }[where]
        roots = [str(tmp_path)] if where == "home" else []
        thread_id = await scene.thread()
        policy = {"type": "workspaceWrite", "writableRoots": roots, "excludeSlashTmp": True}
        for decision in ("decline", "accept", "cancel"):
            text = "\n".join(["*** Begin Patch", f"*** Add File: {path}", "+x", "*** End Patch"])
            call = Call(name="apply_patch", arguments=text, custom=True)
            scene.model.script(calls(call), says("done"))
            words = [{"type": "text", "text": "go"}]
            given = {"threadId": thread_id, "input": words, "sandboxPolicy": policy}
            await scene.client.request("turn/start", given)
            request = await scene.client.server_request(APPROVAL)
            target = scene.project / path
            assert target.exists() is (decision == "cancel")
            await scene.client.answer(request["id"], {"decision": decision})
            turn = (await scene.client.notification("turn/completed"))["turn"]
            assert turn["status"] == ("interrupted" if decision == "cancel" else "completed")
            assert target.exists() is (decision != "decline")
        assert [one["status"] for one in scene.items()] == ["declined", "completed", "declined"]


async def test_the_roots_that_a_client_names_are_what_may_be_written(tmp_path: Path) -> None:
    """In place of the working folder, as each answer says; from a start on, from a turn on, and
    when the thread is loaded again."""
    async with _scene(tmp_path) as scene:
        client = scene.client
        folders = {name: str(scene.project / name) for name in ("a", "b")}
        for name in folders:
            (scene.project / name).mkdir()
        policy = {"type": "workspaceWrite", "excludeSlashTmp": True}

        async def is_written(thread_id: str, path: str, **given: Any) -> bool:
            """Whether the model may write there without a question."""
            added = f"*** Add File: {scene.project / path}"
            text = "\n".join(["*** Begin Patch", added, "+x", "*** End Patch"])
            call = Call(name="apply_patch", arguments=text, custom=True)
            scene.model.script(calls(call), says("done"))
            turn = {"threadId": thread_id, "input": [{"type": "text", "text": "go"}]}
            await client.request("turn/start", {**turn, "approvalPolicy": "never", **given})
            await client.notification("turn/completed")
            return (scene.project / path).exists()

        start = {"cwd": str(scene.project), "approvalPolicy": "never"}
        plain = await client.request("thread/start", start)
        assert plain["runtimeWorkspaceRoots"] == [str(scene.project)]
        assert await is_written(plain["thread"]["id"], "in-cwd", sandboxPolicy=policy)
        wide = {**start, "runtimeWorkspaceRoots": [folders["a"], f"{folders['a']}/"]}
        started = await client.request("thread/start", wide)
        thread = started["thread"]
        assert started["runtimeWorkspaceRoots"] == [folders["a"]]
        assert thread["environments"][0]["runtimeWorkspaceRoots"] == [folders["a"]]
        assert not await is_written(thread["id"], "a/0")  # a thread that may only read
        assert await is_written(thread["id"], "a/1", sandboxPolicy=policy)
        assert not await is_written(thread["id"], "b/1")
        assert not await is_written(thread["id"], "no")
        given = {"runtimeWorkspaceRoots": [folders["b"]]}
        assert await is_written(thread["id"], "b/2", **given)
        assert await is_written(thread["id"], "b/3")
        assert not await is_written(thread["id"], "a/2")
        forked = await client.request("thread/fork", {"threadId": thread["id"]})
        assert forked["runtimeWorkspaceRoots"] == [folders["b"]]
        await scene.server.services.live.unload(ThreadId(thread["id"]))
        resumed = await client.request("thread/resume", {"threadId": thread["id"]})
        assert resumed["runtimeWorkspaceRoots"] == [folders["b"]]
        own: dict[str, Any] = {"cwd": folders["a"], "runtimeWorkspaceRoots": [folders["a"]]}
        assert await is_written(thread["id"], "a/5", sandboxPolicy=policy, **own)
        assert await is_written(thread["id"], "b/5", cwd=folders["b"])
        assert not await is_written(thread["id"], "a/6")
        await scene.server.services.live.unload(ThreadId(thread["id"]))
        none = {"threadId": thread["id"], "runtimeWorkspaceRoots": []}
        resumed = await client.request("thread/resume", none)
        assert resumed["runtimeWorkspaceRoots"] == []
        assert not await is_written(thread["id"], "b/4", sandboxPolicy=policy)


async def test_a_folder_that_became_a_link_opens_nothing_to_a_patch(tmp_path: Path) -> None:
    """As a command of another thread can have it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    async with _scene(tmp_path) as scene:
        thread_id = await scene.thread(approvalPolicy="never")
        await scene.patch(thread_id, "*** Add File: a", "+x")
        assert "Success" in await scene.ended()
        scene.project.rename(tmp_path / "moved")
        scene.project.symlink_to(outside)
        await scene.patch(thread_id, "*** Add File: b", "+x")
        assert "outside the folders that may be written" in await scene.ended()
        assert list(outside.iterdir()) == []


async def test_files_granted_for_the_session_are_not_asked_about_again(tmp_path: Path) -> None:
    """Those files and no others."""
    async with _scene(tmp_path) as scene:
        thread_id = await scene.thread(approvalPolicy="untrusted")
        await scene.patch(thread_id, "*** Add File: a", "+1")
        request = await scene.client.server_request(APPROVAL)
        await scene.client.answer(request["id"], {"decision": "acceptForSession"})
        await scene.ended()
        await scene.patch(thread_id, "*** Update File: a", "-1", "+2")
        await scene.ended()
        assert (scene.project / "a").read_text() == "2\n"
        await scene.patch(thread_id, "*** Add File: b", "+1")
        request = await scene.client.server_request(APPROVAL)
        await scene.client.answer(request["id"], {"decision": "decline"})
        assert "declined" in await scene.ended()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["*** Update File: a", "-nope", "+x"], "hunk 1 of 1 does not fit a"),
        (["*** Update File: none", "-a", "+x"], "none does not exist"),
        (["*** Add File: ../x", "+x"], "'..'"),
        (["nonsense"], "is no file"),
    ],
)
async def test_a_patch_that_does_not_fit_is_explained_and_shows_no_item(
    lines: list[str], words: str, tmp_path: Path
) -> None:
    """The turn goes on, and nothing was changed."""
    async with _scene(tmp_path) as scene:
        (scene.project / "a").write_text("a\n")
        thread_id = await scene.thread()
        await scene.patch(thread_id, "*** Add File: fine", "+x", *lines)
        assert words in await scene.ended()
        assert scene.items() == [] and not (scene.project / "fine").exists()


async def test_a_read_only_thread_that_never_asks_changes_nothing(tmp_path: Path) -> None:
    """The model is told which policy stands in the way."""
    async with _scene(tmp_path) as scene:
        thread_id = await scene.thread(sandbox="read-only", approvalPolicy="never")
        await scene.patch(thread_id, "*** Add File: a", "+1")
        assert "approval policy `never`" in await scene.ended()
        assert list(scene.project.iterdir()) == []


UPDATED = "item/fileChange/patchUpdated"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_patch_is_shown_while_the_model_still_writes_it(kind: Kind, tmp_path: Path) -> None:
    """Growing, under the id of the item that comes when it is whole, whose change it shows."""
    async with _scene(tmp_path, kind) as scene:
        thread_id = await scene.thread()
        lines = [f"+line {number}" for number in range(200)]
        wanted = ("*** Add File: a.txt", *lines, "*** Add File: b.txt", "+b")
        await scene.patch(thread_id, *wanted, piece=7)
        await scene.ended()
        [item] = scene.items()
        told = [one["params"] for one in scene.client.notifications(UPDATED)]
        assert len(told) > 5
        assert {(one["itemId"], one["threadId"]) for one in told} == {(item["id"], thread_id)}
        assert [one["path"] for one in told[-1]["changes"]] == [
            str(scene.project / "a.txt"),
            str(scene.project / "b.txt"),
        ]
        whole = item["changes"][0]["diff"]
        sizes = [len(one["changes"][0]["diff"]) for one in told]
        assert sizes == sorted(sizes) and sizes[-1] == len(whole)
        assert all(whole.startswith(one["changes"][0]["diff"]) for one in told)
        # Told by shares, so that all of it together is a few times the patch.
        assert sum(sizes) < 8 * len(whole)
        methods = [frame.get("method") for frame in scene.client.frames]
        starts = [
            number
            for number, frame in enumerate(scene.client.frames)
            if frame.get("method") == "item/started"
            and frame["params"]["item"]["type"] == "fileChange"
        ]
        last = len(methods) - 1 - methods[::-1].index(UPDATED)
        assert last < starts[0]


async def test_a_patch_that_is_long_or_comes_whole_is_shown_as_an_item_alone(
    tmp_path: Path,
) -> None:
    """No frame grows over what clients read, and what shows nothing early is told no earlier."""
    async with _scene(tmp_path) as scene:
        thread_id = await scene.thread()
        await scene.patch(thread_id, "*** Add File: a.txt", "+a")
        await scene.ended()
        assert scene.client.notifications(UPDATED) == []
        lines = ["+" + "x" * 99 for _ in range(1_000)]
        await scene.patch(thread_id, "*** Add File: long.txt", *lines, piece=400)
        await scene.ended()
        told = scene.client.notifications(UPDATED)
        assert told and max(len(json.dumps(one)) for one in told) < 48 * 1024
        assert len((scene.project / "long.txt").read_text()) == 100_000


@pytest.mark.parametrize("name", ["sub/.git/hooks/pre-commit", "sub/.codex/config.toml", ".git/x"])
async def test_a_patch_does_not_reach_what_is_kept_at_any_depth(name: str, tmp_path: Path) -> None:
    """It is asked about, and refused where nobody may be asked."""
    async with _scene(tmp_path) as scene:
        (scene.project / name).parent.mkdir(parents=True)
        thread_id = await scene.thread(approvalPolicy="never")
        await scene.patch(thread_id, f"*** Add File: {name}", "+x")
        assert "outside the folders that may be written" in await scene.ended()
        assert not (scene.project / name).exists()
