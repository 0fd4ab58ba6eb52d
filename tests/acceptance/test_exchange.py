"""`memoryd export` and `memoryd restore` as two people use them, on two machines."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.exchange import SECRET, a_session, files_of
from tests.support.installed import memoryd


@pytest.mark.requirement("FR-U8")
def test_memory_moves_to_another_user_in_another_home(tmp_path: Path) -> None:
    """Each home lies below its user's; the folder goes over by copy, as a repository would."""
    ann, ben = tmp_path / "people" / "ann-k3" / "m", tmp_path / "others" / "ben-z8" / "memory"
    for home in (ann, ben):
        home.parent.mkdir(parents=True)
    sessions = a_session(ann.parent / "sessions", ann.parent / "shop")
    assert memoryd("import", str(sessions), home=ann).returncode == 0
    text = f"The lamp is in {ann.parent}/lamp, its key {SECRET}"
    assert memoryd("remember", text, home=ann).returncode == 0
    assert memoryd("consolidate", "--wait", home=ann).returncode == 0
    folder = tmp_path / "export"
    ran = memoryd("export", str(folder), home=ann)
    assert (ran.returncode, ran.stderr) == (0, "") and f"written to {folder}" in ran.stdout
    every = "".join([*files_of(folder), *files_of(folder).values()])
    assert not [one for one in ("ann-k3", str(tmp_path), SECRET) if one in every]
    refused = memoryd("export", str(folder), home=ann)
    assert refused.returncode == 1 and "not empty" in refused.stderr

    moved = shutil.copytree(folder, tmp_path / "moved")
    ran = memoryd("restore", str(moved), "--dry-run", home=ben)
    assert ran.returncode == 0 and "would bring in 1 note" in ran.stdout
    first = json.loads(memoryd("restore", str(moved), "--json", home=ben).stdout)
    assert (first["notes"], first["awaitsConsolidation"]) == (1, True)
    assert memoryd("consolidate", "--wait", home=ben).returncode == 0
    again = json.loads(memoryd("restore", str(moved), "--json", home=ben).stdout)
    assert (again["unchanged"], again["leftOut"]) == (again["found"], [])
    assert "~/lamp" in memoryd("search", "where is the lamp", home=ben).stdout

    (moved / "memory_summary.md").write_text("v1\n\nother\n")
    ran = memoryd("restore", str(moved), home=ben)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1
    assert "memory_summary.md: it is not what the manifest says" in ran.stderr
    ran = memoryd("restore", str(tmp_path / "gone"), home=ben)
    assert ran.returncode == 1 and "is no folder" in ran.stderr
