"""Settings: what is wrong in the file is told with its line, and nothing of it stops the server."""

from pathlib import Path

import pytest

from server.environment import home_from_environment
from server.errors import ConfigRefused
from server.settings import OFFLINE, OPENAI, load_settings
from state.home import Home


def _home(tmp_path: Path, text: str) -> Home:
    (tmp_path / "config.toml").write_text(text, "utf-8")
    return Home(tmp_path)


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    """The embedded default needs no configuration and no key."""
    settings = load_settings(Home(tmp_path))
    assert settings.provider == OFFLINE
    assert settings.memory.enabled and settings.use_memories and settings.dedicated_tools
    assert settings.memory.phase1.idle_hours_min == 6
    assert settings.warnings == ()


def test_search_by_meaning_is_on_until_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the file, or for one start in the environment."""
    monkeypatch.delenv("MEMORYD_SEMANTIC_SEARCH")
    assert load_settings(Home(tmp_path)).semantic_search
    home = _home(tmp_path, "[memories]\nsemantic_search = false\n")
    assert not load_settings(home).semantic_search
    monkeypatch.setenv("MEMORYD_SEMANTIC_SEARCH", "on")
    assert load_settings(home).semantic_search


def test_a_key_in_the_environment_makes_openai_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that key shows in no representation."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-one")
    settings = load_settings(Home(tmp_path))
    assert settings.provider == OPENAI
    assert "sk-not-a-real-one" not in repr(settings)


def test_an_override_of_the_wrong_kind_is_told_as_the_override_that_it_is(tmp_path: Path) -> None:
    """And not with a line of a file that may not even be there."""
    settings = load_settings(Home(tmp_path), ["memories.min_rollout_idle_hours=abc"])
    (warning,) = settings.warnings
    assert str(warning).startswith(
        "-c memories.min_rollout_idle_hours=abc: `memories.min_rollout_idle_hours` is ignored"
    )
    assert warning.path is None


@pytest.mark.requirement("FR-G5")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("bogus = 1\n", 1, "unknown key `bogus`"),
        ("\nmin_rollout_idle_hours = 2\n", 2, "did you mean `memories.min_rollout_idle_hours`"),
        ("[memories]\nbogus = 1\n", 2, "unknown key `memories.bogus`"),
        ('[memories]\nuse_memories = "yes"\n', 2, "`memories.use_memories` is ignored"),
        ("mcp_servers = 3\n", 1, "`mcp_servers` is ignored: input should be a table"),
        ("memories = 1\n", 1, "`memories` is ignored: input should be a table"),
        ('[mcp_servers.a]\ncommand = "x"\nurl = "http://x"\n', 1, "and not both"),
        ("[memories]\n\nmax_unused_days = 400\n", 3, "365 is used"),
        ('model_provider = "nobody"\n', 1, "offline is used"),
        ('[memories]\nversion = "v3"\n', 2, "v1 is used"),
        ('[memories]\nversion = "v2"\ndual_write = ["v1", "v7"]\n', 3, "names v7"),
    ],
)
@pytest.mark.parametrize("folder", ["plain", "with space", "記憶", "emoji 🧠"])
def test_what_has_no_effect_is_told_with_file_and_line(
    tmp_path: Path, folder: str, text: str, line: int, words: str
) -> None:
    """Unknown, misplaced, mistyped and out of range, in homes of every spelling."""
    (tmp_path / folder).mkdir()
    home = _home(tmp_path / folder, text)
    warnings = [str(warning) for warning in load_settings(home).warnings]
    assert any(w.startswith(f"{home.config}:{line}:") and words in w for w in warnings), warnings


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("", ("v1",)),
        ('version = "v2"', ("v2",)),
        ("dual_write = true", ("v1", "v2")),
        ("dual_write = false", ("v1",)),
        ('version = "v2"\ndual_write = true', ("v2", "v1")),
        ('dual_write = ["v2"]', ("v1", "v2")),
        ('dual_write = ["v1"]', ("v1",)),
        ('version = "v2"\ndual_write = ["v2", "v1", "v1"]', ("v2", "v1")),
        ('dual_write = ["v3", "v2"]', ("v1", "v2")),
    ],
)
def test_the_version_that_is_read_comes_first_and_each_is_written_once(
    tmp_path: Path, text: str, versions: tuple[str, ...]
) -> None:
    """`true` means the two of the original; a list names them."""
    settings = load_settings(_home(tmp_path, f"[memories]\n{text}\n"))
    assert settings.memory.versions == versions
    assert settings.memory.version == versions[0]
    for version in versions:
        assert settings.memory.of_version(version).versions == (version,)
    assert len(settings.warnings) == ("v3" in text)


def test_good_keys_beside_a_bad_one_stay_in_force(tmp_path: Path) -> None:
    """One mistake does not reset the file."""
    home = _home(tmp_path, "[memories]\nuse_memories = 3\nmax_unused_days = 9\n")
    settings = load_settings(home)
    assert settings.use_memories is True
    assert settings.memory.phase2.unused_days_max == 9


@pytest.mark.requirement("MR-9-21")
def test_an_override_wins_over_the_file_and_may_use_the_old_spelling(tmp_path: Path) -> None:
    """Aliases are put right in each layer before the layers are merged."""
    home = _home(tmp_path, "[memories]\ndisable_on_external_context = true\n")
    settings = load_settings(
        home, ["memories.no_memories_if_mcp_or_web_search=false", "model=some-model"]
    )
    assert settings.raw["memories"] == {"disable_on_external_context": False}
    assert settings.model == "some-model"


def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path: Path) -> None:
    """The sentence names the file and what to do."""
    home = _home(tmp_path, "[memories\n")
    with pytest.raises(ConfigRefused, match=r"config\.toml is not valid TOML"):
        load_settings(home)


def test_the_home_comes_from_the_option_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative or `~` path is made absolute once, here."""
    monkeypatch.setenv("MEMORYD_HOME", str(tmp_path / "from-env"))
    assert home_from_environment().root == tmp_path / "from-env"
    assert home_from_environment("~/x").root == Path.home() / "x"


