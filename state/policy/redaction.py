"""Takes secrets out of text that is kept, shown or sent.

Anchored shapes only: tokens with a tell-tale beginning, keys in PEM armour, credentials in headers
and URLs, and values of names such as `password`. Commit hashes, UUIDs, paths and code stay.
Invariant: the work is linear in the text; each rule looks at a character a fixed number of times
at most, which `Scan.looked` counts. Where a second pass is in use, what it finds goes as well.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from state.policy.secret_shapes import (
    AUTHORISATION,
    AWS_KEY_ID_REST,
    AWS_KEY_IDS,
    BARE_REST,
    BARE_VALUE,
    BEARER_REST,
    BEFORE_CHARS_MAX,
    COMMAND_PASSWORD,
    COMMAND_USER,
    ESCAPED_VALUE,
    FLAG_SEPARATOR,
    JWT_PREFIX,
    JWT_REST,
    NAME_CHARS_MAX,
    NAME_HINT,
    NAMES,
    PATTERN_RULES,
    PEM_PREFIX,
    PEM_REST,
    PROSE_SEPARATOR,
    PROSE_VALUE,
    QUOTED_VALUE,
    SEPARATOR,
    SPACE_SEPARATOR,
    TOKEN_RULES,
    URL_MARK,
    URL_PASSWORD,
    URL_USER,
)
from state.policy.secret_values import (
    METHODS,
    NOT_SECRET,
    bare_secret,
    is_phrase,
    mixed,
    quoted_secret,
    random_looking,
    strong,
)

Span = tuple[int, int]
SecondPass = Callable[[str], Sequence[Span]]

MARK = "[REDACTED_SECRET]"
NESTING_MAX = 64


@dataclass(slots=True)
class Scan:
    """The secrets of one text, and how many characters were looked at to find them."""

    text: str
    spans: list[Span] = field(default_factory=list)
    looked: int = 0

    def run(self) -> "Scan":
        """Look for all shapes."""
        lowered = self.text.lower()
        self._tokens()
        self._patterns(lowered)
        self._armour()
        self._headers()
        self._urls()
        self._named(lowered)
        return self

    def replaced(self) -> str:
        """The text with each secret replaced by the mark."""
        parts: list[str] = []
        at = 0
        for start, end in _merged(self.spans):
            parts += (self.text[at:start], MARK)
            at = end
        parts.append(self.text[at:])
        return "".join(parts)

    def _tokens(self) -> None:
        for rule in TOKEN_RULES:
            if rule.prefix not in self.text:
                continue  # as nearly always: asking costs a tenth of beginning to look
            for start, after in self._anchors(rule.prefix, joined=rule.joined):
                rest = self._match(rule.rest, after)
                if rest is not None and (not rule.mixed or mixed(rest[0])):
                    self.spans.append((after if rule.shown else start, rest.end()))
        for prefix in AWS_KEY_IDS:
            if prefix not in self.text:
                continue
            for start, after in self._anchors(prefix):
                if found := self._match(AWS_KEY_ID_REST, after):
                    self.spans.append((start, found.end()))
        for start, after in self._anchors(JWT_PREFIX):
            if found := self._match(JWT_REST, after):
                self.spans.append((start, found.end()))

    def _patterns(self, lowered: str) -> None:
        for rule in PATTERN_RULES:
            if rule.hint not in lowered:
                continue
            for found in rule.pattern.finditer(self.text):
                secret = found["secret"]
                self.looked += len(found[0])
                if rule.before is not None:
                    at = found.start()
                    before = self.text[max(0, at - BEFORE_CHARS_MAX) : at]
                    self.looked += len(before)
                    if not rule.before.search(before):
                        continue
                if NOT_SECRET.match(secret) or (rule.strong and not strong(secret)):
                    continue
                self.spans.append(found.span("secret"))

    def _armour(self) -> None:
        at = 0
        while (start := self.text.find(PEM_PREFIX, at)) >= 0:
            found = self._match(PEM_REST, start + len(PEM_PREFIX))
            at = found.end() if found else start + len(PEM_PREFIX)
            if found:
                self.spans.append((start, found.end()))

    def _headers(self) -> None:
        for anchor in AUTHORISATION.finditer(self.text):
            found = self._match(BEARER_REST, anchor.end())
            bearer = anchor[0][:5].lower() != "basic"
            # Prose says "basic" before long words too; base64 of a password has digits.
            if found and (bearer or any(char.isdigit() for char in found[0])):
                self.spans.append(found.span())

    def _urls(self) -> None:
        at = 0
        while (mark := self.text.find(URL_MARK, at)) >= 0:
            at = mark + len(URL_MARK)
            user = self._match(URL_USER, at)
            password = self._match(URL_PASSWORD, user.end()) if user else None
            if password and not NOT_SECRET.match(password[0]):
                self.spans.append(password.span())
                at = password.end()
        for anchor in COMMAND_USER.finditer(self.text):
            password = self._match(COMMAND_PASSWORD, anchor.end())
            if password and not NOT_SECRET.match(password[0]):
                self.spans.append(password.span())

    def _named(self, lowered: str) -> None:
        at = 0
        for start, end in _near_hints(self.text, lowered):
            at = max(at, start)
            while at < end and (name := NAMES.search(self.text, at, end)):
                at = name.end()
                found = (
                    self._assigned(name) or self._flag(name) or self._told(name) or self._next(name)
                )
                if found:
                    self.spans.append(found)
                    at = found[1]

    def _assigned(self, name: re.Match[str]) -> Span | None:
        separator = self._match(SEPARATOR, name.end())
        if separator is None:
            return None
        quote, listed = separator["quote"], separator["sign"] == ","
        if listed and not (quote and separator["name_quote"]):
            return None
        if quote:
            shapes = ESCAPED_VALUE if quote[0] == "\\" else QUOTED_VALUE
            value = self._match(shapes[quote[-1]], separator.end())
            if value is None or (listed and not strong(value[0])):
                return None
            return value.span() if quoted_secret(value[0], name[0]) else None
        value = self._match(BARE_VALUE, separator.end())
        if value is None:
            return None
        tight = separator[0] == "="
        follows = self.text[value.end() : value.end() + 1]
        if not bare_secret(value[0], name[0], tight=tight, follows=follows):
            return None
        rest = self._match(BARE_REST, value.end())
        return value.start(), rest.end() if rest else value.end()

    def _flag(self, name: re.Match[str]) -> Span | None:
        before = self.text[max(0, name.start() - 32) : name.start()]
        self.looked += len(before)
        if not re.search(r"(?:^|\s)--[a-z-]{0,24}$", before):
            return None
        separator = self._match(FLAG_SEPARATOR, name.end())
        value = self._match(BARE_VALUE, separator.end()) if separator else None
        if value is None or value[0].startswith("-") or NOT_SECRET.match(value[0]):
            return None
        return value.span() if mixed(value[0]) or len(value[0]) >= 8 else None

    def _told(self, name: re.Match[str]) -> Span | None:
        separator = self._match(PROSE_SEPARATOR, name.end())
        if separator is None:
            return None
        quote = separator[0][-1]
        if quote in QUOTED_VALUE and is_phrase(name[0]):
            quoted = self._match(QUOTED_VALUE[quote], separator.end())
            closed = quoted and self.text[quoted.end() : quoted.end() + 1] == quote
            if quoted and closed and quoted_secret(quoted[0], name[0]):
                return quoted.span()
        value = self._match(PROSE_VALUE, separator.end())
        if value is None or NOT_SECRET.match(value[0]) or METHODS.match(value[0]):
            return None
        word = value[0].rstrip(".!?:")
        return (value.start(), value.start() + len(word)) if strong(word) else None

    def _next(self, name: re.Match[str]) -> Span | None:
        separator = self._match(SPACE_SEPARATOR, name.end())
        value = self._match(PROSE_VALUE, separator.end()) if separator else None
        if value is None or NOT_SECRET.match(value[0]) or METHODS.match(value[0]):
            return None
        word = value[0].rstrip(".!?:")
        if is_phrase(name[0]):
            good = len(word) >= 8 and strong(word) and any(char.isdigit() for char in word)
        else:
            good = len(word) >= 20 and random_looking(word)
        return (value.start(), value.start() + len(word)) if good else None

    def _anchors(self, prefix: str, *, joined: bool = False) -> Iterator[Span]:
        """Places where the prefix begins a word, each after the last secret found."""
        at = 0
        while (start := self.text.find(prefix, at)) >= 0:
            at = start + len(prefix)
            self.looked += 1
            before = self.text[start - 1] if start else " "
            inside = before.isalnum() or (before in "_-" and not joined)
            if before.isascii() and inside:
                # A JSON text writes a line end as a letter behind a backslash.
                if not (before in "nrt" and self.text[max(0, start - 2)] == "\\"):
                    continue
            yield start, at
            if self.spans and self.spans[-1][0] == start:
                at = self.spans[-1][1]

    def _match(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        found = pattern.match(self.text, at)
        self.looked += 1 if found is None else max(1, found.end() - at)
        return found


class _InUse:
    """The second pass of this process; set once, by whoever starts a server."""

    second_pass: SecondPass | None = None


def use_second_pass(second_pass: SecondPass | None) -> None:
    """From now on let this find secrets too; None for our own shapes alone."""
    _InUse.second_pass = second_pass


def redact(text: str) -> str:
    """The text with each secret replaced by `[REDACTED_SECRET]`."""
    spans = secrets_in(text)
    return Scan(text, spans).replaced() if spans else text


def secrets_in(text: str) -> list[Span]:
    """Where the secrets of a text stand, by our shapes and by the second pass."""
    spans = Scan(text).run().spans
    if _InUse.second_pass is not None:
        spans.extend(
            span for span in _InUse.second_pass(text) if MARK not in text[span[0] : span[1]]
        )
    return spans


def redact_json(value: Any) -> Any:
    """A JSON value with every string in it redacted; a string under a secret's name goes whole."""
    return _redact_value(value, NESTING_MAX)


