"""Attempts to get out of a sandbox, as a table: each is a small program run inside it.

Longer than the habit: one table of many short attempts.

An attempt prints ESCAPED where it got what it must not get. What it did to the world outside is
looked at from outside as well. `told` holds where things are; `syscall` calls the kernel directly.
"""

from dataclasses import dataclass

PRELUDE = """
import ctypes, errno, json, os, socket, struct, subprocess, sys
told = json.loads(os.environ["TOLD"])
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *given):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *(
        ctypes.c_long(one) if isinstance(one, int) else one for one in given))
def escaped(why=""):
    print("ESCAPED", why)
def read(path):
    with open(path, "rb") as file:
        return file.read(4096)
def shell(text):
    return subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True).returncode == 0
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way out."""

    name: str
    code: str
    machine: str | None = None
    """The only processor it is written for."""


def _reads(name: str, path: str) -> Attempt:
    return Attempt(name, f"read({path})\nescaped()")


def _writes(name: str, path: str) -> Attempt:
    return Attempt(name, f"open({path}, 'a').write('x')\nescaped()")


def _opens_to_write(name: str, path: str) -> Attempt:
    """Of the machine: only opened, so that a hole does no harm while it is tested."""
    return Attempt(name, f"os.open({path}, os.O_WRONLY)\nescaped()")


def _calls(name: str, number: int, given: str = "") -> Attempt:
    code = f"if syscall({number}, {given}) >= 0: escaped()"
    return Attempt(name, code, machine="x86_64")


