"""Starts one command, stays its reaper, and leaves nothing of it behind.

Run as a program of its own (`python -I -S confine.py SPEC_FD CONTROL_FD`), with few modules of the
standard library, since each is paid for with every command. The parent adopts what the command
leaves behind (double forks, new sessions) and kills all of it when the command ends or when the
control pipe closes, which the death of the server does too. The child, where the spec says so,
takes limits, gives up every capability, and confines itself with Landlock and the filter of system
calls before it becomes the command.
"""

import ctypes
import errno
import fcntl
import marshal
import os
import resource
import select
import signal
import stat
import struct
import sys
import termios

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 4, 24, 28
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAP_AMBIENT = 36, 38, 22, 47
_CAP_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER = 4, 2
_NO_ROOT_LOCKED = 0x2F  # no capabilities by user id 0, and no way back
_CAPABILITY_VERSION = 0x20080522

_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
LANDLOCK_ABI_MIN = 6
"""From there on signals and abstract sockets are held back too."""
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL = (1 << 16) - 1
_WRITE = _ALL & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

CANNOT_START = 126
_KILL_ROUNDS_MAX = 10_000
_STOP_ROUNDS_MAX = 200
_LOOK_MS = 200


class Spec:
    """What to start; made by `launch.py`, in this order."""

    def __init__(self, given: tuple[object, ...]) -> None:
        argv, environment, cwd, tty, limits, landlock, program = given
        self.argv = _texts(argv)
        self.environment = _table(environment)
        self.cwd = str(cwd)
        self.has_terminal = bool(tty)
        self.limits = {name: int(value) for name, value in _table(limits).items()}
        self.rules = None if landlock is None else Rules(landlock)
        assert isinstance(program, bytes)
        self.filter = program


class Rules:
    """Places by what may be done there; whether the network is allowed."""

    def __init__(self, given: object) -> None:
        assert isinstance(given, tuple)
        writable, protected, hidden, shown, network = given
        self.writable, self.protected = _texts(writable), _texts(protected)
        self.hidden, self.shown = _texts(hidden), _texts(shown)
        self.network = bool(network)


def _texts(given: object) -> list[str]:
    assert isinstance(given, list | tuple)
    return [str(one) for one in given]


def _table(given: object) -> dict[str, str]:
    assert isinstance(given, dict)
    return {str(name): str(value) for name, value in given.items()}


def main() -> None:
    """Read the spec, start the command, wait for it."""
    spec_fd, control_fd = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(spec_fd, "rb") as file:
        spec = Spec(marshal.load(file))  # noqa: S302 the server wrote it, to a file of its own
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_DUMPABLE, 0)  # the spec holds the environment
    told, tell = os.pipe()
    signal.set_wakeup_fd(_unblocking(tell))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        _become(spec, control_fd)
    _let_go_of_the_streams()
    # User id 0 is never refused a process by the kernel, so its are counted here.
    counted = spec.limits.get("RLIMIT_NPROC") if os.geteuid() == 0 else None
    status = _watched(child, control_fd, told, counted)
    _kill_the_rest()
    os._exit(status)


def _unblocking(descriptor: int) -> int:
    os.set_blocking(descriptor, False)
    return descriptor


def _let_go_of_the_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _watched(child: int, control_fd: int, told: int, processes_max: "int | None") -> int:
    """The command's exit status; 137 when it had to be killed."""
    lowest = tasks_of_the_machine()
    poll = select.poll()
    poll.register(control_fd, select.POLLHUP | select.POLLERR)
    poll.register(told, select.POLLIN)
    while True:
        look = None if processes_max is None else _LOOK_MS
        ready = {descriptor for descriptor, _ in poll.poll(look)}
        if told in ready:
            os.read(told, 4_096)
        if (status := _reaped(child)) is not None:
            return status
        if control_fd in ready:
            return 128 + signal.SIGKILL
        if processes_max is not None:
            now = tasks_of_the_machine()
            lowest = min(lowest, now)
            crowded = now - lowest > processes_max
            if crowded and len(descendants(os.getpid())) > processes_max:
                _stop_them()
                return 128 + signal.SIGKILL


def tasks_of_the_machine() -> int:
    """How many tasks the machine has, threads among them; 0 where it does not say."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _stop_them() -> None:
    """Until none of them runs: what is stopped starts nothing more, so that killing ends."""
    stopped: set[int] = set()
    for _ in range(_STOP_ROUNDS_MAX):
        running = set(descendants(os.getpid())) - stopped
        if not running:
            return
        for pid in running:
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                continue
        stopped |= running


def _reaped(child: int) -> int | None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 128 + signal.SIGKILL
        if pid == 0:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _kill_the_rest() -> None:
    """Until no descendant is left; the orphans of what is killed come to us."""
    for _ in range(_KILL_ROUNDS_MAX):
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def descendants(root: int) -> list[int]:
    """The processes that this one started, itself or through others."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    after_name = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(after_name[1]), []).append(int(name))
    found, open_ = [], [root]
    while open_:
        children = parents.get(open_.pop(), [])
        found += children
        open_ += children
    return found


