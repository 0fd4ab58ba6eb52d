"""What a patch would change that is still being written."""

import pytest

from server.agent.tools.patch_so_far import changes_so_far

PATCH = """*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: sub/old.txt
*** Move to: /elsewhere/new name.txt
@@ def f():
 kept
-gone
+come
*** Delete File: ../away.txt
*** End Patch
"""


def test_a_whole_patch_is_shown_as_what_it_changes() -> None:
    """Paths are absolute, as in the item."""
    assert changes_so_far(PATCH, "/work") == [
        {"path": "/work/new.txt", "kind": {"type": "add"}, "diff": "one\ntwo\n"},
        {
            "path": "/work/sub/old.txt",
            "kind": {"type": "update", "move_path": "/elsewhere/new name.txt"},
            "diff": "@@ def f():\n kept\n-gone\n+come\n",
        },
        {"path": "/away.txt", "kind": {"type": "delete"}, "diff": ""},
    ]


def test_at_every_character_it_is_a_beginning_of_the_whole() -> None:
    """Only whole lines count, and what was shown stays."""
    before: list[str] = []
    for end in range(len(PATCH) + 1):
        shown = [f"{one['path']}{one['diff']}" for one in changes_so_far(PATCH[:end], "/work")]
        assert len(shown) >= len(before)
        assert all(now.startswith(then) for now, then in zip(shown, before, strict=False))
        before = shown


@pytest.mark.parametrize("text", ["", "\n", "no patch at all\n", "*** Add File:\n", "+x\n+y\n"])
def test_what_names_no_file_shows_nothing(text: str) -> None:
    assert changes_so_far(text, "/work") == []
