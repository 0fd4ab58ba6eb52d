"""Values of the right type that make no sense: each is told with its key and with what is used.

Pure. Invariant: what comes out of `sensible` lies within the bounds that the rooms expect, and is
never looser than what was written.
"""

import math
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from server.config_sections import CLAMPS, ConfigFile

Warn = Callable[[str, tuple[str, ...]], None]
"""Hears a sentence and the key that it is about."""
INSTRUCTION_BYTES_MAX = 1_048_576
FALLBACK_NAMES_MAX = 16
FALLBACK_MODELS_MAX = 4
_COUNTS = ("model_context_window", "model_auto_compact_token_limit")
_BUDGETS = ("extract_tokens_per_day", "consolidation_tokens_per_day")
_SERVER_SECONDS = ("drain_s", "thread_idle_s")


def sensible(config: ConfigFile, warn: Warn) -> ConfigFile:
    """The configuration with every such value replaced."""
    roots = [one for one in config.sandbox_workspace_write.writable_roots if _kept_root(one, warn)]
    return config.model_copy(
        update={
            **_counts(config, warn),
            "model_fallbacks": _fallbacks(config.model_fallbacks, warn),
            "approvals_reviewer": _reviewer(config.approvals_reviewer, warn),
            "memories": config.memories.model_copy(update=_memories(config, warn)),
            "server": config.server.model_copy(update=_seconds(config, warn)),
            "project_doc_max_bytes": _instruction_bytes(config.project_doc_max_bytes, warn),
            "project_doc_fallback_filenames": _names(config.project_doc_fallback_filenames, warn),
            "sandbox_workspace_write": config.sandbox_workspace_write.model_copy(
                update={"writable_roots": roots}
            ),
        }
    )


def seconds_within(
    value: float, bounds: tuple[float, float], *, default: float, key: tuple[str, ...], warn: Warn
) -> float:
    """The seconds; above the bounds the highest, below them or no number at all the default.

    A wait of the lowest bound would make what was switched on fail always.
    """
    lowest, highest = bounds
    if lowest <= value <= highest:
        return value
    used = highest if value > highest and math.isfinite(value) else default
    _out_of_range(key, value, f"{lowest:g} to {highest:g} seconds", f"{used:g}", warn)
    return used


def is_http(url: str) -> bool:
    """Whether something can be asked at that address."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _out_of_range(key: tuple[str, ...], value: object, bounds: str, used: str, warn: Warn) -> None:
    warn(f"`{'.'.join(key)}` = {value} is outside {bounds}; {used} is used", key)


def _counts(config: ConfigFile, warn: Warn) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name in _COUNTS:
        value = getattr(config, name)
        if value is not None and value <= 0:
            changed[name] = None
            warn(f"`{name}` = {value} is no number of tokens; what the model has is used", (name,))
    return changed


def _fallbacks(given: list[str], warn: Warn) -> list[str]:
    kept = [one for one in given if one.strip()]
    key = "model_fallbacks"
    if len(kept) < len(given):
        warn(f"`{key}` holds an empty name; it is left out", (key,))
    if len(kept) > FALLBACK_MODELS_MAX:
        warn(f"`{key}` has {len(kept)} models; the first {FALLBACK_MODELS_MAX} are used", (key,))
    return kept[:FALLBACK_MODELS_MAX]


def _reviewer(written: str, warn: Warn) -> str:
    if written != "user":
        key = "approvals_reviewer"
        warn(f"`{key}` = {written} is not built; user is used: a person is asked", (key,))
    return "user"


def _memories(config: ConfigFile, warn: Warn) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, (lowest, highest) in CLAMPS.items():
        value = getattr(config.memories, name)
        changed[name] = min(max(value, lowest), highest)
        if changed[name] != value:
            key = ("memories", name)
            _out_of_range(key, value, f"{lowest} to {highest}", str(changed[name]), warn)
    for name in _BUDGETS:
        value = getattr(config.memories, name)
        if value is not None and value < 0:
            changed[name] = 0
            warn(
                f"`memories.{name}` = {value} is no number of tokens; 0 is used, so nothing is "
                "spent on it",
                ("memories", name),
            )
    return changed


def _seconds(config: ConfigFile, warn: Warn) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name in _SERVER_SECONDS:
        value = getattr(config.server, name)
        if value < 0:
            changed[name] = 0
            warn(f"`server.{name}` = {value} is negative; 0 is used", ("server", name))
    return changed


def _instruction_bytes(value: int, warn: Warn) -> int:
    used = min(max(value, 0), INSTRUCTION_BYTES_MAX)
    if used != value:
        told = "0 is used, so no file of a project is told" if value < 0 else f"{used} is used"
        key = "project_doc_max_bytes"
        warn(f"`{key}` = {value} is outside 0 to {INSTRUCTION_BYTES_MAX}; {told}", (key,))
    return used


def _names(given: list[str], warn: Warn) -> list[str]:
    """Names of files inside one folder: nothing that leads out of it."""
    key = "project_doc_fallback_filenames"
    kept = [one for one in given if one not in ("", ".", "..") and not set(one) & {"/", "\0"}]
    for one in (name for name in given if name not in kept):
        warn(
            f"`{key}` names {one[:100]!r}, which is no plain file name; it is left out, the other "
            "names stay",
            (key,),
        )
    if len(kept) > FALLBACK_NAMES_MAX:
        warn(f"`{key}` has {len(kept)} names; the first {FALLBACK_NAMES_MAX} are used", (key,))
    return kept[:FALLBACK_NAMES_MAX]


def _kept_root(root: str, warn: Warn) -> bool:
    if root.startswith("/"):
        return True
    key = ("sandbox_workspace_write", "writable_roots")
    warn(
        f"`{'.'.join(key)}` names {root[:100]!r}, which is no absolute path; it is left out, so "
        "commands cannot write there",
        key,
    )
    return False
