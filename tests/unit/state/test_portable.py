"""A text says the same on another machine: its paths are names that hold there too."""

import pytest

from state.policy.portable import Places, Portable, folders_of_work, may_mean

PLACES = Places(
    user_homes=("/srv/people/ann",),
    memory_homes=("/srv/people/ann/.memoryd",),
    projects={
        "/srv/people/ann/shop": "git:git.example.org/acme/shop",
        "/opt/site": "$FOLDER/site",
        "/w": "$FOLDER/w",
    },
)


@pytest.mark.requirement("FR-U8")
@pytest.mark.parametrize(
    ("text", "portable"),
    [
        ("see /srv/people/ann/notes.txt", "see ~/notes.txt"),
        ("in /srv/people/ann.", "in ~."),
        ("(/srv/people/ann)", "(~)"),
        ("file:///srv/people/ann/x", "file://~/x"),
        ("/srv/people/anna stays", "/srv/people/anna stays"),
        ("/srv/people/ann.old stays", "/srv/people/ann.old stays"),
        ("/srv/people/ann/.memoryd/memories/x", "$MEMORYD_HOME/memories/x"),
        ("cwd=/srv/people/ann/shop/api; x", "cwd=git:git.example.org/acme/shop/api; x"),
        ("/srv/people/ann/shop-old", "~/shop-old"),
        ("words: srv/people/ann/tools", "words: ~/tools"),
        ("/opt/site/a and /opt/sites/a", "$FOLDER/site/a and /opt/sites/a"),
        ("/w/x but not a/w/x", "$FOLDER/w/x but not a/w/x"),
        (
            "resources/-srv-people-ann-shop/MEMORY.md",
            "resources/git:git.example.org/acme/shop/MEMORY.md",
        ),
        ("/home/bob/x and /Users/eve/y", "~/x and ~/y"),
        ("https://example.com/home/page", "https://example.com/home/page"),
        ("/usr/bin/env and packages/home/x", "/usr/bin/env and packages/home/x"),
        ("rollout_path: sessions/2026/x", "rollout_path: $MEMORYD_HOME/sessions/2026/x"),
        ("(rollout_path=sessions/x, y)", "(rollout_path=$MEMORYD_HOME/sessions/x, y)"),
    ],
)
def test_paths_of_the_machine_become_names(text: str, portable: str) -> None:
    made = Portable(PLACES)
    assert made(text) == portable
    assert made(portable) == portable


def test_without_places_only_what_everybody_has_is_replaced() -> None:
    assert Portable(Places())("/srv/x /home/bob/y") == "/srv/x ~/y"


def test_folders_of_work_are_found_where_memory_names_them() -> None:
    text = "thread_id: x\ncwd: /a b/c\nx\napplies_to: cwd=/d/e/; reuse_rule=x\ncwd=any; cwd: none"
    assert folders_of_work(text) == {"/a b/c", "/d/e"}


@pytest.mark.parametrize(
    ("name", "folder", "may"),
    [
        ("$FOLDER/shop", "/w/shop", True),
        ("$FOLDER/shop", "/w/shop/", True),
        ("$FOLDER/shop", "C:\\w\\shop", True),
        ("git:git.example.org/acme/shop", "/home/bob/shop", True),
        ("~/work/shop", "/srv/shop", True),
        ("~", "/home/bob", True),
        ("~", "/home/bob/shop", False),
        ("$FOLDER/shop", "/w/shop-old", False),
        ("$FOLDER/shop", "", False),
        ("$FOLDER/", "", False),
        ("/w/shop", "/v/shop", False),
        ("$FOLDER/shop", "~/shop", False),
        ("", "", False),
    ],
)
def test_a_folder_may_be_meant_by_the_name_it_has_elsewhere(
    name: str, folder: str, may: bool
) -> None:
    assert may_mean(name, folder) is may
