"""From the events of the Responses API to ours, and from its failures to `ProviderFailed`. Pure.

Switches on the type's name and ignores names it does not know, as the API grows. Deltas of one
message that came in one read are joined, since each costs a notification for every client.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from server.agent.errors import OVERLOADED_STATUSES, ProviderFailed
from server.agent.json_bounds import why_not_writable
from server.agent.models.base import (
    Completed,
    FreeCallDelta,
    FreeCallStarted,
    MessageDelta,
    MessageStarted,
    ModelEvent,
    OutputItem,
    Phase,
    ReasoningDelta,
    ReasoningStarted,
    TokenUse,
)
from server.agent.models.flat_tools import meant_item

TOO_LONG = "the conversation no longer fits the model's context window; start a new thread"
MESSAGE_CHARACTERS_MAX = 2_000
_TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "input_too_long", "exceed_context_size_error"}
)
_TOO_LONG_SAID = re.compile(
    r"context_length_exceeded|maximum context (?:length|window|size)|context length of only"
    r"|exceeds? (?:the |this )?(?:model's |available )*context|prompt is too long"
    r"|input token count .{0,80}exceeds|context the overflows|longer than the context",
    re.IGNORECASE,
)
"""How servers say it that have no code for it."""
_WINDOW_SAID = re.compile(
    r"(?:maximum context (?:length|window|size)|context length) (?:is|of)(?: only)? ([0-9]{3,9})"
    r"|> ([0-9]{3,9}) maximum|context (?:size|length|window) \(([0-9]{3,9}) tokens\)"
    r"|maximum number of tokens allowed \(([0-9]{3,9})\)",
    re.IGNORECASE,
)
_USED_UP_CODES = frozenset(
    {
        "insufficient_quota",
        "usage_limit_reached",
        "usage_not_included",
        "billing_hard_limit_reached",
    }
)
_OVERLOADED_CODES = frozenset({"server_is_overloaded", "slow_down", "overloaded_error"})
_PASSING_CODES = frozenset({"server_error", "internal_error", "timeout", "stream_error"})
_KIND_OF_CODE = {
    "cyber_policy": "cyberPolicy",
    "bio_policy": "bioPolicy",
    "flex_unavailable": "flexUnavailable",
}
_PHASES: Mapping[str, Phase] = {"commentary": "commentary", "final_answer": "final_answer"}
_TRY_AGAIN = re.compile(r"try again in ([0-9.]+)\s*(ms|s)\b", re.IGNORECASE)


def model_events(
    raw: Iterable[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]],
    rate_limits: Mapping[str, Any] | None,
    delta_bytes_max: int,
) -> Iterator[ModelEvent]:
    """Our events for those of one read.

    Raises: ProviderFailed.
    """
    events = (_model_event(one, tools, rate_limits) for one in raw)
    return joined((one for one in events if one is not None), delta_bytes_max=delta_bytes_max)


def joined(events: Iterable[ModelEvent], *, delta_bytes_max: int) -> Iterator[ModelEvent]:
    """The same events, with neighbouring deltas of one message as one."""
    pending: MessageDelta | None = None
    for event in events:
        if isinstance(event, MessageDelta):
            if pending is None:
                pending = event
                continue
            fits = len(pending.text) + len(event.text) <= delta_bytes_max
            if fits and pending.item_id == event.item_id:
                pending = MessageDelta(item_id=event.item_id, text=pending.text + event.text)
                continue
            yield pending
            pending = event
            continue
        if pending is not None:
            yield pending
            pending = None
        yield event
    if pending is not None:
        yield pending


def _model_event(
    raw: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]],
    rate_limits: Mapping[str, Any] | None,
) -> ModelEvent | None:
    match raw.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            return MessageDelta(item_id=_text(raw, "item_id"), text=_text(raw, "delta"))
        case "response.output_item.added":
            return _started(raw.get("item"))
        case "response.output_item.done":
            item = raw.get("item")
            usable = usable_item(item) if isinstance(item, Mapping) else None
            return None if usable is None else OutputItem(item=meant_item(usable, tools))
        case "response.reasoning_summary_text.delta":
            index = raw.get("summary_index")
            return ReasoningDelta(
                item_id=_text(raw, "item_id"),
                summary_index=index if isinstance(index, int) and 0 <= index < 256 else 0,
                text=_text(raw, "delta"),
            )
        case "response.custom_tool_call_input.delta":
            return FreeCallDelta(item_id=_text(raw, "item_id"), text=_text(raw, "delta"))
        case "response.completed":
            response = _mapping(raw.get("response"))
            return Completed(
                use=token_use(response.get("usage")),
                response_id=response.get("id"),
                rate_limits=rate_limits,
            )
        case "response.failed":
            raise failed(_mapping(_mapping(raw.get("response")).get("error")), rate_limits)
        case "response.incomplete":
            details = _mapping(_mapping(raw.get("response")).get("incomplete_details"))
            reason = details.get("reason") or "unknown"
            raise ProviderFailed("other", f"the model's response is incomplete: {reason}")
        case "error":
            raise failed(_mapping(raw.get("error")) or raw, rate_limits)
        case _:
            return None


def usable_item(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An output item as it can be read, kept and told; None where nothing of it can.

    Servers that only resemble the API leave lists out, put words in their place, or nest what
    nobody could write again. What is sound in an item is not lost for what is not.
    """
    type_ = item.get("type")
    if not isinstance(type_, str):
        return None
    usable = dict(item)
    if type_ == "message":
        usable["content"] = _parts(item.get("content"))
    if type_ == "reasoning":
        usable["summary"] = _parts(item.get("summary"))
        if item.get("content") is not None:
            usable["content"] = _parts(item["content"])
    if why_not_writable(usable) is None:
        return usable
    lists = {key: usable[key] for key in ("content", "summary") if key in usable}
    return _plain_of(usable) | {
        key: [_plain_of(part) for part in parts] if isinstance(parts, list) else None
        for key, parts in lists.items()
    }


