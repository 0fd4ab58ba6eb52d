"""The errors of this room that stop a command or a start.

ServerError
├── ConfigRefused    the configuration cannot be read at all
├── ConfigEditRefused  a change of the configuration that cannot be made
├── ListenRefused    an address that may not or cannot be listened on
└── CommandFailed    a command could not do its work
"""


class ServerError(Exception):
    """Ends a command with one clear line: what failed, on what, and what to do."""

    def __init__(self, sentence: str, *, status: int = 1) -> None:
        self.status = status
        super().__init__(sentence)


class ConfigRefused(ServerError):
    """The configuration cannot be read at all; the text names file, line and mend."""


class ConfigEditRefused(ServerError):
    """A change of the configuration that cannot be made; the file is as it was."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


class ListenRefused(ServerError):
    """An address that may not or cannot be listened on."""


class CommandFailed(ServerError):
    """A command could not do its work."""
