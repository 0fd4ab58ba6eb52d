"""What providers tell about their limits, in the wire's shape, and whether background work may run.

Headers of the Responses API come as `x-ratelimit-…` (requests and tokens of the minute) or as
`x-codex-primary-…` and `x-codex-secondary-…` (windows in percent). Unknown or odd values are left
out; a provider that tells nothing sets no limit.
"""

from collections.abc import Mapping
from typing import Any

NOTHING_TOLD: Mapping[str, Any] = {
    "limitId": "codex",
    "limitName": None,
    "normalModelSlug": None,
    "primary": None,
    "secondary": None,
    "credits": None,
    "individualLimit": None,
    "spendControlReached": None,
    "planType": None,
    "rateLimitReachedType": None,
}
MINUTE_S = 60


def from_headers(headers: Mapping[str, str], *, now_ms: int) -> dict[str, Any] | None:
    """The snapshot that response headers hold; None when they hold none."""
    primary = _window(headers, "x-codex-primary", now_ms) or _minute(headers, "requests", now_ms)
    secondary = _window(headers, "x-codex-secondary", now_ms) or _minute(headers, "tokens", now_ms)
    if primary is None and secondary is None:
        return None
    return {**NOTHING_TOLD, "primary": primary, "secondary": secondary}


def remaining_percent(rate_limits: Mapping[str, Any] | None, *, now_s: int) -> float | None:
    """What is left of the narrowest window that is not over yet; None when nothing is known."""
    used = []
    for name in ("primary", "secondary"):
        window = (rate_limits or {}).get(name)
        if not isinstance(window, Mapping) or "usedPercent" not in window:
            continue
        resets_at = window.get("resetsAt")
        if not (isinstance(resets_at, int) and resets_at <= now_s):
            used.append(float(window["usedPercent"]))
    return 100.0 - max(used) if used else None


def over_at_ms(
    rate_limits: Mapping[str, Any] | None, *, now_s: int, percent_min: float
) -> int | None:
    """When the last window with less than that left begins anew; None where nobody said."""
    ends = [
        window["resetsAt"]
        for name in ("primary", "secondary")
        if isinstance(window := (rate_limits or {}).get(name), Mapping)
        and isinstance(window.get("resetsAt"), int)
        and window["resetsAt"] > now_s
        and 100.0 - float(window.get("usedPercent", 0)) < percent_min
    ]
    return max(ends) * 1_000 if ends else None


def _window(headers: Mapping[str, str], prefix: str, now_ms: int) -> dict[str, Any] | None:
    used = _number(headers.get(f"{prefix}-used-percent"))
    if used is None:
        return None
    minutes = _number(headers.get(f"{prefix}-window-minutes"))
    resets_at = _number(headers.get(f"{prefix}-reset-at"))
    if resets_at is None:
        after = _number(headers.get(f"{prefix}-reset-after-seconds"))
        resets_at = None if after is None else now_ms / 1000 + after
    return {
        "usedPercent": round(min(max(used, 0.0), 100.0)),
        "windowDurationMins": None if minutes is None else int(minutes),
        "resetsAt": None if resets_at is None else int(resets_at),
    }


def _minute(headers: Mapping[str, str], what: str, now_ms: int) -> dict[str, Any] | None:
    limit = _number(headers.get(f"x-ratelimit-limit-{what}"))
    left = _number(headers.get(f"x-ratelimit-remaining-{what}"))
    if not limit or left is None:
        return None
    reset_s = duration_s(headers.get(f"x-ratelimit-reset-{what}", ""))
    return {
        "usedPercent": round(100.0 * min(max(1 - left / limit, 0.0), 1.0)),
        "windowDurationMins": 1,
        "resetsAt": int(now_ms / 1000 + (MINUTE_S if reset_s is None else reset_s)),
    }


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and value == value and abs(value) < 1e15 else None


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def duration_s(text: str) -> float | None:
    """A span such as `6m0s`, `1.5s`, `20ms` or plain seconds; None for anything else."""
    plain = _number(text.strip() or None)
    if plain is not None:
        return plain
    total, number, unit = 0.0, "", ""
    for char in f"{text.strip()}0":
        if char.isdigit() or char == ".":
            if unit:
                value = _number(number)
                if unit not in _UNITS or value is None:
                    return None
                total, number, unit = total + value * _UNITS[unit], "", ""
            number += char
        elif number:
            unit += char
        else:
            return None
    return total if text.strip() and number == "0" else None
