"""Makes a Python process print in every way; a `sitecustomize`, which runs before all else.

It prints whenever a library is loaded, whenever SIGUSR1 comes, when a thread of it crashes, and at
the end. `env = noisy_environment(folder)` puts it in the way of a spawned process.
"""

import atexit
import ctypes
import importlib.abc
import importlib.machinery
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, ModuleType

LIBRARIES = ("aiosqlite", "orjson", "pydantic", "openai")
WAYS = ("print", "library", "child", "descriptor", "crash")
DEBUG = {
    "PYTHONDEVMODE": "1",
    "PYTHONASYNCIODEBUG": "1",
    "PYTHONFAULTHANDLER": "1",
    "PYTHONMALLOCSTATS": "1",
    "PYTHONPROFILEIMPORTTIME": "1",
    "PYTHONVERBOSE": "1",
    "PYTHONWARNINGS": "always",
    "OPENAI_LOG": "debug",
    "HTTPX_LOG_LEVEL": "trace",
}
"""Every switch of the interpreter and of libraries that makes them talk."""


def noisy_environment(folder: Path) -> dict[str, str]:
    """Variables under which a Python process does so, from a copy of this file in that folder."""
    folder.mkdir()
    shutil.copy(__file__, folder / "sitecustomize.py")
    return {"PYTHONPATH": str(folder), **DEBUG}


def _make_noise(when: str) -> None:
    print(f"print {when}", flush=True)
    c = ctypes.CDLL(None)
    c.puts(f"library {when}".encode())
    c.fflush(None)
    subprocess.run(["echo", f"child {when}"], check=True)
    os.write(1, f"descriptor {when}\n".encode())
    crash = threading.Thread(target=_crash, args=(when,))
    crash.start()
    crash.join()


def _crash(when: str) -> None:
    raise RuntimeError(f"crash {when}")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing, loudly."""

    def __init__(self) -> None:
        self._waiting = set(LIBRARIES)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self._waiting:
            self._waiting.discard(fullname)
            _make_noise(f"as {fullname} is loaded")
        return None


def _signalled(number: int, frame: FrameType | None) -> None:
    _make_noise("at a signal")


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, _Finder())
    signal.signal(signal.SIGUSR1, _signalled)
    atexit.register(_make_noise, "at the end")