def test_tools_are_set_in_the_words_of_the_original(tmp_path: Path) -> None:
    """Granular approvals, the mode of web search and its older switch, external context."""
    home = _home(
        tmp_path,
        """
        [approval_policy.granular]
        sandbox_approval = true
        rules = false
        mcp_elicitations = true
        [tools]
        web_search = false
        [memories]
        disable_on_external_context = true
        """,
    )
    settings = load_settings(home)
    assert settings.warnings == ()
    assert settings.approval_policy == {
        "granular": {
            "sandbox_approval": True,
            "rules": False,
            "mcp_elicitations": True,
            "request_permissions": False,
            "skill_approval": False,
        }
    }
    assert settings.web_search == "disabled" and settings.pollutable
    assert load_settings(home, ['web_search="live"']).web_search == "live"
    assert load_settings(Home(tmp_path / "none")).web_search is None


GRANULAR = "rules = true, mcp_elicitations = true"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('approval_policy = "on-failure"', "`approval_policy`"),
        (
            "approval_policy = { granular = { rules = true } }",
            "`approval_policy.granular.sandbox_approval` is ignored: field required",
        ),
        (
            f'approval_policy = {{ granular = {{ {GRANULAR}, sandbox_approval = "yes" }} }}',
            "`approval_policy.granular.sandbox_approval` is ignored: input should be a valid boo",
        ),
    ],
)
def test_a_wrong_approval_policy_is_told_and_the_default_stands(
    text: str, named: str, tmp_path: Path
) -> None:
    """Never a looser one than was meant; the part that is wrong is named."""
    settings = load_settings(_home(tmp_path, text))
    assert settings.approval_policy == "on-request"
    [warning] = map(str, settings.warnings)
    assert named in warning and warning.endswith("; on-request is used")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mcp_servers.x]\ncommand = 'a'\nstartup_timeout_sec = -5.0", "30 is used"),
        ("[mcp_servers.x]\ncommand = 'a'\ntool_timeout_sec = nan", "120 is used"),
        ("[mcp_servers.x]\ncommand = 'a'\nstartup_timeout_sec = 9e9", "600 is used"),
        ("[mcp_servers.x]\nurl = 'ftp://h'", "`mcp_servers.x.url` is no http or https address"),
        ("[mcp_servers.x]\ncommand = ' '", "`mcp_servers.x.command` is empty"),
        ("[mcp_servers.'a b']\ncommand = 'a'", "its tools are called `mcp__a_b`"),
        (
            "[mcp_servers.'a b']\ncommand = 'a'\n[mcp_servers.a_b]\ncommand = 'a'",
            "rename one; the server is left out",
        ),
        (
            "[mcp_servers.x]\ncommand = 'a'\nenv = {A = 1, B = 'b'}",
            "`mcp_servers.x.env.A` is ignored: input should be a valid string",
        ),
        ("project_doc_max_bytes = -1", "0 is used"),
        ("project_doc_max_bytes = 9000000", "1048576 is used"),
        ("project_doc_fallback_filenames = ['../../etc/passwd']", "no plain file name"),
        ("[sandbox_workspace_write]\nwritable_roots = ['rel']", "'rel', which is no absolute"),
        ("model_context_window = -1", "is no number of tokens"),
        ("[memories]\nextract_tokens_per_day = -1", "nothing is spent"),
        ("approvals_reviewer = 'auto_review'", "user is used: a person is asked"),
        ("[server]\ndrain_s = -1", "`server.drain_s` = -1 is negative; 0 is used"),
        ("[model_providers.x]\nbase_url = 'ftp://h'", "`model_providers.x.base_url` is no http"),
    ],
)
def test_a_value_that_makes_no_sense_is_told_with_its_key_and_what_is_used(
    text: str, words: str, tmp_path: Path
) -> None:
    """On the line where it stands."""
    home = _home(tmp_path, f"# first\n{text}\n")
    told = [str(one) for one in load_settings(home).warnings]
    matching = [one for one in told if words in one]
    assert matching, told
    assert not any(one.startswith(f"{home.config}:1:") for one in told), told


def test_what_is_left_of_such_values_lies_within_bounds(tmp_path: Path) -> None:
    """Names that lead out of the project, folders that are none, waits that are none."""
    settings = load_settings(
        _home(
            tmp_path,
            """
            model_context_window = 0
            project_doc_fallback_filenames = ["../../etc/passwd", "CLAUDE.md", "/etc/passwd", ".."]
            sandbox_mode = "workspace-write"
            [sandbox_workspace_write]
            writable_roots = ["rel", "~/x", "/srv/work"]
            [mcp_servers.ftp]
            url = "ftp://host"
            [mcp_servers.kept]
            command = "a"
            startup_timeout_sec = 0
            env = { A = 1, B = "b" }
            """,
        )
    )
    assert settings.context_window is None
    assert settings.project_doc_fallbacks == ("CLAUDE.md",)
    assert settings.sandbox_policy["writableRoots"] == ["/srv/work"]
    [server] = settings.mcp_servers
    assert (server.name, server.env, server.startup_seconds_max) == ("kept", {"B": "b"}, 30.0)
