"""More attempts to get out of a sandbox; the same kind of table as in `escapes.py`."""

from tests.support.escapes import Attempt

_OLD_CALLS = """
import mmap
code = bytes.fromhex("b814000000cd80c3")  # number 20 of the older numbering: who am I
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
if ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0: escaped()
"""
_FROM_MEMORY = """
fd = os.memfd_create("program", 0)
os.write(fd, open(os.path.realpath(sys.executable), "rb").read())
code = "print('ESCAPED', open(%r).read())" % (told["home"] + "/keys/access")
os.execve(fd, [sys.executable, "-I", "-S", "-c", code], dict(os.environ))
"""
_HANDED_OVER = """
import array
a, b = socket.socketpair()
if os.fork() == 0:
    for place in (told["home"] + "/keys/access", f"/proc/{told['pid']}/root"):
        try: fd = os.open(place, os.O_PATH)
        except OSError: continue
        b.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os._exit(0)
b.close()
while True:
    data, extra, _, _ = a.recvmsg(1, 64)
    if not data: break
    fd = array.array("i", extra[0][2])[0]
    read(f"/proc/self/fd/{fd}")
    escaped()
"""
_OWNED = """
import fcntl, signal, time
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, told["pid"])
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(w, b"x")
"""

NETWORK = (
    Attempt(
        "a pair turned to another socket",
        "a, b = socket.socketpair()\nb.close()\n"
        "try: a.connect('')\nexcept OSError: pass\n"
        "a.connect(told['unix'])\nescaped()",
    ),
    Attempt(
        "a pair that listens",
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "a.bind('named')\na.listen()\nescaped()",
    ),
    Attempt("the bus of the system", "if shell('dbus-send --system --print-reply "
            "--dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames'): escaped()"),
    Attempt(
        "a unit of the service manager",
        "if shell('systemd-run --wait true') or shell('systemd-run --user --wait true'): escaped()",
    ),
    Attempt("a container", "if shell('docker ps') or shell('podman --remote ps'): escaped()"),
)  # fmt: skip

READING = (
    Attempt("a program run from memory", _FROM_MEMORY),
    Attempt("a descriptor handed over a pair", _HANDED_OVER),
    Attempt(
        "the working folder of the server",
        "for place in ('cwd', 'root', f\"task/{told['pid']}/root\"):\n"
        "    try: names = os.listdir(f\"/proc/{told['pid']}/{place}/\")\n"
        "    except OSError: continue\n"
        "    escaped()",
    ),
    Attempt(
        "a folder that the program that confines holds open",
        "for pid in (one for one in os.listdir('/proc') if one.isdigit()):\n"
        "    if int(pid) == os.getpid(): continue\n"
        "    try: held = os.listdir(f'/proc/{pid}/fd')\n"
        "    except OSError: continue\n"
        "    for fd in held:\n"
        "        try: names = os.listdir(f'/proc/{pid}/fd/{fd}/..')\n"
        "        except OSError: continue\n"
        "        escaped(names)",
    ),
    Attempt(
        "a segment of System V by its number",
        "syscall(31, told['segment'], 2, ctypes.create_string_buffer(256))\n"
        "libc.shmat.restype = ctypes.c_void_p\n"
        "at = libc.shmat(told['segment'], None, 0o10000)\n"
        "if at not in (None, ctypes.c_void_p(-1).value): escaped(ctypes.string_at(at, 64))",
    ),
    Attempt(
        "a message of System V by its number",
        "b = ctypes.create_string_buffer(256)\n"
        "if libc.msgrcv(told['messages'], b, 128, ctypes.c_long(0), 0o4000) > 0: escaped()",
    ),
    Attempt(
        "the end of a segment of System V",
        "if libc.shmctl(told['segment'], 0, None) == 0: escaped()",
    ),
)

