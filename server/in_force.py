"""The settings in force, and what of a written configuration a running server takes over."""

from collections.abc import Callable
from dataclasses import replace

from server.settings import Settings

Watcher = Callable[[Settings], None]


class SettingsInForce:
    """Holds the settings of this process; changed by writes of the configuration alone."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._watchers: list[Watcher] = []

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self._settings

    def watch(self, watcher: Watcher) -> None:
        """Call this with the settings of each change."""
        self._watchers.append(watcher)

    def use(self, written: Settings) -> None:
        """Take over what can change now: the switches of memory, and the defaults of new threads.

        Providers, memory versions and bounds are built at the start; they wait for the next one.
        """
        old = self._settings
        known = written.provider in old.providers or written.provider == old.provider
        self._settings = replace(
            written,
            providers=old.providers,
            provider=written.provider if known else old.provider,
            memory=replace(
                old.memory, enabled=written.memory.enabled, generate=written.memory.generate
            ),
        )
        for watcher in self._watchers:
            watcher(self._settings)