def contains_secret(text: str) -> bool:
    """Whether `redact` would change the text."""
    return bool(secrets_in(text))


def _redact_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "[nested too deeply]"
    if isinstance(value, list):
        return [_redact_value(one, depth - 1) for one in value]
    return {
        key: MARK if _is_named_secret(key, one) else _redact_value(one, depth - 1)
        for key, one in value.items()
    }


def _is_named_secret(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not isinstance(value, str) or len(key) > 128:
        return False
    name = None
    for name in NAMES.finditer(key):  # noqa: B007  # the last one is wanted
        pass
    return name is not None and name.end() == len(key) and quoted_secret(value, name[0])


def _near_hints(text: str, lowered: str) -> Iterator[Span]:
    """The stretches of a text in which a name can stand, in order and apart from each other."""
    if len(lowered) != len(text):
        yield 0, len(text)  # some letters have small forms of another length
        return
    reached: Span | None = None
    for hint in NAME_HINT.finditer(lowered):
        start, end = hint.start() - NAME_CHARS_MAX, hint.end() + NAME_CHARS_MAX
        if reached is None:
            reached = max(0, start), end
        elif start <= reached[1]:
            reached = reached[0], end
        else:
            yield reached
            reached = start, end
    if reached is not None:
        yield reached


def _merged(spans: list[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in sorted(spans):
        if last is None or span[0] >= last[1]:
            if last is not None:
                yield last
            last = span
        else:
            last = (last[0], max(last[1], span[1]))
    if last is not None:
        yield last
