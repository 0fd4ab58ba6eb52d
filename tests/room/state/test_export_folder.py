"""A folder that claims to be an exported memory is believed only as far as its manifest goes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from state.errors import ExportRefused
from state.policy.export_form import EXPORT_LIMITS, ExportLimits, Manifest, digest_of
from state.workspace.export_folder import export_origin, read_export, write_export

FILES = {
    "MEMORY.md": b"# Handbook\n",
    "notes/2026-01-01T00-00-00-use-tabs.md": b"use tabs",
    "skills/deploy/SKILL.md": b"# Deploy\n",
}
MANIFEST = Manifest(
    memory_version="v1",
    origin="0123456789abcdef",
    created_at="2026-01-01T00:00:00+00:00",
    digests={},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound export."""
    write_export(tmp_path / "export", MANIFEST, FILES, forbidden=tmp_path / "home")
    return tmp_path / "export"


def test_what_was_written_is_read_back(folder: Path) -> None:
    (folder / "README.md").write_text("a page of the team")
    (folder / ".git").mkdir()
    found = read_export(folder)
    assert (found.files, found.strays) == (FILES, ("README.md",))
    assert found.manifest.digests == {path: digest_of(data) for path, data in FILES.items()}


def _changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """A change of the manifest."""

    def apply(folder: Path) -> None:
        path = folder / "manifest.json"
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return apply


def _names(path: str) -> Callable[[Path], object]:
    entry = {"path": path, "bytes": 1, "sha256": "0" * 64}
    return _changed(lambda value: value["files"].append(entry))


@pytest.mark.requirement("FR-U8")
@pytest.mark.parametrize(
    ("spoil", "named", "reason"),
    [
        (lambda at: (at / "MEMORY.md").write_text("# Other\n"), "MEMORY.md", "digest differs"),
        (lambda at: (at / "MEMORY.md").unlink(), "MEMORY.md", "not there"),
        (lambda at: (at / "manifest.json").unlink(), "manifest.json", "was not found"),
        (lambda at: (at / "manifest.json").write_text("{"), "manifest.json", "no JSON"),
        (lambda at: (at / "manifest.json").write_text("[" * 99_999), "manifest.json", "no JSON"),
        (lambda at: (at / "manifest.json").write_text("[]"), "manifest.json", "exported memory"),
        (lambda at: (at / "link.md").symlink_to("/etc/hostname"), "link.md", "a link"),
        (lambda at: (at / "skills" / "up").symlink_to("/etc"), "skills/up", "a link"),
        (lambda at: os.mkfifo(at / "pipe"), "pipe", "no file"),
        (_changed(lambda one: one.update(formatVersion=2)), "manifest.json", "not version 1"),
        (_changed(lambda one: one.update(formatVersion=True)), "manifest.json", "not version 1"),
        (_changed(lambda one: one.update(tombstones=[{}])), "manifest.json", "tombstones"),
        (_changed(lambda one: one.pop("files")), "manifest.json", "missing"),
        (_changed(lambda one: one.update(files=[1])), "manifest.json", "not well formed"),
        (_changed(lambda one: one.update(origin="../../up")), "manifest.json", "well formed"),
        (_changed(lambda one: one.update(pendingNotes=["x"])), "manifest.json", "notes"),
        (
            _changed(lambda one: one["files"].append(one["files"][0])),
            "manifest.json",
            "well formed",
        ),
        (_names("skills/../../up.md"), "manifest.json", "no export has"),
        (_names("/etc/passwd"), "manifest.json", "no export has"),
        (_names("skills//x"), "manifest.json", "no export has"),
        (_names("skills/.hidden"), "manifest.json", "no export has"),
        (_names("extensions/x/instructions.md"), "manifest.json", "no export has"),
        (_names("notes/a\nb.md"), "manifest.json", "no export has"),
        (_names("skills/" + "x" * 300), "manifest.json", "no export has"),
    ],
)
def test_what_was_tampered_with_is_refused_with_the_file_named(
    folder: Path, spoil: Callable[[Path], object], named: str, reason: str
) -> None:
    spoil(folder)
    with pytest.raises(ExportRefused) as refusal:
        read_export(folder)
    assert (refusal.value.file, reason in refusal.value.reason) == (named, True), refusal.value
    assert str(folder) in str(refusal.value) and "nothing was changed" in str(refusal.value)


def test_what_is_too_much_is_refused(folder: Path, tmp_path: Path) -> None:
    for limits in (
        ExportLimits(files_max=2),
        ExportLimits(bytes_max=20),
        ExportLimits(file_bytes_max=10),
        ExportLimits(manifest_bytes_max=100),
    ):
        with pytest.raises(ExportRefused):
            read_export(folder, limits)
    for number in range(200):
        (folder / f"{number}.txt").touch()
    with pytest.raises(ExportRefused, match="more than"):
        read_export(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(ExportRefused, match="symlink"):
        read_export(tmp_path / "link")
    with pytest.raises(ExportRefused):
        read_export(tmp_path / "gone")
    assert EXPORT_LIMITS.bytes_max > EXPORT_LIMITS.file_bytes_max


def test_a_home_keeps_the_name_under_which_it_exports(tmp_path: Path) -> None:
    name = export_origin(tmp_path)
    assert export_origin(tmp_path) == name and len(name) == 16
    (tmp_path / "export_origin").write_text("not ours")
    with pytest.raises(ExportRefused, match="export_origin"):
        export_origin(tmp_path)
