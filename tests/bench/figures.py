"""Figures of one run: medians, percentiles, ratios to the reference, printed as JSON."""

import argparse
import json
import math
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Figures = dict[str, float]
"""Each named by what it is and its unit, as `stdio thread/start median ms`."""


def options(what: str | None, *, minutes: bool = False) -> argparse.Namespace:
    """The command line of a bench."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--reference", type=Path, help="the original's program, to run beside ours")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds")
    if minutes:
        parser.add_argument("--minutes", type=float, help="go on for so long instead")
    return parser.parse_args()


def spread(name: str, values: Sequence[float], *, unit: str = "ms") -> Figures:
    """Median and 95th percentile."""
    return {
        f"{name} median {unit}": statistics.median(values),
        f"{name} p95 {unit}": percentile(values, 95),
    }


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def report(bench: str, measured: dict[str, Figures]) -> None:
    """Print both sides and how ours compares."""
    print(json.dumps(result(bench, measured), indent=2, ensure_ascii=False))


def result(bench: str, measured: dict[str, Figures]) -> dict[str, Any]:
    """The figures of one bench, rounded, with the ratios of this run."""
    ours, reference = measured["ours"], measured.get("reference", {})
    ratios = {
        name: ours[name] / value for name, value in reference.items() if name in ours and value
    }
    return {
        "bench": bench,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{side: _rounded(figures) for side, figures in measured.items()},
        **({"ours / reference": _rounded(ratios)} if ratios else {}),
    }


def _rounded(figures: Figures) -> Figures:
    return {name: float(f"{value:.3g}") for name, value in figures.items()}
