"""Who decides whether a tool may act: every policy against every kind of command and change."""

from typing import Any

import pytest

from server.agent.approvals import (
    GRANTS_MAX,
    Ask,
    CommandFacts,
    Need,
    Refuse,
    Run,
    SessionGrants,
    command_key,
    command_need,
    file_change_need,
    is_inside,
    policy_of,
    proposed_prefix,
)
from server.agent.sandbox.policy import policy_of as sandbox_policy_of
from server.agent.sandbox.roots import Roots
from server.agent.tools.kept_places import NO_PLACES, kept_of

READ_ONLY, FREE = {"type": "readOnly"}, {"type": "dangerFullAccess"}
WRITE = {"type": "workspaceWrite"}


def _granular(**given: bool) -> dict[str, Any]:
    parts = {"sandbox_approval": False, "rules": False, "mcp_elicitations": False, **given}
    return {"granular": parts}


def _need(
    policy: Any,
    sandbox: dict[str, Any] = READ_ONLY,
    *,
    rules: dict[tuple[str, ...], str] | None = None,
    grants: SessionGrants | None = None,
    **facts: Any,
) -> Need:
    known: dict[str, Any] = {"key": "k", "segments": (("do", "it"),), "is_known_safe": False}
    return command_need(
        CommandFacts(**{**known, **facts}),
        approval_policy=policy,
        sandbox_policy=sandbox,
        grants=grants or SessionGrants(),
        rules=rules or {},
    )


INSIDE, OUTSIDE = Run(is_sandboxed=True), Run(is_sandboxed=False)


@pytest.mark.parametrize(
    ("policy", "plain", "escalated", "safe", "free"),
    [
        ("untrusted", Ask, Ask, INSIDE, Ask),
        ("on-request", INSIDE, Ask, INSIDE, OUTSIDE),
        ("never", INSIDE, Refuse, INSIDE, OUTSIDE),
        (_granular(sandbox_approval=True), INSIDE, Ask, INSIDE, OUTSIDE),
        (_granular(), INSIDE, Refuse, INSIDE, OUTSIDE),
        ("nonsense", Ask, Ask, INSIDE, Ask),
        (None, Ask, Ask, INSIDE, Ask),
    ],
)
def test_every_policy_meets_every_kind_of_command(
    policy: Any, plain: Any, escalated: Any, safe: Any, free: Any
) -> None:
    """In the sandbox of the policy, out of it, only looking, and where nothing is confined."""
    found = (
        _need(policy),
        _need(policy, is_escalated=True),
        _need(policy, is_known_safe=True),
        _need(policy, FREE),
    )
    for wanted, need in zip((plain, escalated, safe, free), found, strict=True):
        assert need == wanted or type(need) is wanted


def test_what_destroys_much_is_asked_about_even_where_nothing_is_confined() -> None:
    """Unless nobody may be asked and everything is allowed."""
    assert isinstance(_need("on-request", FREE, is_dangerous=True), Ask)
    assert _need("never", FREE, is_dangerous=True) == OUTSIDE


def test_without_a_sandbox_on_the_machine_nothing_runs_unasked() -> None:
    """Not even what only looks."""
    assert isinstance(_need("on-request", can_be_confined=False), Ask)
    assert isinstance(_need("on-request", can_be_confined=False, is_known_safe=True), Ask)
    assert isinstance(_need("never", can_be_confined=False), Refuse)


def test_rules_count_before_policies_and_the_strictest_part_counts() -> None:
    """Allowed only if each part is; forbidden if any is."""
    rules = {("git", "pull"): "allow", ("git",): "prompt", ("rm",): "forbidden"}
    parts: dict[str, Any] = {"segments": (("git", "pull", "x"),)}
    assert isinstance(_need("never", rules=rules, **parts), Refuse)  # the stricter `git` asks
    assert isinstance(_need("on-request", rules=rules, **parts), Ask)
    del rules[("git",)]
    assert _need("untrusted", rules=rules, **parts) == OUTSIDE
    assert _need("never", rules=rules, **parts) == OUTSIDE
    parts = {"segments": (("git", "pull"), ("ls",))}
    assert isinstance(_need("untrusted", rules=rules, **parts), Ask)
    parts = {"segments": (("git", "pull"), ("rm", "x"))}
    assert isinstance(_need("on-request", FREE, rules=rules, **parts), Refuse)
    granted = SessionGrants(commands={"k"})
    assert isinstance(_need("on-request", rules=rules, grants=granted, **parts), Refuse)
    assert isinstance(_need(_granular(rules=True), rules={("do",): "prompt"}), Ask)
    assert isinstance(_need(_granular(), rules={("do",): "prompt"}), Refuse)