WRITING = (
    Attempt(
        "a file outside through a hard link",
        "os.link(told['outside'] + '/existing', 'hard')\nopen('hard', 'w').write('x')\nescaped()",
    ),
    Attempt(
        "a file outside exchanged for one of the project",
        "open('mine', 'w').write('x')\n"
        "if syscall(316, -100, (told['outside'] + '/existing').encode(), -100, b'mine', 2) == 0:"
        " escaped()",
        machine="x86_64",
    ),
    Attempt(
        "an attribute of a file outside",
        "os.setxattr(told['outside'] + '/existing', 'user.mark', b'x')\nescaped()",
    ),
    Attempt(
        "the configuration of the repository that a worktree belongs to",
        "open('store/config', 'a').write('x')\nescaped()",
    ),
    Attempt(
        "a hook of the repository that a worktree belongs to",
        "open('store/hooks/pre-commit', 'w').write('x')\nescaped()",
    ),
    Attempt(
        "a repository by a link replaced",
        "os.unlink('linked/.git')\nos.makedirs('linked/.git/hooks')\nescaped()",
    ),
    Attempt(
        "a link to a repository moved away",
        "os.rename('linked', 'elsewhere')\nos.makedirs('linked/.git/hooks')\nescaped()",
    ),
    Attempt(
        "the program that confines commands",
        "open('program/confine.py', 'a').write('x')\nescaped()",
    ),
    Attempt(
        "the folder of that program replaced",
        "os.rename('program', 'old')\nos.mkdir('program')\nescaped()",
    ),
    Attempt("the ids of a namespace", "open('/proc/self/uid_map', 'w').write('0 0 1')\nescaped()"),
    Attempt(
        "which process is ended when memory is short",
        "open(f\"/proc/{told['pid']}/oom_score_adj\", 'w').write('1000')\nescaped()",
    ),
    Attempt(
        "the memory of the program that started this one",
        "open(f'/proc/{os.getppid()}/mem', 'r+b').write(b'x')\nescaped()",
    ),
    Attempt(
        "the terminal of another program",
        "import glob\n"
        "for one in glob.glob('/dev/pts/[0-9]*'):\n"
        "    os.open(one, os.O_WRONLY | os.O_NOCTTY)\n"
        "    escaped(one)",
    ),
    Attempt(
        "a job for later",
        "if shell('echo true | at now') or shell('echo \"* * * * * true\" | crontab -'): escaped()",
    ),
)

PROCESSES = (
    Attempt("a signal by the owner of a descriptor", _OWNED),
    Attempt(
        "a signal through a handle of the server",
        "import signal\nsignal.pidfd_send_signal(os.pidfd_open(told['pid']), 15)\nescaped()",
    ),
    Attempt(
        "a signal to a thread of the server",
        "if syscall(234, told['pid'], told['pid'], 15) == 0: escaped()",
        machine="x86_64",
    ),
    Attempt(
        "a queued signal",
        "info = struct.pack('iiiiii', 15, 0, -1, 0, os.getpid(), os.getuid()) + bytes(104)\n"
        "if syscall(129, told['pid'], 15, info) == 0: escaped()",
        machine="x86_64",
    ),
    Attempt(
        "less of the processor for all of the user",
        "os.setpriority(os.PRIO_USER, 0, 19)\n",
    ),
    Attempt(
        "less of the disk for all of the user",
        "if syscall(251, 3, 0, (3 << 13)) == 0: escaped()",
        machine="x86_64",
    ),
)

KERNEL = (
    Attempt("the calls of an older processor", _OLD_CALLS, machine="x86_64"),
    Attempt(
        "a process in a new user namespace",
        "pid = syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "if pid == 0: os._exit(0)\n"
        "if pid > 0: escaped()",
        machine="x86_64",
    ),
    Attempt(
        "a process in new namespaces, asked for in a structure",
        "given = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)\n"
        "pid = syscall(435, given, len(given))\n"
        "if pid == 0: os._exit(0)\n"
        "if pid > 0: escaped()",
        machine="x86_64",
    ),
    Attempt(
        "a label of another security module",
        "open('/proc/self/attr/current', 'w').write('unconfined')\nescaped()",
    ),
)

FURTHER = (*NETWORK, *READING, *WRITING, *PROCESSES, *KERNEL)
FURTHER_CONTROLS = frozenset(
    {
        "the working folder of the server", "a segment of System V by its number",
        "a message of System V by its number", "the end of a segment of System V",
        "a file outside through a hard link", "a file outside exchanged for one of the project",
        "the configuration of the repository that a worktree belongs to",
        "a hook of the repository that a worktree belongs to", "a repository by a link replaced",
        "the program that confines commands", "the folder of that program replaced",
        "a link to a repository moved away", "which process is ended when memory is short",
        "a program run from memory", "a descriptor handed over a pair",
        "a signal through a handle of the server", "a queued signal",
    }
)  # fmt: skip

PREPARED = {
    "a link named as the repository": "ln -s ../home/keys .git",
    "a link named as the repository, inside": "mkdir x; ln -s ../../home/keys x/.git",
    "a link named as settings": "mkdir x; ln -s ../../user/.ssh x/.codex",
    "a pointer to the keys": "echo 'gitdir: ../home/keys' > .git",
    "a pointer to the keys, inside": "mkdir x; echo 'gitdir: ../../home/keys' > x/.git",
    "a pointer whose repository is the home": "mkdir -p x store; echo ../../home > store/commondir;"
    " echo 'gitdir: ../store' > x/.git",
    "a pointer to the devices": "mkdir x; echo 'gitdir: /dev' > x/.git",
    "a pointer to the processes": "mkdir x; echo 'gitdir: /proc' > x/.git",
}
"""What a command leaves in the project in the hope for the next one."""
