"""What a command may read, write and reach, as values. Pure: no file is looked at.

Invariant: the places of `hidden` are hidden under every policy but full access, whatever stands
inside or around them; of our own home nothing is ever shown but what `Places.readable` names.
A policy that cannot be read is the strictest one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, assert_never

Path = PurePosixPath

PROTECTED_NAMES = (".git", ".codex", ".agents", ".memoryd")
"""Inside a writable folder these stay read-only: hooks, settings and rules of later programs."""

NAMES_KEPT_FREE = (".codex", ".agents", ".memoryd")
"""Those that a command may not make either, at the top of a folder; `git init` it may."""

PERSONAL_SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
    ".config/op", ".netrc", ".git-credentials", ".config/git/credentials", ".pgpass",
    ".password-store", ".local/share/keyrings", ".cargo/credentials", ".cargo/credentials.toml",
    ".pypirc", ".mozilla", ".config/chromium", ".config/google-chrome", ".vault-token",
)  # fmt: skip
"""Below a user's home: keys and passwords that no build needs."""

SYSTEM_SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key", "/etc/krb5.keytab", "/run", "/var/run", "/var/spool/cron",
    "/var/lib/docker", "/var/lib/containers", "/sys/kernel/debug", "/sys/kernel/tracing",
)  # fmt: skip
"""Of the machine. `/run` holds sockets, pipes and mounted secrets."""

SHOWN_IN_RUN = (
    "/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf",
    "/run/current-system", "/run/opengl-driver", "/run/wrappers",
)  # fmt: skip
"""What programs need of `/run`: name resolution, and the whole of some distributions."""


@dataclass(frozen=True, slots=True)
class FullAccess:
    """No sandbox: the person said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """The person runs the whole server in a sandbox; ours adds nothing."""

    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnly:
    """Nothing may be written."""

    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceWrite:
    """The working folder, further roots and temporary folders may be written."""

    workspace: tuple[str, ...] | None = None
    """What may be written in place of the working folder."""
    roots: tuple[str, ...] = ()
    network: bool = False
    exclude_tmpdir: bool = False
    exclude_slash_tmp: bool = False


Policy = FullAccess | External | ReadOnly | WorkspaceWrite


def policy_of(value: Mapping[str, Any], workspace: tuple[str, ...] | None = None) -> Policy:
    """The policy that a value of the wire means, where a thread has such folders of its project."""
    match value.get("type"):
        case "dangerFullAccess":
            return FullAccess()
        case "externalSandbox":
            return External(network=value.get("networkAccess") == "enabled")
        case "workspaceWrite":
            roots = value.get("writableRoots") or ()
            return WorkspaceWrite(
                workspace=workspace,
                roots=tuple(one for one in roots if isinstance(one, str)),
                network=value.get("networkAccess") is True,
                exclude_tmpdir=value.get("excludeTmpdirEnvVar") is True,
                exclude_slash_tmp=value.get("excludeSlashTmp") is True,
            )
        case "readOnly":
            return ReadOnly(network=value.get("networkAccess") is True)
        case _:
            return ReadOnly()


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things are on this machine; real paths, without links."""

    home: Path
    """Of memoryd; hidden as a whole."""
    user_home: Path
    hidden: tuple[Path, ...] = ()
    """Further places that hold secrets or memory, such as the homes of other agents."""
    tmpdir: Path | None = None
    """What the variable TMPDIR names."""
    programs: tuple[Path, ...] = ()
    """Where the server itself is installed, with what confines commands: never written by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a command gets. Everything that is not hidden may be read and executed.

    Later fields win over earlier ones: a folder of `shown` lies inside a hidden one, a folder of
    `protected` inside a writable one.
    """

    cwd: Path
    writable: tuple[Path, ...] = ()
    """Folders that may be written, with everything below."""
    open_folders: tuple[Path, ...] = ()
    """Folders whose plain subfolders may be written, and they themselves not."""
    protected: tuple[Path, ...] = ()
    searched: tuple[Path, ...] = ()
    """Writable folders in which places of `PROTECTED_NAMES` are read-only at any depth, as far as
    they are found when a command starts; temporary folders are not among them."""
    hidden: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True)