NETWORK = (
    Attempt(
        "a TCP connection to loopback",
        "socket.create_connection(('127.0.0.1', told['port']), timeout=2)\nescaped()",
    ),
    Attempt(
        "a TCP connection through bash",
        "if subprocess.run(['bash', '-c', f'exec 3<>/dev/tcp/127.0.0.1/{told[\"port\"]}'],"
        " stderr=subprocess.DEVNULL).returncode == 0: escaped()",
    ),
    Attempt(
        "a UDP datagram",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', told['udp']))"
        "\nescaped()",
    ),
    Attempt(
        "a question to a name server",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.sendto(b'\\0' * 12, ('192.0.2.1', 53))\nescaped()",
    ),
    Attempt(
        "a socket of IPv6",
        "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)\nescaped()",
    ),
    Attempt(
        "the server's own socket",
        "s = socket.socket(socket.AF_UNIX)\ns.connect(told['relay'])\nescaped()",
    ),
    Attempt(
        "a socket of another agent",
        "s = socket.socket(socket.AF_UNIX)\ns.connect(told['unix'])\nescaped()",
    ),
    Attempt(
        "an abstract socket",
        "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + told['abstract'])\nescaped()",
    ),
    Attempt(
        "a datagram to a socket on a path, through a pair",
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "a.sendto(b'x', told['datagrams'])\nescaped()",
    ),
    Attempt(
        "a raw socket",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)\nescaped()",
    ),
    Attempt("a packet socket", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nescaped()"),
    Attempt("a socket to the hypervisor", "socket.socket(40, socket.SOCK_STREAM)\nescaped()"),
    Attempt("a netlink socket", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\nescaped()"),
    Attempt(
        "a listening socket",
        "s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\nescaped()",
    ),
)

READING = (
    _reads("the access key", "told['home'] + '/keys/access'"),
    _reads("the sketch key", "told['home'] + '/keys/sketch.key'"),
    _reads("the database", "told['home'] + '/state.sqlite'"),
    _reads("the write-ahead log", "told['home'] + '/state.sqlite-wal'"),
    _reads("the journal", "told['home'] + '/journal.jsonl'"),
    _reads("the configuration", "told['home'] + '/config.toml'"),
    _reads("memory of another scope", "told['home'] + '/memories/MEMORY.md'"),
    _reads("a transcript of another thread", "told['home'] + '/sessions/rollout.jsonl'"),
    _reads("a private key", "told['user'] + '/.ssh/id_ed25519'"),
    _reads("a password file of the system", "'/etc/shadow'"),
    _reads("the account of another agent", "told['user'] + '/.codex/auth.json'"),
    Attempt("the names in the home", "if os.listdir(told['home']): escaped()"),
    Attempt(
        "a link laid to a key",
        "os.symlink(told['home'] + '/keys/access', 'link')\nread('link')\nescaped()",
    ),
    Attempt(
        "a hard link to a key",
        "os.link(told['home'] + '/keys/access', 'hard')\nread('hard')\nescaped()",
    ),
    Attempt(
        "a path with dots",
        "read(told['work'] + '/sub/../../home/keys/access')\nescaped()",
    ),
    Attempt("a link found in the project", "read('planted')\nescaped()"),
    Attempt(
        "the root of this process",
        "read('/proc/self/root' + told['home'] + '/keys/access')\nescaped()",
    ),
    Attempt(
        "the root of the server",
        "read(f\"/proc/{told['pid']}/root\" + told['home'] + '/keys/access')\nescaped()",
    ),
    Attempt(
        "a descriptor of the server",
        "for fd in range(3, 64):\n"
        "    try:\n"
        "        if told['secret'].encode() in read(f\"/proc/{told['pid']}/fd/{fd}\"): escaped()\n"
        "    except OSError: pass",
    ),
    Attempt(
        "the environment of the server",
        "if told['secret'].encode() in read(f\"/proc/{told['pid']}/environ\"): escaped()",
    ),
    Attempt(
        "the memory of the server",
        "open(f\"/proc/{told['pid']}/mem\", 'rb')\nescaped()",
    ),
    Attempt("the disk itself", "open('/dev/vda', 'rb').read(512)\nescaped()"),
    Attempt("memory of the machine", "open('/dev/mem', 'rb')\nescaped()"),
    Attempt("memory of the kernel", "open('/proc/kcore', 'rb').read(16)\nescaped()"),
    Attempt(
        "shared memory of others",
        "read('/dev/shm/' + told['shared'])\nescaped()",
    ),
    Attempt(
        "an inherited descriptor",
        "own = [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 2]\n"
        "for fd in own:\n"
        "    try: target = os.readlink(f'/proc/self/fd/{fd}')\n"
        "    except OSError: continue\n"
        "    if not target.startswith('/proc'): escaped(target)",
    ),
    Attempt(
        "a secret in the environment",
        "if told['secret'] in json.dumps({k: v for k, v in os.environ.items() if k != 'TOLD'}):"
        " escaped()",
    ),
)

WRITING = (
    _writes("a file outside", "told['outside'] + '/new'"),
    _writes("an existing file outside", "told['outside'] + '/existing'"),
    Attempt("a removal outside", "os.unlink(told['outside'] + '/existing')\nescaped()"),
    Attempt(
        "a file moved in from outside",
        "os.rename(told['outside'] + '/existing', 'taken')\nescaped()",
    ),
    Attempt("a file cut short outside", "os.truncate(told['outside'] + '/existing', 0)\nescaped()"),
    Attempt(
        "a file outside through a link",
        "os.symlink(told['outside'], 'out')\nopen('out/new', 'w').write('x')\nescaped()",
    ),
    Attempt("a folder outside", "os.mkdir(told['outside'] + '/folder')\nescaped()"),
    Attempt(
        "a program for the user's PATH",
        "open(told['user'] + '/.local/bin/git', 'w').write('x')\nescaped()",
    ),
    _writes("a start file of the shell", "told['user'] + '/.bashrc'"),
    _writes("a new start file of the shell", "told['user'] + '/.bash_login'"),
    _writes("who may log in", "told['user'] + '/.ssh/authorized_keys'"),
    _writes("a schedule of the user", "'/var/spool/cron/crontabs/root'"),
    _writes("a schedule of the system", "'/etc/cron.d/escape'"),
    _opens_to_write("the users of the system", "'/etc/passwd'"),
    _writes("a hook of the repository", "told['work'] + '/.git/hooks/pre-commit'"),
    _writes("the configuration of the repository", "told['work'] + '/.git/config'"),
    _writes("a hook of a nested repository", "told['work'] + '/vendor/lib/.git/hooks/pre-commit'"),
    _writes("the configuration of a nested repository", "told['work'] + '/vendor/lib/.git/config'"),
    _writes("settings nested in the project", "told['work'] + '/vendor/lib/.codex/config.toml'"),
    _writes("the pointer of a worktree", "told['work'] + '/tree/.git'"),
    _writes(
        "the folder that a worktree points to",
        "told['work'] + '/vendor/lib/.git/worktrees/tree/HEAD'",
    ),
    Attempt(
        "a nested repository moved away",
        "os.rename('vendor/lib', 'elsewhere')\n"
        "open('elsewhere/.git/hooks/pre-commit', 'w').write('x')\nescaped()",
    ),
    Attempt(
        "a nested repository replaced",
        "os.rename('vendor/lib/.git', 'vendor/lib/old')\nos.mkdir('vendor/lib/.git')\nescaped()",
    ),
    Attempt(
        "the folders around a nested repository moved away",
        "os.rename('vendor', 'seller')\nos.makedirs('vendor/lib/.git/hooks')\nescaped()",
    ),
    Attempt(
        "the pointer of a worktree replaced",
        "os.unlink('tree/.git')\nopen('tree/.git', 'w').write('gitdir: x')\nescaped()",
    ),
    Attempt("the repository moved away", "os.rename('.git', 'old')\nos.mkdir('.git')\nescaped()"),
    Attempt(
        "the folder around the home moved away",
        "os.rename(told['nest'], told['nest'] + '-moved')\nescaped()",
    ),
    Attempt(
        "a key overwritten",
        "open(told['home'] + '/keys/access', 'w').write('x')\nescaped()",
    ),
    _opens_to_write("a device of the machine", "'/dev/kmsg'"),
    Attempt("a new device", "os.mknod('device', 0o020666, os.makedev(1, 1))\nescaped()"),
    _opens_to_write("the handler of core dumps", "'/proc/sys/kernel/core_pattern'"),
    _opens_to_write("the magic key", "'/proc/sysrq-trigger'"),
    _opens_to_write("a setting of the kernel", "'/sys/kernel/mm/ksm/run'"),
    Attempt(
        "a control group",
        "import glob\n"
        "for base in ['/sys/fs/cgroup', *glob.glob('/sys/fs/cgroup/*')]:\n"
        "    try: os.mkdir(base + '/escape')\n"
        "    except OSError: continue\n"
        "    os.rmdir(base + '/escape')\n"
        "    escaped(base)",
    ),
    Attempt(
        "a file in shared memory of the machine",
        "open('/dev/shm/' + told['shared'], 'r+').write('changed')\nescaped()",
    ),
    Attempt(
        "a pipe that a program outside reads",
        "fd = os.open(told['hidden_pipe'], os.O_WRONLY | os.O_NONBLOCK)\n"
        "os.write(fd, b'x')\nescaped()",
    ),
)

PROCESSES = (
    Attempt("an end for the server", "os.kill(told['pid'], 15)\nescaped()"),
    Attempt("a look whether the server lives", "os.kill(told['pid'], 0)\nescaped()"),
    Attempt(
        "attaching to the server",
        "if libc.ptrace(16, told['pid'], 0, 0) == 0: escaped()",
    ),
    Attempt(
        "reading the server's memory",
        "b = ctypes.create_string_buffer(8)\n"
        "iov = struct.pack('QQ', ctypes.addressof(b), 8)\n"
        "if syscall(310, told['pid'], iov, 1, iov, 1, 0) > 0: escaped()",
        machine="x86_64",
    ),
    Attempt(
        "a descriptor of the server by its process",
        "fd = os.pidfd_open(told['pid'])\n"
        "for n in range(3, 16):\n    if syscall(438, fd, n, 0) >= 0: escaped()",
    ),
    Attempt(
        "a limit for the server",
        "import resource\nresource.prlimit(told['pid'], resource.RLIMIT_CORE)\nescaped()",
    ),
    Attempt(
        "less of the processor for the server",
        "os.setpriority(os.PRIO_PROCESS, told['pid'], 19)\nescaped()",
    ),
    Attempt(
        "the namespaces of the server",
        "fd = os.open(f\"/proc/{told['pid']}/ns/mnt\", os.O_RDONLY)\n"
        "if libc.setns(fd, 0) == 0: escaped()",
    ),
    Attempt(
        "typing into the terminal",
        "import fcntl, termios\n"
        "fd = os.open('/dev/tty', os.O_RDWR)\n"
        "fcntl.ioctl(fd, termios.TIOCSTI, b'x')\nescaped()",
    ),
    Attempt(
        "a signal to every process",
        "import signal\nsignal.signal(15, signal.SIG_IGN)\n"
        "try: os.kill(-1, 15)\nexcept OSError: pass",
    ),
)

KERNEL = (
    Attempt(
        "user id 0 regained",
        "os.setuid(0) if os.getuid() else None\nopen('/etc/escape', 'w').close()\nescaped()",
    ),
    Attempt(
        "a capability",
        "status = open('/proc/self/status').read()\n"
        "caps = [int(l.split()[1], 16) for l in status.splitlines() if l[:6] in "
        "('CapPrm', 'CapEff', 'CapBnd', 'CapAmb')]\n"
        "if any(caps[:2]) or 'NoNewPrivs:\\t1' not in status: escaped(str(caps))",
    ),
    Attempt("a program that runs as root", "if shell('sudo -n true'): escaped()"),
    Attempt("a mount", "if libc.mount(b'none', b'/mnt', b'tmpfs', 0, None) == 0: escaped()"),
    Attempt("a remount", "if libc.mount(None, b'/', None, 0x1020, None) == 0: escaped()"),
    Attempt(
        "a binding of the root",
        "os.mkdir('bound')\nif libc.mount(b'/', b'bound', None, 0x5000, None) == 0: escaped()",
    ),
    Attempt(
        "taking off the mask",
        "if libc.umount2(told['home'].encode(), 2) == 0: escaped()",
    ),
    Attempt("a new user namespace", "if libc.unshare(0x10000000) == 0: escaped()"),
    Attempt("a new mount namespace", "if libc.unshare(0x00020000) == 0: escaped()"),
    Attempt("namespaces through a program", "if shell('unshare -Ur true'): escaped()"),
    Attempt(
        "a sandbox inside the sandbox",
        "if shell('bwrap --ro-bind / / --unshare-user true'): escaped()",
    ),
    Attempt("another root folder", "os.chroot('.')\nescaped()"),
    _calls("the newer mount interface", 430, "b'tmpfs', 0"),
    _calls("a copy of the mounts", 428, "-100, b'/', 1"),
    _calls("a ring of system calls", 425, "8, ctypes.create_string_buffer(256)"),
    _calls("the keys of the kernel", 250, "0, -4, 1"),
    _calls("a program in the kernel", 321, "5, ctypes.create_string_buffer(128), 128"),
    _calls("counters of the kernel", 298, "ctypes.create_string_buffer(128), 0, -1, -1, 0"),
    _calls("faults handled in user space", 323, "0"),
    _calls("a file by its handle", 304, "-100, ctypes.create_string_buffer(64), 0"),
    _calls("the other numbering of calls", 0x40000000 + 39),
)

CONTROLS = frozenset(
    {
        "a TCP connection to loopback", "a UDP datagram", "the server's own socket",
        "a socket of another agent", "an abstract socket", "a listening socket",
        "a datagram to a socket on a path, through a pair", "the access key", "the database",
        "memory of another scope", "a private key", "the names in the home",
        "a link laid to a key", "a hard link to a key", "a path with dots",
        "a link found in the project", "the root of this process", "shared memory of others",
        "a file outside", "an existing file outside", "a removal outside",
        "a file moved in from outside", "a file cut short outside",
        "a file outside through a link", "a folder outside", "a program for the user's PATH",
        "a start file of the shell", "a new start file of the shell", "who may log in",
        "a hook of the repository", "the configuration of the repository",
        "a hook of a nested repository", "the configuration of a nested repository",
        "settings nested in the project", "the pointer of a worktree",
        "the folder that a worktree points to", "a nested repository moved away",
        "a nested repository replaced", "the folders around a nested repository moved away",
        "the pointer of a worktree replaced",
        "the repository moved away", "a key overwritten", "a look whether the server lives",
        "a limit for the server", "a pipe that a program outside reads",
    }
)  # fmt: skip
"""Attempts that do succeed where nothing confines them, whoever runs the tests."""

ATTEMPTS = (*NETWORK, *READING, *WRITING, *PROCESSES, *KERNEL)

SURVIVORS = {
    "in the background": "sleep 987654 &",
    "with nohup": "nohup sleep 987654 >/dev/null 2>&1 &",
    "in a session of its own": "setsid -f sleep 987654 >/dev/null 2>&1 </dev/null",
    "forked twice": "(setsid sh -c 'sleep 987654 & sleep 987654' >/dev/null 2>&1 &) ; true",
    "deaf to signals": "setsid -f sh -c 'trap \"\" TERM HUP INT; sleep 987654; sleep 987654'"
    " >/dev/null 2>&1 </dev/null",
    "holding the output open": "setsid -f sleep 987654",
}
"""Commands that leave something behind when they end."""
SURVIVOR_MARK = "987654"
