"""Which variables a command gets."""

import pytest

from server.agent.sandbox.environment import EnvironmentPolicy, child_environment

SERVER = {
    "PATH": "/usr/bin", "HOME": "/home/u", "LANG": "de_DE.UTF-8", "EDITOR": "vi",
    "OPENAI_API_KEY": "s", "GITHUB_TOKEN": "s", "DB_PASSWORD": "s", "AWS_SECRET_ACCESS_KEY": "s",
    "MEMORYD_HOME": "s", "SSH_AUTH_SOCK": "s", "DBUS_SESSION_BUS_ADDRESS": "s", "DISPLAY": "s",
    "LD_PRELOAD": "s", "DATABASE_URL": "postgres://u:s@host/db", "PROXY": "http://host:80",
}  # fmt: skip


def test_secrets_and_ways_to_agents_are_left_out() -> None:
    """Everything else stays; programs are told to be quiet."""
    given = child_environment(SERVER, network=False)
    assert "s" not in given.values() and "DATABASE_URL" not in given
    assert given["PATH"] == "/usr/bin" and given["EDITOR"] == "vi" and given["PROXY"]
    assert given["TERM"] == "dumb" and given["CODEX_SANDBOX_NETWORK_DISABLED"] == "1"
    assert "CODEX_SANDBOX_NETWORK_DISABLED" not in child_environment(SERVER, network=True)


@pytest.mark.parametrize(
    ("policy", "there", "gone"),
    [
        (EnvironmentPolicy(inherit="core"), "HOME", "EDITOR"),
        (EnvironmentPolicy(inherit="none"), "PATH", "HOME"),
        (EnvironmentPolicy(exclude=("EDI*",)), "HOME", "EDITOR"),
        (EnvironmentPolicy(include_only=("HOME",)), "HOME", "EDITOR"),
        (EnvironmentPolicy(values={"NEW": "1"}), "NEW", "OPENAI_API_KEY"),
        (EnvironmentPolicy(ignore_default_excludes=True), "GITHUB_TOKEN", "SSH_AUTH_SOCK"),
    ],
)
def test_the_settings_of_the_original_count(
    policy: EnvironmentPolicy, there: str, gone: str
) -> None:
    """With their meaning; ways to agents come back under none."""
    given = child_environment(SERVER, policy, network=False)
    assert there in given and gone not in given


def test_what_cannot_be_passed_is_left_out() -> None:
    """A name or value that no program could be given."""
    given = child_environment({"A": "x\0y", "B=": "z", "C": "c" * 100_000}, network=True)
    assert not {"A", "B=", "C"} & given.keys()
