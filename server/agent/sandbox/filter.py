"""The filter of system calls that every confined command runs under. Pure.

It refuses what the mounts or file rules of a sandbox cannot hold back: sockets, other processes'
memory, kernel interfaces, new namespaces, typing into a terminal. Sockets of the Unix family are
refused always, since agents of the same user (ssh, gpg, Docker, D-Bus) listen on paths; connected
pairs are allowed, but not of datagrams, which could be addressed to a path.
"""

import errno
import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from server.agent.sandbox.syscalls import Machine, number

_REFUSED: Final = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    "io_uring_setup", "mount", "umount2", "move_mount", "open_tree", "open_tree_attr", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "pivot_root", "chroot", "unshare", "setns",
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "open_by_handle_at",
    "name_to_handle_at", "mknod", "mknodat", "quotactl", "quotactl_fd", "swapon", "swapoff",
    "reboot", "acct", "settimeofday", "clock_settime", "clock_adjtime", "sethostname",
    "setdomainname", "syslog", "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "vhangup",
    "fanotify_init",
)  # fmt: skip
_SHARED_BY_THE_MACHINE: Final = (
    "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
    "semtimedop", "semctl", "mq_open", "mq_unlink", "inotify_add_watch",
)  # fmt: skip
"""What a namespace holds apart; where there is none, these are refused too: an object of another
program is reached by its number alone."""
_NOT_HELD_BY_FILE_RULES: Final = (
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
    "setxattrat", "removexattrat",
)  # fmt: skip
"""Attributes and access lists of any file of the user: where no mount holds them, no file has them.
"""
_OF_ALL_OF_THE_USER: Final = {"setpriority": 2, "ioprio_set": 3}
"""What the first argument must not be there: every process of the user, under the number 0."""
_ONLY_ON_ITSELF: Final = {
    "prlimit64": 0, "setpriority": 1, "sched_setaffinity": 0, "sched_setscheduler": 0,
    "sched_setparam": 0, "sched_setattr": 0, "ioprio_set": 1, "migrate_pages": 0, "move_pages": 0,
}  # fmt: skip
"""Which argument names a process; without a process namespace only 0, the caller, is allowed."""
_NEW_NAMESPACES: Final = 0x7E02_0000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KIND = 1, 5, 0xF
_X32_BIT: Final = 0x4000_0000

_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000 | errno.EPERM
_UNSUPPORTED: Final = 0x0005_0000 | errno.EOPNOTSUPP
_UNKNOWN: Final = 0x0005_0000 | errno.ENOSYS

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x20, 0x15, 0x35, 0x45
_AND, _RETURN = 0x54, 0x06
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16


class Step(NamedTuple):
    """One instruction."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def program(machine: Machine, *, network: bool, namespaces: bool) -> bytes:
    """The filter, as the kernel and bubblewrap take it.

    `namespaces` says that the command has its own ones for interprocess objects and mounts.
    """
    steps = [
        Step(_LOAD, _AT_ARCH),
        Step(_JUMP_EQUAL, machine.audit_arch, 1, 0),
        Step(_RETURN, _REFUSE),
        Step(_LOAD, _AT_NUMBER),
        Step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        Step(_RETURN, _REFUSE),
    ]
    refused = _REFUSED if namespaces else (*_REFUSED, *_SHARED_BY_THE_MACHINE)
    for name in refused:
        steps += _call(machine, name, [Step(_RETURN, _REFUSE)])
    for name in () if namespaces else _NOT_HELD_BY_FILE_RULES:
        steps += _call(machine, name, [Step(_RETURN, _UNSUPPORTED)])
    for name, index in () if namespaces else _ONLY_ON_ITSELF.items():
        body = [Step(_LOAD, _argument(index)), *_allow_only((0,))]
        if (all_of_them := _OF_ALL_OF_THE_USER.get(name)) is not None:
            which = [Step(_JUMP_EQUAL, all_of_them, 0, 1), Step(_RETURN, _REFUSE)]
            body = [Step(_LOAD, _argument(0)), *which, *body]
        steps += _call(machine, name, body)
    steps += _call(machine, "clone3", [Step(_RETURN, _UNKNOWN)])  # libraries fall back to clone
    steps += _call(machine, "clone", [
        Step(_LOAD, _argument(0)),
        Step(_JUMP_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        Step(_RETURN, _REFUSE),
        Step(_RETURN, _ALLOW),
    ])  # fmt: skip
    steps += _call(machine, "ioctl", [
        Step(_LOAD, _argument(1)), *_refuse_if_one_of((_TIOCSTI, _TIOCLINUX)),
    ])  # fmt: skip
    steps += _call(machine, "socket", _socket(network))
    steps += _call(machine, "socketpair", [
        Step(_LOAD, _argument(0)),
        Step(_JUMP_EQUAL, _AF_UNIX, 1, 0),
        Step(_RETURN, _REFUSE),
        Step(_LOAD, _argument(1)),
        Step(_AND, _SOCK_KIND),
        *_allow_only((_SOCK_STREAM, _SOCK_SEQPACKET)),
    ])  # fmt: skip
    steps.append(Step(_RETURN, _ALLOW))
    return b"".join(struct.pack("=HBBI", s.code, s.if_true, s.if_false, s.value) for s in steps)


def _socket(network: bool) -> list[Step]:
    if not network:
        return [Step(_RETURN, _REFUSE)]
    # Routing tables are asked over netlink, protocol 0; resolvers need that.
    return [
        Step(_LOAD, _argument(0)),
        Step(_JUMP_EQUAL, _AF_NETLINK, 0, 3),
        Step(_LOAD, _argument(2)),
        Step(_JUMP_EQUAL, 0, 0, 4),
        Step(_RETURN, _ALLOW),
        Step(_JUMP_EQUAL, _AF_INET, 1, 0),
        Step(_JUMP_EQUAL, _AF_INET6, 0, 1),
        Step(_RETURN, _ALLOW),
        Step(_RETURN, _REFUSE),
    ]


def _call(machine: Machine, name: str, body: Sequence[Step]) -> Iterable[Step]:
    """The body for one call; it ends in a return. The number is loaded before and after."""
    found = number(name, machine)
    if found is None:
        return []
    return [Step(_JUMP_EQUAL, found, 0, len(body)), *body]


def _refuse_if_one_of(values: Sequence[int]) -> list[Step]:
    steps: list[Step] = []
    for value in values:
        steps += [Step(_JUMP_EQUAL, value, 0, 1), Step(_RETURN, _REFUSE)]
    return [*steps, Step(_RETURN, _ALLOW)]


def _allow_only(values: Sequence[int]) -> list[Step]:
    steps: list[Step] = []
    for value in values:
        steps += [Step(_JUMP_EQUAL, value, 0, 1), Step(_RETURN, _ALLOW)]
    return [*steps, Step(_RETURN, _REFUSE)]


def _argument(index: int) -> int:
    """Where the low half of an argument stands; both processors are little-endian."""
    return _AT_ARGUMENTS + 8 * index
