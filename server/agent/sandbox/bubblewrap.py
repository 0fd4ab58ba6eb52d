"""The arguments of bubblewrap for one command. Pure.

The whole file tree is bound read-only, since compilers, interpreters and their packages lie
anywhere; writable folders, protected ones, masks over hidden ones and what is shown of those are
laid over it from the outside in, so the deepest rule for a path decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath as Path
from typing import Literal

from server.agent.sandbox.survey import Ground

NOBODY = 65_534
Kind = Literal["bind", "ro-bind", "mask folder", "mask file"]


def arguments(
    ground: Ground,
    environment: Mapping[str, str],
    *,
    opened: Mapping[str, int],
    user_id: int,
    group_id: int,
    filter_fd: int,
    can_forbid_namespaces: bool,
) -> list[str]:
    """Everything before the command; meant for `--args`, so that no process list shows it.

    `opened` holds a descriptor for each of `bound`: by its path, a folder that a running command
    exchanges for a link would be bound from where the link leads.
    """
    root = user_id == 0
    given = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
    given += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if can_forbid_namespaces:
        given.append("--disable-userns")
    if not ground.network:
        given.append("--unshare-net")
    given += ["--uid", str(NOBODY if root else user_id), "--gid", str(NOBODY if root else group_id)]
    given += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    # Settings of the kernel belong to user id 0 of the machine, which root keeps in any namespace.
    given += ["--remount-ro", "/proc"]
    masks = []
    for path, kind in _layers(ground):
        match kind:
            case "mask folder":
                given += ["--perms", "0555", "--tmpfs", path]
                masks.append(path)
            case "mask file":
                given += ["--ro-bind", "/dev/null", path]
            case _:
                given += [f"--{kind}-fd", str(opened[path]), path]
    # Only now, since what is shown inside a mask needs a place to be laid on.
    for path in masks:
        given += ["--remount-ro", path]
    given += ["--seccomp", str(filter_fd), "--chdir", ground.cwd, "--clearenv"]
    for name, value in environment.items():
        given += ["--setenv", name, value]
    return given


def bound(ground: Ground) -> list[str]:
    """The places that are bound as they are, each to be opened beforehand."""
    return [path for path, kind in _layers(ground) if kind in ("bind", "ro-bind")]


def _layers(ground: Ground) -> Iterator[tuple[str, Kind]]:
    """Every place with what is laid there, outer ones first; for one path the last word counts."""
    layers: dict[str, Kind] = {}
    layers.update((path, "bind") for path in _pinned(ground))
    layers.update((path, "ro-bind") for path in ground.shown)
    layers.update((path, "bind") for path in ground.writable)
    layers.update((path, "ro-bind") for path in ground.protected)
    layers.update((path, "mask folder") for path in ground.hidden_folders)
    layers.update((path, "mask file") for path in ground.hidden_files)
    layers.pop("/", None)
    yield from sorted(layers.items(), key=lambda layer: (layer[0].count("/"), layer[0]))


def _pinned(ground: Ground) -> Iterator[str]:
    """Folders between a writable one and a hidden or protected one inside it.

    A folder that is a mount cannot be renamed: otherwise a command could move the folder around a
    hidden place, and the next command would find it unmasked under its new name.
    """
    closed = (*ground.hidden, *ground.protected)
    for barred in closed:
        for folder in map(str, Path(barred).parents):
            # Inside a closed place nothing moves anyway, and a pin would open it.
            if _innermost(folder, ground.writable) > _innermost(folder, closed):
                yield folder


def _innermost(path: str, folders: Sequence[str]) -> int:
    """How long the name is of the innermost of these folders that the path lies in; 0 for none."""
    return max((len(one) for one in folders if _strictly_inside(path, one)), default=0)


def _strictly_inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def with_limits(
    command: Sequence[str], limits: Mapping[str, int], *, prlimit: str | None
) -> list[str]:
    """The command behind its resource limits, which are set inside the sandbox."""
    if prlimit is None or not limits:
        return list(command)
    names = {
        "RLIMIT_CORE": "core", "RLIMIT_DATA": "data", "RLIMIT_FSIZE": "fsize",
        "RLIMIT_NOFILE": "nofile", "RLIMIT_NPROC": "nproc", "RLIMIT_CPU": "cpu",
    }  # fmt: skip
    return [prlimit, *(f"--{names[n]}={v}:{v}" for n, v in limits.items()), "--", *command]
