"""A folder that cannot be left: rules and sentences of list, read, search and of the writers."""

import os
from pathlib import Path

import pytest

from state.errors import PathRefused
from state.workspace.root import ConfinedRoot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "memories"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "MEMORY.md").write_bytes(b"one\ntwo\r\nthree\n")
    (root / "a.md").write_text("alpha\nbeta\n")
    (root / "sub" / "b.md").write_text("beta alpha\n")
    (root / "sub" / ".hidden").write_text("alpha")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("alpha")
    (root / "empty.md").write_text("")
    (tmp_path / "outside.md").write_text("secret alpha\n")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    (root / "linked").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def root(folder: Path) -> ConfinedRoot:
    return ConfinedRoot(folder)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("..", "path '..' must stay within the memories root"),
        ("nope/..", "path 'nope/..' must stay within the memories root"),
        ("/etc/passwd", "path '/etc/passwd' must stay within the memories root"),
        (".git/config", "path '.git/config' was not found"),
        ("sub/.hidden", "path 'sub/.hidden' was not found"),
        ("link.md", "path 'link.md' must not be a symlink"),
        ("linked/outside.md", "path 'linked' must not be a symlink"),
        ("a.md/x", "path 'a.md/x' traverses through a non-directory path component"),
        ("nope.md", "path 'nope.md' was not found"),
        ("nope/deep.md", "path 'nope/deep.md' was not found"),
        ("sub", "path 'sub' is not a file"),
        ("", "path '' is not a file"),
        ("pipe", "path 'pipe' is not a file"),
        ("a\0b", "path 'ab' was not found"),
    ],
)
def test_a_path_is_refused_with_its_sentence(root: ConfinedRoot, path: str, sentence: str) -> None:
    with pytest.raises(PathRefused) as refused:
        root.read(path)
    assert str(refused.value) == sentence


def test_list_shows_visible_children_in_byte_order(root: ConfinedRoot) -> None:
    assert root.list() == {
        "path": "",
        "entries": [
            {"path": "MEMORY.md", "entry_type": "file"},
            {"path": "a.md", "entry_type": "file"},
            {"path": "empty.md", "entry_type": "file"},
            {"path": "sub", "entry_type": "directory"},
        ],
        "next_cursor": None,
        "truncated": False,
    }
    assert root.list("./sub/")["path"] == "./sub/"
    assert root.list("./sub/")["entries"] == [
        {"path": "sub/b.md", "entry_type": "file"},
        {"path": "sub/deep", "entry_type": "directory"},
    ]
    assert root.list("a.md")["entries"] == [{"path": "a.md", "entry_type": "file"}]


def test_list_is_paged_by_cursor(root: ConfinedRoot) -> None:
    first = root.list(max_results=3)
    assert (first["next_cursor"], first["truncated"]) == ("3", True)
    second = root.list(cursor="3", max_results=0)
    assert second["entries"] == [{"path": "sub", "entry_type": "directory"}]
    assert root.list(cursor="4")["entries"] == []
    for cursor, sentence in (
        ("5", "cursor '5' exceeds result count"),
        ("-1", "cursor '-1' must be a non-negative integer"),
        ("x", "cursor 'x' must be a non-negative integer"),
    ):
        with pytest.raises(PathRefused, match=sentence):
            root.list(cursor=cursor)


def test_an_absent_or_linked_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PathRefused, match="path '' was not found"):
        ConfinedRoot(tmp_path / "nope").list()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(PathRefused, match="path '' must not be a symlink"):
        ConfinedRoot(tmp_path / "link").list()


@pytest.mark.parametrize(
    ("offset", "lines", "content", "truncated"),
    [
        (None, None, "one\ntwo\r\nthree\n", False),
        (2, 1, "two\r\n", True),
        (3, 1, "three\n", False),
        (3, 9, "three\n", False),
        (4, None, "", False),
    ],
)
def test_read_gives_lines_with_their_ends(
    root: ConfinedRoot, offset: int | None, lines: int | None, content: str, truncated: bool
) -> None:
    result = root.read("MEMORY.md", line_offset=offset, max_lines=lines)
    assert result == {
        "path": "MEMORY.md",
        "start_line_number": offset or 1,
        "content": content,
        "truncated": truncated,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"line_offset": 0}, "line_offset must be a 1-indexed line number"),
        ({"max_lines": 0}, "max_lines must be a positive integer"),
        ({"line_offset": 5}, "line_offset exceeds file length"),
    ],
)
def test_read_refuses_lines_that_are_not_there(
    root: ConfinedRoot, arguments: dict[str, int], sentence: str
) -> None:
    with pytest.raises(PathRefused, match=sentence):
        root.read("MEMORY.md", **arguments)


