"""Redaction on the corpus of made-up secrets: recall, precision and speed.

`python -m tests.bench.secrets`; with the extra `secrets` installed its scanner is measured too.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from server.evals.secrets import measure, secret_cases, told
from state.policy.redaction import Scan
from state.policy.second_pass import SecondPass, installed

Span = tuple[int, int]
TEXT_BYTES = 2_000_000


def _own(text: str) -> list[Span]:
    return Scan(text).run().spans


def _speed(find: Callable[[str], Sequence[Span]], text: str) -> str:
    started = time.perf_counter()
    find(text)
    return f"{len(text.encode()) / (time.perf_counter() - started) / 1e6:.1f} MB/s"


def main() -> None:
    """Print one line for each part and finder."""
    cases = secret_cases()
    corpus = "\n".join(case.text for case in cases)
    prose = "The tests ran well, and the user asked for smaller commits from now on.\n"
    long_prose = prose * (TEXT_BYTES // len(prose))
    finders: dict[str, Callable[[str], Sequence[Span]]] = {"own shapes": _own}
    with tempfile.TemporaryDirectory() as folder:
        if installed():
            second = SecondPass(Path(folder) / "rules")
            started = time.perf_counter()
            second.load()
            print(f"rules of the scanner compiled in {time.perf_counter() - started:.1f} s")
            finders["own shapes and scanner"] = lambda text: [*_own(text), *second(text)]
        for name, find in finders.items():
            for part in ("develop", "final"):
                chosen = [case for case in cases if case.part == part]
                print(told(f"{name}, {part}", measure(chosen, find)))
            print(f"{name}: corpus {_speed(find, corpus * 20)}, prose {_speed(find, long_prose)}")


if __name__ == "__main__":
    main()