def _become(spec: Spec, control_fd: int) -> None:
    """Turn into the command; on a fault say so on its own stderr."""
    try:
        signal.set_wakeup_fd(-1)
        for one in signal.valid_signals():
            if one not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(one, signal.SIG_DFL)
        os.setsid()
        if spec.has_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.close(control_fd)
        os.closerange(3, 1_024)
        for name, value in spec.limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))
        if spec.rules is not None:
            _drop_capabilities()
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
            _landlock(spec.rules)
            _filter(spec.filter)
        os.chdir(spec.cwd)
        os.execvpe(spec.argv[0], spec.argv, spec.environment)  # noqa: S606 to run it is the job
    except BaseException as error:
        os.write(2, f"memoryd: the command cannot be started: {error}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _prctl(option: int, value: int, more: int = 0) -> None:
    if _LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def landlock_abi() -> int:
    """The version of Landlock in this kernel; below one where there is none."""
    return int(_LIBC.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))


def _drop_capabilities() -> None:
    """Give up every capability for good; user id 0 does not bring them back."""
    if _effective() == 0 and os.geteuid() != 0:
        return
    for capability in range(64):
        _LIBC.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    _LIBC.prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _LIBC.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if _LIBC.capset(header, bytes(24)) != 0 or _effective() != 0:
        raise OSError(ctypes.get_errno(), "the capabilities could not be given up")


def _effective() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapEff")), -1)


def _landlock(rules: Rules) -> None:
    """Confine this process; raises rather than leave anything out."""
    abi = landlock_abi()
    if abi < LANDLOCK_ABI_MIN:
        raise OSError(f"Landlock {LANDLOCK_ABI_MIN} is needed, this kernel has {max(abi, 0)}")
    attributes = struct.pack("=QQQ", _ALL, 0 if rules.network else 3, 3)
    ruleset = _LIBC.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused the ruleset")
    hidden, protected = [*rules.hidden, "/dev"], rules.protected
    for path in ("/", *rules.shown):
        for one in _parts(path, [h for h in hidden if _inside(h, path)]):
            _allow(ruleset, one, _READ)
    for path in rules.writable:
        barred = [one for one in (*hidden, *protected) if _inside(one, path)]
        for one in _parts(path, barred):
            _allow(ruleset, one, _WRITE)
    for name in _DEVICES:
        _allow(ruleset, f"/dev/{name}", _READ_FILE | _WRITE_FILE | _IOCTL_DEV)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if _LIBC.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock refused to confine")
    os.close(ruleset)


def open_plain(path: str, flags: int) -> int:
    """A descriptor of a real path; OSError where any part of it has become a link.

    A command of the same thread may still run and change folders under our hands.
    """
    *folders, name = [one for one in path.split("/") if one] or ["."]
    at = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        for one in folders:
            inner = os.open(one, _STEP, dir_fd=at)
            os.close(at)
            at = inner
        found = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    except NotADirectoryError as error:
        raise OSError(errno.ELOOP, "it became a link while it was looked at", path) from error
    finally:
        os.close(at)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise OSError(errno.ELOOP, "it became a link while it was looked at", path)
    return found


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _parts(path: str, barred: list[str]) -> list[str]:
    """The path, or those of its parts that hold nothing barred; links are left out.

    Rights on a folder hold for all below, so a folder around a barred place gets none itself.
    """
    if path in barred:
        return []
    if not any(_inside(one, path) for one in barred):
        return [path]
    try:
        folder = open_plain(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        names = [one.name for one in os.scandir(folder) if not one.is_symlink()]
    finally:
        os.close(folder)
    inner = [f"{path.rstrip('/')}/{name}" for name in names]
    found: list[str] = []
    for one in inner:
        found += _parts(one, [place for place in barred if _inside(place, one)])
    return found


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = open_plain(path, os.O_PATH)
    except OSError:
        return  # gone meanwhile, or a link now: then nothing is allowed there
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        if _LIBC.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), f"Landlock refused a rule for {path}")
    finally:
        os.close(descriptor)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _filter(program: bytes) -> None:
    loaded = _Program(len(program) // 8, program)
    if _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


if __name__ == "__main__":
    main()