def test_an_empty_file_has_a_first_line(root: ConfinedRoot) -> None:
    assert root.read("empty.md")["content"] == ""


def test_a_long_text_is_cut_in_the_middle(root: ConfinedRoot, folder: Path) -> None:
    (folder / "long.md").write_text("x" * 100_000)
    result = root.read("long.md")
    assert result["truncated"] is True
    assert "…5000 tokens truncated…" in str(result["content"])


def test_bytes_that_are_no_text_are_not_read(root: ConfinedRoot, folder: Path) -> None:
    (folder / "bad.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UnicodeDecodeError):
        root.read("bad.md")
    assert root.search(["x"])["matches"] == []


def test_search_walks_visible_files_in_order_and_follows_no_link(root: ConfinedRoot) -> None:
    result = root.search([" alpha "], context_lines=1)
    assert result["queries"] == ["alpha"]
    assert result["match_mode"] == {"type": "any"}
    assert result["matches"] == [
        {
            "path": "a.md",
            "match_line_number": 1,
            "content_start_line_number": 1,
            "content": "alpha\nbeta",
            "matched_queries": ["alpha"],
        },
        {
            "path": "sub/b.md",
            "match_line_number": 1,
            "content_start_line_number": 1,
            "content": "beta alpha",
            "matched_queries": ["alpha"],
        },
    ]
    assert root.search(["alpha"], path="sub/b.md", max_results=1)["truncated"] is False
    page = root.search(["alpha"], max_results=1)
    assert page["next_cursor"] == "1"
    assert len(root.search(["alpha"], cursor="1")["matches"]) == 1  # type: ignore[arg-type]


def test_a_new_file_is_written_once_and_for_its_owner_only(root: ConfinedRoot) -> None:
    before = os.umask(0)
    try:
        root.write_new("new/folder/note.md", b"first")
    finally:
        os.umask(before)
    place = root.path / "new/folder/note.md"
    assert place.read_bytes() == b"first"
    assert [path.stat().st_mode & 0o777 for path in (place, place.parent)] == [0o600, 0o700]
    with pytest.raises(PathRefused, match=r"path 'new/folder/note\.md' already exists"):
        root.write_new("new/folder/note.md", b"second")
    assert place.read_bytes() == b"first"


@pytest.mark.parametrize(
    "path", ["../x", "/x", "linked/x.md", "link.md", ".git/x", "sub", "a.md/x", "", "sub/.x"]
)
def test_no_writer_leaves_the_folder(root: ConfinedRoot, tmp_path: Path, path: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    for write in (root.write, root.write_new):
        with pytest.raises(PathRefused):
            write(path, b"x")
    with pytest.raises(PathRefused):
        root.move("a.md", path)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "outside.md").read_text() == "secret alpha\n"


def test_a_link_put_there_after_the_check_is_not_followed(
    root: ConfinedRoot, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the opening somebody swaps the folder for a link."""
    real = os.open

    def swapping(path: object, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if path == "sub" and not (folder / "sub").is_symlink():
            (folder / "sub").rename(folder / "moved")
            (folder / "sub").symlink_to(tmp_path)
        return real(path, flags, *rest, dir_fd=dir_fd)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(OSError, match="sub"):
        root.write("sub/outside.md", b"overwritten")
    assert (tmp_path / "outside.md").read_text() == "secret alpha\n"


def test_edit_replaces_the_one_place_or_nothing(root: ConfinedRoot) -> None:
    root.edit("a.md", "beta", "gamma")
    assert (root.path / "a.md").read_text() == "alpha\ngamma\n"
    for old, sentence in (("", "must not be empty"), ("a", "occurs 4 times"), ("zz", "0 times")):
        with pytest.raises(PathRefused, match=sentence):
            root.edit("a.md", old, "x")


def test_move_and_delete_keep_what_stands_in_the_way(root: ConfinedRoot) -> None:
    with pytest.raises(PathRefused, match=r"path 'MEMORY\.md' already exists"):
        root.move("a.md", "MEMORY.md")
    with pytest.raises(PathRefused, match="path 'sub' is not a file"):
        root.move("sub", "other")
    root.move("a.md", "sub/deep/c.md")
    assert (root.path / "sub/deep/c.md").exists()
    with pytest.raises(PathRefused, match="path 'sub' is not empty"):
        root.delete("sub")
    root.delete("sub/deep/c.md")
    root.delete("sub/deep")
    with pytest.raises(PathRefused, match="the root cannot be deleted"):
        root.delete("./")
    assert sorted(root.walk()) == ["MEMORY.md", "empty.md", "sub/b.md"]
