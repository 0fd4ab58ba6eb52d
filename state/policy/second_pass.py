"""The second pass of redaction: the scanner of the extra `secrets`, where it is installed.

The only owner of `kingfisher_sdk`, which is loaded when first needed. Invariant: nothing leaves the
process, and a caller on an event loop never waits for the rules to be compiled (seconds, once a
home; a third of a second later): until they are there, such a caller gets our own shapes alone.
"""

import asyncio
import importlib.util
import logging
import threading
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)
_MODULE = "kingfisher_sdk"


def installed() -> bool:
    """Whether the extra `secrets` is there."""
    return importlib.util.find_spec(_MODULE) is not None


class SecondPass:
    """Finds secrets by the rules of the scanner; one for a process."""

    def __init__(self, rules_cache: Path) -> None:
        self._rules_cache = rules_cache
        self._lock = threading.Lock()
        self._scanner: Any = None
        self._failed = False

    def __call__(self, text: str) -> list[tuple[int, int]]:
        """Where the secrets stand, in characters; nothing while the rules are not there."""
        if self._scanner is None and not self._failed and not _on_a_loop():
            self.load()
        scanner = self._scanner
        if scanner is None:
            return []
        data = text.encode(errors="replace")
        places = [
            (found.location["start_offset"], found.location["end_offset"])
            for found in scanner.scan(data)
            if found.visible
        ]
        if len(data) == len(text):
            return places
        return [(_characters(data, start), _characters(data, end)) for start, end in places]

    def load(self) -> None:
        """Compile the rules or take them from the cache; blocking, call it in a thread."""
        with self._lock:
            if self._scanner is not None or self._failed:
                return
            try:
                from kingfisher_sdk import Rules, Scanner

                rules = Rules(cache_dir=str(self._rules_cache))
                self._scanner = Scanner(rules, base64=False)
            except (ImportError, OSError, RuntimeError, ValueError) as error:
                # Own shapes hold in any case; a broken extra must not stop the server.
                self._failed = True
                _LOG.warning("the scanner of the extra `secrets` cannot be used: %s", error)


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _characters(data: bytes, offset: int) -> int:
    return len(data[:offset].decode(errors="ignore"))
