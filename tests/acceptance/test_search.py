"""`memoryd search` as a person uses it: over a home with notes, without a server that runs."""

import json
from pathlib import Path

import pytest

from tests.support.installed import memoryd

NOTES = "extensions/ad_hoc/notes/"


@pytest.mark.requirement("P13")
def test_search_finds_a_note_in_other_words_and_says_where_it_stands(tmp_path: Path) -> None:
    """Lines for a person, the same hits as JSON, 1 where nothing answers, as `grep` gives."""
    home = tmp_path / "home"
    said = "The staging database is read only on Fridays."
    assert memoryd("remember", said, home=home).returncode == 0
    ran = memoryd("search", "when", "are staging databases read-only?", home=home)
    assert (ran.returncode, ran.stderr) == (0, "")
    place, *told = ran.stdout.splitlines()
    assert place.startswith(NOTES) and place.endswith(":1  (note, not yet worked in)")
    assert f"  {said}" in told
    ran = memoryd("search", "staging database", "--json", "--limit", "1", home=home)
    reply = json.loads(ran.stdout)
    [hit] = reply["hits"]
    assert (hit["text"], hit["startLine"], hit["pending"]) == (said, 1, True)
    assert (reply["mode"], reply["indexing"]) == ("lexical", False)
    ran = memoryd("search", "zanzibar", home=home)
    assert ran.returncode == 1
    assert ran.stderr.startswith("nothing was learned yet: `memoryd consolidate --wait`")
    assert ran.stdout == f"nothing in memory {reply['version']} answers that\n"