def test_a_grant_is_for_that_very_command() -> None:
    """Folder and escalation included."""
    key = command_key(["a", "b"], cwd="/x", is_escalated=True)
    grants = SessionGrants(commands={key})
    assert _need("on-request", grants=grants, key=key, is_escalated=True) == OUTSIDE
    others = (
        command_key(["a b"], cwd="/x", is_escalated=True),
        command_key(["a", "b"], cwd="/y", is_escalated=True),
        command_key(["a", "b"], cwd="/x", is_escalated=False),
    )
    for other in others:
        assert isinstance(_need("on-request", grants=grants, key=other, is_escalated=True), Ask)


def test_what_is_granted_for_a_session_is_bounded_in_number_and_in_length() -> None:
    """However long a command is, a mark of it is kept."""
    grants = SessionGrants()
    for number in range(2 * GRANTS_MAX):
        grants.add_command(command_key(["x" * 10_000, str(number)], cwd="/", is_escalated=False))
        grants.add_files([f"/f/{number}"])
        grants.add_root(f"/r/{number}")
    assert len(grants.commands) == len(grants.files) == len(grants.roots) == GRANTS_MAX
    assert max(map(len, grants.commands)) < 100


def test_a_rule_is_offered_only_where_it_spares_the_next_question() -> None:
    """One part needs it, the others are safe or have one."""
    parts = (("touch", "a"), ("echo", "b"))
    assert proposed_prefix(parts, safe=(False, True), rules={}) == ("touch", "a")
    assert proposed_prefix(parts, safe=(False, False), rules={}) is None
    assert proposed_prefix(parts, safe=(False, False), rules={("echo",): "allow"}) == parts[0]
    assert proposed_prefix(None, safe=(), rules={}) is None


def _change(policy: Any, sandbox: dict[str, Any], *paths: str, **grants: Any) -> Need:
    return file_change_need(
        paths,
        approval_policy=policy,
        sandbox_policy=sandbox,
        outside=kept_of(paths, sandbox_policy_of(sandbox), "/proj", NO_PLACES, Roots()),
        grants=SessionGrants(**grants),
    )


@pytest.mark.parametrize(
    ("policy", "inside", "outside", "free"),
    [
        ("untrusted", Ask, Ask, Ask),
        ("on-request", Run, Ask, Run),
        ("never", Run, Refuse, Run),
        (_granular(sandbox_approval=True), Run, Ask, Run),
        (_granular(), Run, Refuse, Run),
    ],
)
def test_every_policy_meets_every_kind_of_change(
    policy: Any, inside: type, outside: type, free: type
) -> None:
    """Inside the folders that may be written, outside of them, and where nothing is confined."""
    assert type(_change(policy, WRITE, "/proj/a")) is inside
    for paths in (("/proj/a", "/etc/x"), ("/proj/.git/hooks/x",), ("/project/a",)):
        assert type(_change(policy, WRITE, *paths)) is outside
    assert type(_change(policy, READ_ONLY, "/proj/a")) is outside
    assert type(_change(policy, FREE, "/etc/x")) is free


def test_granted_files_and_folders_are_not_asked_about_again() -> None:
    """All of a patch must be granted."""
    assert isinstance(_change("untrusted", WRITE, "/e/x", files={"/e/x"}), Run)
    assert isinstance(_change("untrusted", WRITE, "/e/x", "/e/y", files={"/e/x"}), Ask)
    assert isinstance(_change("never", READ_ONLY, "/e/x", roots={"/e"}), Run)


def test_roots_follow_the_policy() -> None:
    """What a policy names, and the folder for temporary files unless it says otherwise."""
    policy = {**WRITE, "writableRoots": ["/more", "relative", 5], "excludeSlashTmp": True}
    paths = ("/proj/a", "/more/a", "/tmp/a", "/relative/a")
    assert kept_of(paths, sandbox_policy_of(policy), "/proj", NO_PLACES, Roots()) == paths[2:]
    assert kept_of(paths, sandbox_policy_of(WRITE), "/proj", NO_PLACES, Roots()) == (
        "/more/a",
        "/relative/a",
    )
    assert kept_of(paths, sandbox_policy_of(READ_ONLY), "/proj", NO_PLACES, Roots()) == paths
    assert is_inside("/a/b", ["/a"]) and not is_inside("/ab", ["/a"]) and is_inside("/x", ["/"])
    assert policy_of(5).name == "untrusted"