class PolicyRefused:
    """No command may run so; the sentence says why and what would."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unconfined:
    """Nothing is held back."""

    cwd: Path
    kind: Literal["full access", "external sandbox"] = field(default="full access")


def reach_of(
    policy: Policy, cwd: Path, places: Places, *, readable: tuple[Path, ...] = ()
) -> Reach | Unconfined | PolicyRefused:
    """What a command with that working folder may reach; all paths are real ones.

    `readable` are folders of our own home that this thread may read, such as its memory root.
    """
    match policy:
        case FullAccess():
            return Unconfined(cwd)
        case External():
            return Unconfined(cwd, "external sandbox")
        case ReadOnly():
            return _confined(cwd, (), places, readable, network=policy.network)
        case WorkspaceWrite():
            roots = _roots(policy, cwd, places)
            return _confined(cwd, roots, places, readable, network=policy.network)
        case _:
            assert_never(policy)


def _roots(policy: WorkspaceWrite, cwd: Path, places: Places) -> tuple[Path, ...]:
    """The folders asked for; one that nobody named is left out where it would open too much."""
    unnamed = [cwd] if policy.workspace is None else []
    if places.tmpdir is not None and not policy.exclude_tmpdir:
        unnamed.append(places.tmpdir)
    if not policy.exclude_slash_tmp:
        unnamed.append(Path("/tmp"))  # noqa: S108
    fit = [
        one
        for one in unnamed
        if not _above(one, places.user_home) and not _within(one, places.home)
    ]
    asked = (*(policy.workspace or ()), *policy.roots)
    named = (Path(one) for one in asked if one.startswith("/"))
    return tuple(dict.fromkeys((*fit, *named)))


def _confined(
    cwd: Path,
    roots: tuple[Path, ...],
    places: Places,
    readable: tuple[Path, ...],
    *,
    network: bool,
) -> Reach | PolicyRefused:
    for one in (cwd, *roots):
        if _within(one, places.home):
            return PolicyRefused(
                f"{one} lies inside memoryd's own home {places.home}, which no command may see; "
                "work in another folder"
            )
    if wide := next((one for one in roots if _above(one, places.user_home)), None):
        return PolicyRefused(
            f"the writable folder {wide} holds the home folder {places.user_home}; name folders "
            "inside it, or choose danger-full-access"
        )
    plain = tuple(one for one in roots if one != places.user_home)
    return Reach(
        cwd=cwd,
        writable=plain,
        open_folders=tuple(one for one in roots if one == places.user_home),
        protected=(
            *(one / name for one in plain for name in PROTECTED_NAMES),
            *(_inner(one, program) for one in roots for program in places.programs),
        ),
        searched=tuple(one for one in plain if one not in _temporary(places) or one == cwd),
        hidden=hidden_places(places),
        shown=(*_shown(cwd, roots, places), *(one for one in readable)),
        network=network,
    )


def _inner(root: Path, program: Path) -> Path:
    """What of a writable folder belongs to a program: all of it, where it lies inside one."""
    return root if _within(root, program) else program


def _temporary(places: Places) -> tuple[Path, ...]:
    return (Path("/tmp"), *(() if places.tmpdir is None else (places.tmpdir,)))  # noqa: S108


def hidden_places(places: Places) -> tuple[Path, ...]:
    """What no confined command sees, our own home first."""
    personal = (places.user_home / one for one in PERSONAL_SECRETS)
    system = (Path(one) for one in SYSTEM_SECRETS)
    return tuple(dict.fromkeys((places.home, *places.hidden, *personal, *system)))


def _shown(cwd: Path, roots: tuple[Path, ...], places: Places) -> tuple[Path, ...]:
    """Parts of hidden places that are needed: of the system's, and where the person works."""
    others = [one for one in hidden_places(places) if one != places.home]
    work = (one for one in (cwd, *roots) if any(_within(one, place) for place in others))
    return tuple(dict.fromkeys((*(Path(one) for one in SHOWN_IN_RUN), *work)))


def writable_by(reach: Reach, path: Path) -> bool:
    """Whether a command with this reach may write there, for tools that write by themselves."""
    if any(_within(path, one) for one in reach.protected):
        return False
    for root in (one for one in reach.searched if _within(path, one)):
        # Whatever the case: not every file system tells names apart by it.
        if any(part.casefold() in PROTECTED_NAMES for part in path.relative_to(root).parts):
            return False
    if hidden_in(path, reach.hidden, reach.shown):
        return False
    if any(_within(path, one) for one in reach.writable):
        return True
    return any(
        _within(path, one) and path.parent != one and not path.relative_to(one).parts[0][0] == "."
        for one in reach.open_folders
    )


def hidden_in(path: Path, hidden: Sequence[Path], shown: Sequence[Path]) -> bool:
    """Whether a path lies in a hidden place and in nothing shown inside of it."""
    around = [one for one in hidden if _within(path, one)]
    return any(not any(_within(path, s) and _within(s, one) for s in shown) for one in around)


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _above(path: Path, folder: Path) -> bool:
    return path in folder.parents
