"""A memory version is one value, and its prompts are filled once."""

import pytest

from memory_write.recipes import RECIPES, fill, recipe_of, template


@pytest.mark.parametrize("version", list(RECIPES))
def test_every_recipe_has_its_prompts(version: str) -> None:
    """They are shipped with the package, and the input has just the slots that are filled."""
    recipe = recipe_of(version)
    assert template(recipe.extraction_instructions).startswith("# ")
    assert "{{" not in template(recipe.extraction_instructions)
    filled = fill(
        template(recipe.extraction_input),
        {"rollout_path": "PATH", "cwd": "CWD", "git_branch": "BRANCH", "conversation": "[]"},
    )
    assert "{{" not in filled
    assert filled.index("PATH") < filled.index("CWD") < filled.index("\n[]\n")


def test_the_instructions_of_v1_say_what_they_must() -> None:
    """The rules that the spec names, each by a word that only it needs."""
    text = template("extract_v1_instructions.md")
    for needed in (
        "[REDACTED_SECRET]",
        "all three fields are empty strings",
        "`rollout_summary`",
        "`rollout_slug`",
        "`raw_memory`",
        "80 characters",
        "`success`",
        "`partial`",
        "`uncertain`",
        "`fail`",
        "Rollout context:",
        "Preference signals:",
        "task_group:",
        "keywords:",
        "Never write a\nsection `## User preferences`",
    ):
        assert needed in text, needed


def test_what_is_put_into_a_slot_is_not_filled_again() -> None:
    """A transcript may hold text that looks like a slot of ours."""
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": "x"}) == "{{b}} x"
    with pytest.raises(KeyError):
        fill("{{c}}", {})
