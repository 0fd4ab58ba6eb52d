"""What a policy lets a command reach: values in, values out."""

from dataclasses import replace
from pathlib import PurePosixPath as Path

import pytest

from server.agent.sandbox.policy import (
    External,
    FullAccess,
    Places,
    Policy,
    PolicyRefused,
    Reach,
    ReadOnly,
    Unconfined,
    WorkspaceWrite,
    policy_of,
    reach_of,
    writable_by,
)

PLACES = Places(
    home=Path("/home/u/.memoryd"),
    user_home=Path("/home/u"),
    hidden=(Path("/home/u/.codex"),),
    tmpdir=Path("/var/folders/t"),
)
WORK = Path("/home/u/project")


def reach(policy: Policy, cwd: Path = WORK, **more: tuple[Path, ...]) -> Reach:
    """Of a policy that confines."""
    found = reach_of(policy, cwd, PLACES, **more)
    assert isinstance(found, Reach), found
    return found


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        ({"type": "readOnly"}, ReadOnly()),
        ({"type": "readOnly", "networkAccess": True}, ReadOnly(network=True)),
        ({"type": "dangerFullAccess"}, FullAccess()),
        ({"type": "externalSandbox", "networkAccess": "enabled"}, External(network=True)),
        (
            {"type": "workspaceWrite", "writableRoots": ["/a", 5], "excludeSlashTmp": True},
            WorkspaceWrite(roots=("/a",), exclude_slash_tmp=True),
        ),
        ({"type": "workspaceWrite", "networkAccess": "yes"}, WorkspaceWrite()),
        ({"type": "somethingNew"}, ReadOnly()),
        ({}, ReadOnly()),
    ],
)
def test_a_policy_is_read_from_the_wire_and_the_unknown_is_the_strictest(
    value: dict[str, object], policy: Policy
) -> None:
    """What cannot be read allows nothing."""
    assert policy_of(value) == policy


def test_workspace_write_opens_the_folder_roots_and_temporary_folders() -> None:
    """And nothing else; the exclusions take the temporary ones away."""
    assert reach(WorkspaceWrite(roots=("/data",))).writable == (
        WORK, Path("/var/folders/t"), Path("/tmp"), Path("/data"),
    )  # fmt: skip
    bare = reach(WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir=True))
    assert bare.writable == (WORK,) and not bare.network
    assert reach(ReadOnly()).writable == ()


def test_folders_of_the_project_stand_in_place_of_the_working_folder() -> None:
    """Beside the roots of the policy; none at all leaves the project as it is."""
    value = {"type": "workspaceWrite", "writableRoots": ["/data"], "excludeSlashTmp": True}
    policy = policy_of({**value, "excludeTmpdirEnvVar": True}, ("/srv/a", "/srv/b"))
    assert isinstance(policy, WorkspaceWrite)
    assert reach(policy).writable == (Path("/srv/a"), Path("/srv/b"), Path("/data"))
    assert reach(replace(policy, workspace=(), roots=())).writable == ()
    assert isinstance(reach_of(replace(policy, workspace=("/home",)), WORK, PLACES), PolicyRefused)
    assert policy_of({"type": "readOnly"}, ("/srv/a",)) == ReadOnly()


@pytest.mark.parametrize("policy", [ReadOnly(), WorkspaceWrite(), WorkspaceWrite(network=True)])
def test_our_home_and_other_secrets_are_hidden_under_every_policy_that_confines(
    policy: Policy,
) -> None:
    """Keys, database, journal, memory: the whole home; and the keys of the user."""
    hidden = reach(policy).hidden
    for path in ("/home/u/.memoryd", "/home/u/.codex", "/home/u/.ssh", "/etc/shadow", "/run"):
        assert Path(path) in hidden


def test_only_the_named_parts_of_our_home_are_shown() -> None:
    """The memory root of the thread, where it has one."""
    own = Path("/home/u/.memoryd/memories_v3/projects/own")
    assert [
        one for one in reach(ReadOnly(), readable=(own,)).shown if PLACES.home in one.parents
    ] == [own]
    assert not any(PLACES.home in one.parents for one in reach(ReadOnly()).shown)


@pytest.mark.parametrize(
    ("policy", "cwd"),
    [
        (ReadOnly(), "/home/u/.memoryd/memories"),
        (WorkspaceWrite(), "/home/u/.memoryd"),
        (WorkspaceWrite(roots=("/home/u/.memoryd/keys",)), "/home/u/project"),
        (WorkspaceWrite(roots=("/",)), "/home/u/project"),
        (WorkspaceWrite(roots=("/home",)), "/home/u/project"),
    ],
)
def test_folders_that_would_open_our_home_or_everything_are_refused(
    policy: Policy, cwd: str
) -> None:
    """With a sentence that says what would do."""
    refused = reach_of(policy, Path(cwd), PLACES)
    assert isinstance(refused, PolicyRefused) and len(refused.reason) > 20


def test_full_access_and_an_outer_sandbox_confine_nothing() -> None:
    """The person said so."""
    for policy in (FullAccess(), External()):
        assert isinstance(reach_of(policy, WORK, PLACES), Unconfined)


def test_the_users_own_home_is_not_written_only_its_plain_folders() -> None:
    """Start files of shells and programs stand in it."""
    found = reach(WorkspaceWrite(), Path("/home/u"))
    assert Path("/home/u") not in found.writable
    assert found.open_folders == (Path("/home/u"),)
    assert not writable_by(found, Path("/home/u/.bashrc"))
    assert not writable_by(found, Path("/home/u/.config/autostart/x"))
    assert writable_by(found, Path("/home/u/project/x"))


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("/home/u/project/a/b", True),
        ("/home/u/project/.git/hooks/pre-commit", False),
        ("/home/u/project/.codex/config.toml", False),
        ("/home/u/other", False),
        ("/home/u/.memoryd/keys/access", False),
        ("/tmp/x", True),
        ("/home/u/project2", False),
    ],
)
def test_tools_of_this_process_ask_the_same_rules(path: str, may: bool) -> None:
    """One answer for commands and for patches."""
    assert writable_by(reach(WorkspaceWrite()), Path(path)) is may


def test_the_server_itself_is_written_by_no_command() -> None:
    """Also by one whose folder lies inside of what is installed."""
    places = replace(PLACES, programs=(Path("/home/u/project/.venv"), Path("/home/u/tool/server")))
    found = reach_of(WorkspaceWrite(), Path("/home/u/project"), places)
    assert isinstance(found, Reach)
    assert not writable_by(found, Path("/home/u/project/.venv/lib/x.py"))
    assert writable_by(found, Path("/home/u/project/x.py"))
    inside = reach_of(WorkspaceWrite(), Path("/home/u/tool/server/agent"), places)
    assert isinstance(inside, Reach)
    assert not writable_by(inside, Path("/home/u/tool/server/agent/x.py"))
