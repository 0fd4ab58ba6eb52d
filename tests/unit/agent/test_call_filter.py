"""The filter of system calls, run by hand on made-up calls."""

import errno
import struct

import pytest

from server.agent.sandbox.filter import program
from server.agent.sandbox.syscalls import MACHINES, number

ALLOWED, REFUSED, UNKNOWN = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
UNSUPPORTED = 0x50000 | errno.EOPNOTSUPP


def verdict(code: bytes, call: int, arguments: tuple[int, ...], arch: int) -> int:
    """What the kernel would make of a call."""
    data = struct.pack("=IIQ6Q", call, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("=HBBI", code))
    at, value = 0, 0
    while True:
        kind, if_true, if_false, operand = steps[at]
        at += 1
        if kind == 0x20:
            [value] = struct.unpack_from("=I", data, operand)
        elif kind == 0x54:
            value &= operand
        elif kind == 0x06:
            return int(operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}
            at += if_true if holds[kind] else if_false


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    ("call", "arguments", "network", "namespaces", "expected"),
    [
        ("socket", (2, 1), False, True, REFUSED),
        ("socket", (1, 1), False, True, REFUSED),
        ("socket", (2, 1), True, True, ALLOWED),
        ("socket", (10, 2), True, True, ALLOWED),
        ("socket", (1, 1), True, True, REFUSED),
        ("socket", (16, 3, 0), True, True, ALLOWED),
        ("socket", (16, 3, 9), True, True, REFUSED),
        ("socket", (40, 1), True, True, REFUSED),
        ("socketpair", (1, 1 | 0x80000), False, True, ALLOWED),
        ("socketpair", (1, 5), False, True, ALLOWED),
        ("socketpair", (1, 2), False, True, REFUSED),
        ("socketpair", (2, 1), True, True, REFUSED),
        ("clone", (0x11,), False, True, ALLOWED),
        ("clone", (0x10000011,), False, True, REFUSED),
        ("clone3", (), False, True, UNKNOWN),
        ("ioctl", (0, 0x5401), False, True, ALLOWED),
        ("ioctl", (0, 0x5412), False, True, REFUSED),
        ("ioctl", (0, 0x541C), False, True, REFUSED),
        ("ptrace", (16, 1), False, True, REFUSED),
        ("io_uring_setup", (8,), True, True, REFUSED),
        ("keyctl", (), False, True, REFUSED),
        ("prlimit64", (0,), False, False, ALLOWED),
        ("prlimit64", (77,), False, False, REFUSED),
        ("prlimit64", (77,), False, True, ALLOWED),
        ("setpriority", (0, 77), False, False, REFUSED),
        ("setpriority", (0, 0), False, False, ALLOWED),
        ("setpriority", (2, 0), False, False, REFUSED),
        ("setpriority", (2, 0), False, True, ALLOWED),
        ("ioprio_set", (3, 0), False, False, REFUSED),
        ("ioprio_set", (1, 0), False, False, ALLOWED),
        ("shmat", (7,), False, False, REFUSED),
        ("msgrcv", (7,), False, False, REFUSED),
        ("semop", (7,), False, False, REFUSED),
        ("mq_unlink", (), False, False, REFUSED),
        ("shmat", (7,), False, True, ALLOWED),
        ("setxattr", (), False, False, UNSUPPORTED),
        ("setxattr", (), False, True, ALLOWED),
        ("ioctl", (0, 0x1_0000_5412), False, True, REFUSED),
        ("shmget", (), False, False, REFUSED),
        ("shmget", (), False, True, ALLOWED),
    ],
)
def test_each_call_gets_its_verdict(
    name: str,
    call: str,
    arguments: tuple[int, ...],
    network: bool,
    namespaces: bool,
    expected: int,
) -> None:
    """On both processors, with and without a network and namespaces."""
    machine = MACHINES[name]
    found = number(call, machine)
    assert found is not None
    code = program(machine, network=network, namespaces=namespaces)
    assert verdict(code, found, arguments, machine.audit_arch) == expected


@pytest.mark.parametrize("name", MACHINES)
def test_other_processors_and_numberings_get_nothing(name: str) -> None:
    """A 32-bit program, and the other numbering of 64-bit ones; plain calls pass."""
    machine = MACHINES[name]
    code = program(machine, network=True, namespaces=True)
    assert verdict(code, 1, (), 0x40000003) == REFUSED
    assert verdict(code, 0x40000000 + 39, (), machine.audit_arch) == REFUSED
    assert verdict(code, 63, (), machine.audit_arch) == ALLOWED
