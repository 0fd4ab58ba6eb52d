"""Who decides whether a tool may act: nobody needs to, a person, or the policy says no. Pure.

Invariant: what cannot be read is the stricter case. Nothing here runs, asks or writes; a session's
grants live as long as its thread is loaded.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from server.agent.command_rules import Words, judged

PolicyName = Literal["untrusted", "on-request", "never", "granular"]
UNCONFINED = frozenset({"dangerFullAccess", "externalSandbox"})
"""Sandbox policies under which we confine nothing: allowed to, or done outside."""
GRANTS_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """When a person is asked; of `granular` the parts say which questions may come at all."""

    name: PolicyName
    sandbox_approval: bool = True
    """Commands and changes beyond the sandbox."""
    rules: bool = True
    """Commands for which a rule says `prompt`."""
    mcp_elicitations: bool = True
    request_permissions: bool = True

    @property
    def asks(self) -> bool:
        """Whether there is anything about which it asks."""
        return self.name != "never"


def policy_of(value: Any) -> ApprovalPolicy:
    """A policy from the wire's value; one that cannot be read counts as `untrusted`."""
    if value in ("untrusted", "on-request", "never"):
        return ApprovalPolicy(name=value)
    granular = value.get("granular") if isinstance(value, Mapping) else None
    if not isinstance(granular, Mapping):
        return ApprovalPolicy(name="untrusted")
    return ApprovalPolicy(
        name="granular",
        sandbox_approval=granular.get("sandbox_approval") is True,
        rules=granular.get("rules") is True,
        mcp_elicitations=granular.get("mcp_elicitations") is True,
        request_permissions=granular.get("request_permissions") is True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """It may act at once."""

    is_sandboxed: bool
    """Whether it must stay inside the sandbox of the thread's policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person must say so first; accepted, it runs outside the sandbox unless `is_sandboxed`."""

    reason: str | None = None
    is_sandboxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """It may not act, and nobody is asked; the message is for the model."""

    message: str


Need = Run | Ask | Refuse


@dataclass(slots=True)
class SessionGrants:
    """What a person accepted for the rest of a session; one per loaded thread, never stored."""

    commands: set[str] = field(default_factory=set)
    """Keys of `command_key`."""
    files: set[str] = field(default_factory=set)
    """Real paths that may be changed."""
    roots: set[str] = field(default_factory=set)
    """Real paths of folders that may be written."""

    def add_command(self, key: str) -> None:
        """Remember a command; beyond the bound nothing more is remembered."""
        if len(self.commands) < GRANTS_MAX:
            self.commands.add(key)

    def add_files(self, paths: Iterable[str]) -> None:
        """Remember files; beyond the bound nothing more is remembered."""
        for path in paths:
            if len(self.files) < GRANTS_MAX:
                self.files.add(path)

    def add_root(self, root: str) -> None:
        """Remember a folder; beyond the bound nothing more is remembered."""
        if len(self.roots) < GRANTS_MAX:
            self.roots.add(root)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFacts:
    """What is known of a command before it runs."""

    key: str
    """From `command_key`."""
    segments: tuple[Words, ...] | None
    """The plain commands it is made of; None when it could not be taken apart."""
    is_known_safe: bool
    """Whether each of them only looks."""
    is_dangerous: bool = False
    """Whether one of them destroys much at once."""
    is_escalated: bool = False
    """Whether the model asked to run it outside the sandbox."""
    can_be_confined: bool = True
    """Whether this machine has a sandbox to run it in."""


def command_key(command: Sequence[str], *, cwd: str, is_escalated: bool) -> str:
    """What a grant for the session remembers of a command: a mark of all of it."""
    whole = json.dumps([list(command), cwd, is_escalated])
    return hashlib.sha256(whole.encode()).hexdigest()


def command_need(
    facts: CommandFacts,
    *,
    approval_policy: Any,
    sandbox_policy: Mapping[str, Any],
    grants: SessionGrants,
    rules: Mapping[Words, str],
) -> Need:
    """What must happen before a command runs."""
    policy = policy_of(approval_policy)
    ruled = judged(rules, facts.segments)
    if ruled == "forbidden":
        return Refuse(message="the command is forbidden by a rule of the user")
    if facts.key in grants.commands:
        return Run(is_sandboxed=not facts.is_escalated and facts.can_be_confined)
    if ruled == "allow":
        return Run(is_sandboxed=False)
    if ruled == "prompt":
        return _asked(policy, allowed=policy.rules, what="a rule of the user demands approval")
    if facts.is_known_safe and not facts.is_escalated and facts.can_be_confined:
        return Run(is_sandboxed=True)
    return _without_rule(facts, policy, str(sandbox_policy.get("type")) in UNCONFINED)


def _without_rule(facts: CommandFacts, policy: ApprovalPolicy, unconfined: bool) -> Need:
    if policy.name == "untrusted":
        return Ask(is_sandboxed=not facts.is_escalated and facts.can_be_confined)
    if facts.is_dangerous and policy.asks:
        return _asked(policy, allowed=policy.sandbox_approval, what="it may destroy much")
    if unconfined:
        return Run(is_sandboxed=False)
    if facts.is_escalated:
        what = "it asks to run outside the sandbox"
        return _asked(policy, allowed=policy.sandbox_approval, what=what)
    if not facts.can_be_confined:
        what = "no sandbox is available on this machine"
        return _asked(policy, allowed=policy.sandbox_approval, what=what)
    return Run(is_sandboxed=True)


def _asked(policy: ApprovalPolicy, *, allowed: bool, what: str) -> Need:
    if policy.asks and allowed:
        return Ask()
    return Refuse(
        message=f"the command was not run: {what}, and the approval policy "
        f"`{policy.name}` lets nobody be asked"
    )


def file_change_need(
    paths: Sequence[str],
    *,
    approval_policy: Any,
    sandbox_policy: Mapping[str, Any],
    outside: Sequence[str],
    grants: SessionGrants,
) -> Need:
    """What must happen before files change; all paths are real ones, without links.

    `outside` are those of them that the sandbox policy does not open.
    """
    policy = policy_of(approval_policy)
    unconfined = str(sandbox_policy.get("type")) in UNCONFINED
    if all(one in grants.files or is_inside(one, sorted(grants.roots)) for one in paths):
        return Run(is_sandboxed=False)
    if policy.name == "untrusted":
        return Ask(is_sandboxed=not outside)
    if unconfined:
        return Run(is_sandboxed=False)
    if not outside:
        return Run(is_sandboxed=True)
    if policy.asks and policy.sandbox_approval:
        return Ask(reason=None)
    return Refuse(
        message=f"{outside[0]} is outside the folders that may be written, and the approval "
        f"policy `{policy.name}` lets nobody be asked; nothing was changed"
    )


def is_inside(path: str, roots: Sequence[str], *, except_in: Sequence[str] = ()) -> bool:
    """Whether a real path lies in one of these folders and in none of the excepted ones."""
    return any(_under(path, root) for root in roots) and not any(
        _under(path, one) for one in except_in
    )


def _under(path: str, folder: str) -> bool:
    folder = folder.rstrip("/") or "/"
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")


def proposed_prefix(
    segments: Sequence[Words] | None, *, safe: Sequence[bool], rules: Mapping[Words, str]
) -> tuple[str, ...] | None:
    """The rule to offer with a question: the first part of the command that needs one.

    None when the command was not taken apart, or when more than one part needs a rule, since
    saving one would then not spare the next question.
    """
    if segments is None or len(segments) != len(safe):
        return None
    needy = [
        words
        for words, is_safe in zip(segments, safe, strict=True)
        if not is_safe and judged(rules, (words,)) is None
    ]
    return tuple(needy[0]) if len(needy) == 1 and needy[0] else None
