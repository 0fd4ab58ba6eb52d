"""The words that a handbook lists for finding a statement."""

from memory_write.offline.terms import shown_words


def test_of_a_path_of_this_machine_only_its_name_is_a_keyword() -> None:
    """The folders above it say who the user is; a path inside a project is searched for."""
    text = "The lamp lies in /Users/Ann/tools/lamp.py, C:\\Users\\Ann\\x.txt, ~/b/torch; src/a/b.py"
    assert shown_words(text, count_max=20) == (
        "lamp",
        "lies",
        "lamp.py",
        "x.txt",
        "torch",
        "src/a/b.py",
    )
