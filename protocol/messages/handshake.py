"""The handshake: who the client is, what it wants, who answers."""

from typing import Any

from protocol.base import RequestParams, WireModel


class ClientInfo(RequestParams):
    """Name and version of the client; both may be empty, neither may be missing."""

    name: str
    title: str | None = None
    version: str


class MemorydCapabilities(RequestParams):
    """What only memoryd knows."""

    review_key: str | None = None


class InitializeCapabilities(RequestParams):
    """What the client can and wants."""

    experimental_api: bool = False
    opt_out_notification_methods: list[str] | None = None
    extensions: dict[str, Any] | None = None
    mcp_server_openai_form_elicitation: bool = False
    request_attestation: bool = False
    required_human_approval: bool = False
    explicit_gateway_oauth: bool = False
    memoryd: MemorydCapabilities | None = None


class InitializeParams(RequestParams):
    """The first request of every connection."""

    client_info: ClientInfo
    capabilities: InitializeCapabilities | None = None


class ServerLimits(WireModel):
    """What the server takes and gives at once."""

    frame_bytes_max: int
    """The longest message it takes."""
    reply_bytes_max: int
    """The longest reply; what would be longer is an error instead."""
    page_bytes_max: int
    """How long the rows of a page are together."""
    page_rows_max: int
    requests_in_flight_max: int
    input_characters_max: int


class ServerInstance(WireModel):
    """Which process answers: after a restart it is another one."""

    version: str
    instance_id: str
    started_at_ms: int
    limits: ServerLimits


class InitializeResult(WireModel):
    """Who answers; `memoryd` is a key of ours."""

    user_agent: str
    codex_home: str
    platform_family: str
    platform_os: str
    memoryd: ServerInstance | None = None


class ServerLagged(WireModel):
    """Droppable notifications were left out because this client reads too slowly."""

    thread_id: str | None
    dropped: int


class Warning(WireModel):
    """Something a person should know; nothing was refused."""

    thread_id: str | None
    message: str


class ConfigWarning(WireModel):
    """A setting that has no effect, with its place."""

    summary: str
    details: str | None
    path: str | None
    range: dict[str, Any] | None


class DeprecationNotice(WireModel):
    """What was asked for still works and has a better form."""

    summary: str
    details: str | None
