"""The installed command in a home that is broken: what a person sees, and that it mends itself."""

import json
import os
from pathlib import Path

import pytest

from tests.support.installed import MEMORYD, memoryd
from tests.support.small_disk import small_disk

SAMPLES = Path(__file__).resolve().parents[2] / "server" / "samples"

pytestmark = pytest.mark.skipif(not MEMORYD.exists(), reason="memoryd is not installed here")


@pytest.mark.requirement("FR-S5", "FR-S6")
def test_a_broken_database_is_one_line_and_gone_with_the_next_command(tmp_path: Path) -> None:
    """Failure table: "State database corrupt": named, set aside, rebuilt, by any command."""
    home = tmp_path / "home"
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    assert memoryd("consolidate", "--wait", home=home).returncode == 0
    before = json.loads(memoryd("status", "--json", home=home).stdout)
    (home / "state.sqlite").write_bytes(os.urandom(8_192))
    doctor = memoryd("doctor", home=home)
    assert doctor.returncode == 1
    assert "state.sqlite: file is not a database" in doctor.stdout
    assert "the next start of memoryd sets the file aside" in doctor.stdout
    status = memoryd("status", "--json", home=home)
    assert status.returncode == 0
    assert len(status.stderr.splitlines()) == 1 and "state.sqlite.broken-" in status.stderr
    after = json.loads(status.stdout)
    assert after["threads"]["stored"] == before["threads"]["stored"]
    assert after["outputs"] == before["outputs"]
    assert any("state.sqlite.broken-" in note for note in after["notes"])
    again = memoryd("status", home=home)
    assert (again.returncode, again.stderr) == (0, "")
    assert memoryd("doctor", home=home).returncode == 0


@pytest.mark.requirement("FR-S13")
def test_a_read_only_home_is_one_line(tmp_path: Path) -> None:
    """Failure table: "Whole home read-only": which file and why, with status 1."""
    with small_disk(tmp_path / "disk") as disk:
        home = disk.root / "home"
        assert memoryd("status", home=home).returncode == 0
        disk.read_only(True)
        for command in (["status"], ["serve"], ["app-server"]):
            refused = memoryd(*command, home=home)
            assert refused.returncode == 1
            lines = refused.stderr.splitlines()
            assert len(lines) == 1 and "Read-only file system" in lines[0]
            assert str(home) in lines[0]
        doctor = memoryd("doctor", home=home)
        assert doctor.returncode == 1
        assert "home cannot be written" in doctor.stdout.replace(str(home), "home")
        assert "sets the file aside" not in doctor.stdout
        disk.read_only(False)
        assert memoryd("status", home=home).returncode == 0


def test_a_summary_without_a_word_is_told_with_what_writes_it_anew(tmp_path: Path) -> None:
    """No fault, since nothing is lost, but new threads are told nothing."""
    home = tmp_path / "home"
    assert memoryd("import", str(SAMPLES), home=home).returncode == 0
    assert memoryd("consolidate", "--wait", home=home).returncode == 0
    (home / "memories" / "memory_summary.md").write_text("")
    assert "-> new threads are told nothing" in memoryd("doctor", home=home).stdout
    assert memoryd("consolidate", "--wait", home=home).returncode == 0
    assert "are told nothing" not in memoryd("doctor", home=home).stdout
