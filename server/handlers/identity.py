"""How this process names itself to clients, who parse it.

Clients read the version of the protocol out of the user agent: the first version number in it must
be that one, so our own stands at the end, and dots in a client's name cannot pose as one.
"""

import re
from dataclasses import dataclass, field

PROTOCOL_VERSION = "0.171.0"
_VERSION = re.compile(r"(?<=\d)\.(?=\d)")
_NAME_CHARACTERS_MAX = 100


@dataclass(slots=True, kw_only=True)
class ServerIdentity:
    """The names of one process; the first client to come is its originator."""

    version: str
    instance_id: str
    started_at_ms: int
    os_name: str
    os_version: str
    architecture: str
    terminal: str
    _originator: str | None = field(default=None, init=False)

    @property
    def originator(self) -> str | None:
        """The name of the first client, which new threads are marked with."""
        return self._originator

    def welcome(self, client_name: str) -> None:
        """Note a client; only the first one counts."""
        if self._originator is None:
            self._originator = client_name[:_NAME_CHARACTERS_MAX] or "memoryd"

    def user_agent(self, client_name: str, client_version: str) -> str:
        """The user agent that this client is told."""
        originator = _quiet(self._originator or client_name)
        return (
            f"{originator}/{PROTOCOL_VERSION} "
            f"({self.os_name} {self.os_version}; {self.architecture}) {_quiet(self.terminal)} "
            f"({_quiet(client_name)}; {client_version[:_NAME_CHARACTERS_MAX]}) "
            f"memoryd/{self.version}"
        )


def _quiet(name: str) -> str:
    """A name in which nothing looks like a version number."""
    return _VERSION.sub("-", name)[:_NAME_CHARACTERS_MAX]
