"""The two programs under measurement, started alike: a home, a command line, one instant model.

A side is `ours` or the `reference` (a native build of the original, given by its path). Both get an
empty HOME, the same configuration, and clients of the same kind.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS = Path(sys.executable).with_name("memoryd")
_CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
requires_openai_auth = false

[features]
memories = {memories}
plugins = false

[memories]
version = "v1"
min_rollout_idle_hours = 1
max_rollouts_per_startup = 64
"""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One program."""

    name: str
    command: Path
    home_variable: str

    def home(self, folder: Path, *, model_port: int, memories: bool = True) -> "SideHome":
        """An empty home of it, pointing to the model."""
        home = folder / "state"
        home.mkdir(mode=0o700)
        (folder / "tmp").mkdir()
        config = _CONFIG.format(port=model_port, memories="true" if memories else "false")
        (home / "config.toml").write_text(config)
        return SideHome(side=self, user=folder, path=home)

    @property
    def ours(self) -> bool:
        """Whether it is memoryd."""
        return self.name == "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideHome:
    """A home, and how its program is started."""

    side: Side
    user: Path
    path: Path

    @property
    def environment(self) -> dict[str, str]:
        """An empty HOME and nothing else of ours."""
        return {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            # The reference makes no helpers below the temporary folder, and none of its commands
            # runs in a sandbox without them: its home must not seem to lie there.
            "TMPDIR": str(self.user / "tmp"),
            self.side.home_variable: str(self.path),
        }

    def stdio(self) -> list[str]:
        """The command for a client on stdin and stdout."""
        return [str(self.side.command), "app-server"]

    def ws(self, port: int) -> list[str]:
        """The command for clients over WebSocket; no secret, so that both take the same client."""
        if self.side.ours:
            listen = f"ws://127.0.0.1:{port}"
            return [str(self.side.command), "serve", "--listen", listen, "--ws-auth", "none"]
        return [str(self.side.command), "app-server", "--listen", f"ws://127.0.0.1:{port}"]


def sides(reference: Path | None) -> list[Side]:
    """Ours, and the reference where its path was given."""
    found = [Side(name="ours", command=OURS, home_variable="MEMORYD_HOME")]
    if reference is not None:
        native = _native(reference)
        found.append(Side(name="reference", command=native, home_variable="CODEX_HOME"))
    return found


def _native(path: Path) -> Path:
    """The native program behind the npm wrapper, whose Node process would be measured instead."""
    real = path.resolve()
    if real.suffix != ".js":
        return real
    packages = real.parents[2]
    found = sorted(packages.glob("codex-*/vendor/*/bin/codex"))
    if not found:
        raise SystemExit(f"no native program beside {real}")
    return found[0]


@contextmanager
def home_of(side: Side, *, model_port: int, memories: bool = True) -> Iterator[SideHome]:
    """An empty home, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        yield side.home(Path(folder), model_port=model_port, memories=memories)


@contextmanager
def model(latency_ms: float = 0) -> Iterator[int]:
    """The port of an instant model."""
    script = Path(__file__).with_name("instant_model.py")
    command = [sys.executable, str(script), "--latency-ms", str(latency_ms)]
    with running(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


def extractions(model_port: int) -> list[tuple[float, float]]:
    """When each extraction request came and was answered, in seconds."""
    with urllib.request.urlopen(f"http://127.0.0.1:{model_port}/extractions") as reply:
        return [tuple(one) for one in json.loads(reply.read())]


@contextmanager
def running(command: list[str], **options: Any) -> "Iterator[subprocess.Popen[bytes]]":
    """A child that is ended with the block."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def ws_server(home: SideHome) -> "Iterator[tuple[subprocess.Popen[bytes], int]]":
    """A server for WebSocket clients and its port; it may still be starting."""
    port = free_port()
    options = {"env": home.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with running(home.ws(port), cwd=home.user, **options) as process:
        yield process, port


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def rss_mib(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise AssertionError("no VmRSS")


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(one) for one in fields[11:15]) / _TICKS
