"""What the model is sent, and what a folder says of its repository."""

import os
from pathlib import Path

import pytest

from server.agent.checkout import Checkout, read_checkout
from server.agent.inputs import TurnInput
from server.agent.prompt import (
    developer_message,
    environment_message,
    for_model,
    typed_text,
    user_message,
)
from tests.support.scripted_model import said

_PNG = b"\x89PNG\r\n\x1a\n"


def test_memory_comes_first_in_the_one_developer_message() -> None:
    message = developer_message(["memory"], "client rules")
    assert message is not None and message.role == "developer"
    assert message.kinds == ("memories.instructions", "developer.instructions")
    assert developer_message([], None) is None


def test_the_environment_is_a_marked_user_message() -> None:
    message = environment_message(cwd="/p", shell="bash", now_ms=0, timezone="Etc/UTC")
    [part] = message.item["content"]
    assert part["text"].splitlines() == [
        "<environment_context>",
        "  <cwd>/p</cwd>",
        "  <shell>bash</shell>",
        "  <current_date>1970-01-01</current_date>",
        "  <timezone>Etc/UTC</timezone>",
        "</environment_context>",
    ]


def test_an_unknown_zone_counts_as_utc() -> None:
    message = environment_message(cwd="/p", shell="sh", now_ms=0, timezone="No/Where")
    assert "1970-01-01" in message.item["content"][0]["text"]


def test_only_typed_text_is_marked_as_typed(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(_PNG)
    given = said("hello")
    given = type(given)(
        content=(
            *given.content,
            {"type": "localImage", "path": str(picture)},
            {"type": "localImage", "path": "/not/there.png"},
            {"type": "image", "url": "data:image/png;base64,AA=="},
            {"type": "mention", "name": "file", "path": "a.py"},
        )
    )
    message = user_message(given)
    assert message.kinds == (
        "user.text",
        "user.image",
        "user.mention",
        "user.image",
        "user.mention",
    )
    assert message.item["content"][1]["image_url"] == "data:image/png;base64,iVBORw0KGgo="
    assert "not read" in message.item["content"][2]["text"]
    assert typed_text(given) == "hello"


def test_only_an_image_file_within_bounds_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.agent.prompt.IMAGE_BYTES_MAX", 100)
    monkeypatch.setattr("server.agent.prompt.IMAGES_BYTES_MAX", 250)
    (tmp_path / "secret.png").write_bytes(b"a key")
    (tmp_path / "large.png").write_bytes(_PNG + b"x" * 100)
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (tmp_path / name).write_bytes(_PNG + b"x" * 80)
    os.mkfifo(tmp_path / "pipe.png")
    named = [
        *("/dev/zero", "pipe.png", "a\0b", "", ".", "x" * 5_000),
        *("secret.png", "large.png", "a.jpg", "b.jpg", "c.jpg"),
    ]
    images = tuple({"type": "localImage", "path": str(tmp_path / name)} for name in named)
    parts = user_message(TurnInput(content=images)).item["content"]
    assert [part["type"] for part in parts] == ["input_text"] * 8 + ["input_image"] * 2 + [
        "input_text"
    ]
    texts = [part["text"] for part in parts if part["type"] == "input_text"]
    assert all("not read, " in text and len(text) < 1_000 for text in texts)
    assert "together" in texts[-1] and "a key" not in "".join(texts)
    assert parts[8]["image_url"].startswith("data:image/png;base64,")


def test_what_is_sent_has_no_ids_and_no_bookkeeping() -> None:
    item = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        "internal_chat_message_metadata_passthrough": {"turn_id": "t"},
    }
    assert for_model(item) == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "hi"}],
    }
    assert for_model({"type": "reasoning", "summary": []}) is None
    assert for_model({"type": "reasoning", "summary": [], "encrypted_content": "x"}) is not None
    assert for_model({"type": "ghost_snapshot"}) is None


def test_a_checkout_is_read_without_git(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    commit = "a" * 40
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (git / "packed-refs").write_text(f"# pack-refs\n{commit} refs/heads/feature/x\n")
    (git / "config").write_text(
        '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://me:pw@example.org/a.git\n'
    )
    inside = tmp_path / "src"
    inside.mkdir()
    found = read_checkout(str(inside))
    assert found == Checkout(commit, "feature/x", "https://example.org/a.git")
    (git / "HEAD").write_text(f"{'b' * 40}\n")
    assert read_checkout(str(tmp_path)).commit_id == "b" * 40


def test_a_linked_worktree_finds_the_main_refs(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    linked = git / "worktrees" / "w"
    linked.mkdir(parents=True)
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "w").write_text("c" * 40)
    (linked / "HEAD").write_text("ref: refs/heads/w")
    (linked / "commondir").write_text("../..\n")
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {linked}\n")
    assert read_checkout(str(folder)) == Checkout("c" * 40, "w", None)


def test_no_repository_is_nothing_known(tmp_path: Path) -> None:
    assert not read_checkout(str(tmp_path / "missing")).known