def _parts(parts: Any) -> list[Mapping[str, Any]]:
    """Those parts of a message or a thought that are some."""
    return [
        part
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, Mapping) and isinstance(part.get("text", ""), str)
    ]


def _plain_of(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if isinstance(one, str | bool)}


def _started(item: Any) -> ModelEvent | None:
    match item:
        case {"type": "message", **rest}:
            return MessageStarted(
                item_id=str(rest.get("id") or ""), phase=_PHASES.get(str(rest.get("phase")))
            )
        case {"type": "reasoning", **rest}:
            return ReasoningStarted(item_id=str(rest.get("id") or ""))
        case {"type": "custom_tool_call", **rest}:
            return FreeCallStarted(
                item_id=str(rest.get("id") or ""),
                call_id=str(rest.get("call_id") or ""),
                name=str(rest.get("name") or ""),
            )
        case _:
            return None


def token_use(usage: Any) -> TokenUse:
    """The counts of a response; what is missing or odd counts as zero."""
    given = _mapping(usage)
    details = _mapping(given.get("input_tokens_details"))
    made = _mapping(given.get("output_tokens_details"))
    input_tokens, output_tokens = _count(given, "input_tokens"), _count(given, "output_tokens")
    return TokenUse(
        input_tokens=input_tokens,
        cached_input_tokens=_count(details, "cached_tokens"),
        cache_write_input_tokens=_count(details, "cache_write_tokens"),
        output_tokens=output_tokens,
        reasoning_output_tokens=_count(made, "reasoning_tokens"),
        total_tokens=_count(given, "total_tokens") or input_tokens + output_tokens,
    )


def failed(error: Mapping[str, Any], rate_limits: Mapping[str, Any] | None) -> ProviderFailed:
    """A failure that came as an event of the stream."""
    code = str(error.get("code") or error.get("type") or "")
    message = _cut(str(error.get("message") or code or "unknown failure"))
    limits = dict(rate_limits) if rate_limits else None
    if code in _TOO_LONG_CODES or _TOO_LONG_SAID.search(message):
        return _too_long(error, message)
    if code in _USED_UP_CODES:
        return ProviderFailed("usageLimitExceeded", message, rate_limits=limits)
    if code in _OVERLOADED_CODES:
        return ProviderFailed("serverOverloaded", message, retryable=True)
    if code == "rate_limit_exceeded":
        return ProviderFailed(
            "rateLimitExceeded",
            message,
            retryable=True,
            retry_after_s=asked_wait_s(message),
            rate_limits=limits,
        )
    if code in _KIND_OF_CODE:
        return ProviderFailed(_KIND_OF_CODE[code], message)
    return ProviderFailed(
        "other",
        f"stream disconnected before completion: {message}",
        retryable=code in _PASSING_CODES,
    )


def status_failed(
    status: int,
    body: str,
    error: Mapping[str, Any],
    *,
    retry_after_s: float | None,
    rate_limits: dict[str, Any] | None,
) -> ProviderFailed:
    """A failure that came as an HTTP status; `error` is the object in its body, if any."""
    code = str(error.get("code") or error.get("type") or "")
    said = _cut(str(error.get("message") or body or f"HTTP status {status}"))
    words = body[:MESSAGE_CHARACTERS_MAX] or said
    if code in _TOO_LONG_CODES or (status < 500 and status != 429 and _TOO_LONG_SAID.search(words)):
        return _too_long(error, said, http_status=status)
    if code in _USED_UP_CODES or status == 402:
        return ProviderFailed(
            "usageLimitExceeded", said, http_status=status, rate_limits=rate_limits
        )
    if status in (401, 403):
        return ProviderFailed("unauthorized", said, http_status=status)
    if status == 404 and (code == "model_not_found" or "model" in said.lower()):
        return ProviderFailed("modelNotFound", said, http_status=status)
    is_overloaded = status in OVERLOADED_STATUSES or code in _OVERLOADED_CODES
    if is_overloaded or status == 429 or status >= 500 or status in (408, 409):
        kind = "serverOverloaded" if is_overloaded else "internalServerError"
        return ProviderFailed(
            "rateLimitExceeded" if status == 429 and not is_overloaded else kind,
            said,
            retryable=True,
            http_status=status,
            retry_after_s=retry_after_s if retry_after_s is not None else asked_wait_s(said),
            rate_limits=rate_limits,
        )
    return ProviderFailed("other", _cut(body) or said, http_status=status)


def _too_long(
    error: Mapping[str, Any], said: str, *, http_status: int | None = None
) -> ProviderFailed:
    match = _WINDOW_SAID.search(said)
    told = int(next(filter(None, match.groups()))) if match is not None else 0
    return ProviderFailed(
        "contextWindowExceeded",
        TOO_LONG,
        http_status=http_status,
        window_tokens=_count(error, "n_ctx") or told or None,
    )


def asked_wait_s(message: str) -> float | None:
    """The wait that a message such as "try again in 1.5s" asks for."""
    match = _TRY_AGAIN.search(message)
    if match is None:
        return None
    try:
        amount = float(match[1])
    except ValueError:
        return None
    return amount / 1000 if match[2].lower() == "ms" else amount


def _cut(text: str) -> str:
    if len(text) <= MESSAGE_CHARACTERS_MAX:
        return text
    return f"{text[:MESSAGE_CHARACTERS_MAX]}…"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _count(given: Mapping[str, Any], key: str) -> int:
    value = given.get(key)
    return value if isinstance(value, int) and value > 0 else 0
