"""Writes the configuration file for clients: whole or not at all, one change at a time.

Invariant: the file on the disk always parses; what another program wrote into it since is seen and
kept, and a copy of a person's text is made before our first change of it, three copies at most.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from server.config_edit import ConfigText, Edit
from server.config_file import ReadConfig, faults_of, read_config
from server.errors import ConfigEditRefused, ConfigRefused
from server.in_force import SettingsInForce
from server.settings import load_settings
from state.clock import Clock
from state.home import FILE_MODE, write_private

BACKUPS_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did."""

    version: str
    path: Path
    overridden: tuple[tuple[str, ...], Any] | None = None
    """A written key whose value a command line override still decides, and that value."""


class ConfigWriter:
    """The one who writes the configuration of a running server."""

    def __init__(self, in_force: SettingsInForce, clock: Clock) -> None:
        self._in_force = in_force
        self._clock = clock
        self._one = asyncio.Lock()
        self._text = ConfigText()
        self._last_written: str | None = None

    async def write(self, edits: Sequence[Edit], *, expected_version: str | None) -> Written:
        """Make the changes and let them take effect as far as a running server can.

        Raises: ConfigEditRefused, OSError.
        """
        async with self._one:
            path = await asyncio.to_thread(self._write, edits, expected_version)
            settings = self._in_force.settings
            fresh = await asyncio.to_thread(load_settings, settings.home, settings.overrides)
            self._in_force.use(fresh)
            overridden = _overridden(edits, fresh.raw)
            return Written(version=version_of(fresh.raw), path=path, overridden=overridden)

    def _write(self, edits: Sequence[Edit], expected_version: str | None) -> Path:
        settings = self._in_force.settings
        # A link that a person made is kept: its target is what we replace.
        path = settings.home.config.resolve()
        before = _read(path, settings.overrides)
        if expected_version is not None and expected_version != version_of(before.merged):
            raise ConfigEditRefused(
                "configVersionConflict",
                "Configuration was modified since last read. Fetch latest version and retry.",
            )
        text = self._text.edited(before.text, edits)
        faults = faults_of(text, path)
        # What was wrong before is none of this change's.
        known = faults_of(before.text, path) if faults else ()
        if new := [one for one in faults if one not in known]:
            raise ConfigEditRefused("configValidationError", f"Invalid configuration: {new[0]}")
        if before.text and before.text != self._last_written:
            self._back_up(path)
        write_private(path, text.encode())
        self._last_written = text
        return path

    def _back_up(self, path: Path) -> None:
        stamp = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        number = f"{stamp:%Y%m%dT%H%M%S}{stamp.microsecond // 1000:03d}Z"
        copy = path.with_name(f"{path.name}.bak-{number}")
        shutil.copyfile(path, copy)
        copy.chmod(FILE_MODE)
        copies = sorted(path.parent.glob(f"{path.name}.bak-*"))
        for old in copies[:-BACKUPS_MAX]:
            old.unlink(missing_ok=True)


def version_of(merged: Any) -> str:
    """A mark that changes with the configuration."""
    return f"sha256:{hashlib.sha256(orjson.dumps(merged, default=str)).hexdigest()}"


def _read(path: Path, overrides: Sequence[str]) -> ReadConfig:
    try:
        return read_config(path, overrides)
    except ConfigRefused as error:
        raise ConfigEditRefused("configValidationError", str(error)) from error


def _overridden(edits: Sequence[Edit], merged: Any) -> tuple[tuple[str, ...], Any] | None:
    for edit in edits:
        effective: Any = merged
        for part in edit.path:
            effective = effective.get(part) if isinstance(effective, dict) else None
        if edit.value is not None and not isinstance(edit.value, dict) and effective != edit.value:
            return edit.path, effective
    return None
