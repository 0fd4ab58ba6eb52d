"""Two hundred pointers against workspaces of three sizes: processor time, and looks.

`python -m tests.bench.pointers`; needs `git` to make the workspaces. A third of the pointers is
there, a third is not, a third are symbols of which half are not.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from memory_read.pointers import POINTERS_MAX, check

FILES = (100, 1_000, 5_000)
ROUNDS = 15
COMMITS = 10
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0")


def _workspace(folder: Path, files: int) -> None:
    def git(*words: str) -> None:
        subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for number in range(files):
        path = folder / f"part{number // 50}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def work_{number}() -> int:\n    return {number}\n" * 20)
    git("add", "-A")
    git("commit", "-qm", "all")
    for number in range(COMMITS):
        git("commit", "-q", "--allow-empty", "-m", str(number))
    git("gc", "-q")


def _text(files: int) -> str:
    third = POINTERS_MAX // 3
    step = max(1, files // third)
    there = [f"`part{n // 50}/module_{n}.py`" for n in range(0, files, step)][:third]
    lost = [f"`lost/file_{number}.py`" for number in range(third)]
    symbols = [f"`work_{number * step % files}()`" for number in range(third // 2)]
    unknown = [f"`unknown_{number}()`" for number in range(third // 2)]
    return "\n".join([*there, *lost, *symbols, *unknown])


def main() -> None:
    """Print one JSON object."""
    sizes = {}
    for files in FILES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _workspace(folder, files)
            text = _text(files)
            check(name, text)  # what is loaded once is not measured
            taken = []
            for _ in range(ROUNDS):
                started = time.process_time()
                found = check(name, text)
                taken.append((time.process_time() - started) * 1_000)
            sizes[files] = {
                "pointers": len(found.marks),
                "doubtful": len(found.doubtful),
                "looks": found.looks,
                "median_cpu_ms": round(median(taken), 1),
                "best_cpu_ms": round(min(taken), 1),
            }
    print(json.dumps({"pointers": sizes}, indent=2))


if __name__ == "__main__":
    main()
