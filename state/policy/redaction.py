"""Takes secrets out of text that is kept, shown or sent.

Anchored shapes only: tokens with a tell-tale beginning, keys in PEM armour, credentials in headers
and URLs, and values of names such as `password`. Commit hashes, UUIDs, paths and code stay.
Invariant: the work is linear in the text; each rule looks at a character a fixed number of times
at most, which `Scan.looked` counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from state.policy.secret_shapes import (
    AUTHORISATION,
    AWS_KEY_ID_REST,
    AWS_KEY_IDS,
    BARE_REST,
    BARE_VALUE,
    BEARER_REST,
    COMMAND_PASSWORD,
    COMMAND_USER,
    ESCAPED_VALUE,
    FLAG_SEPARATOR,
    JWT_PREFIX,
    JWT_REST,
    NAME_HINTS,
    NAMES,
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

MARK = "[REDACTED_SECRET]"
NESTING_MAX = 64

# A variable, a template's hole, a mask or a call: the secret itself is not there.
_NOT_SECRET = re.compile(
    r"\[REDACTED|\$\{[^}]{0,128}\}|\$\(|\$[A-Z_][A-Z0-9_]*+(?![a-z])|\{\{|%\("
    r"|\{[A-Za-z_][\w.]{0,64}\}|<[\w -]{1,64}>"
    r"|[xX*.…•-]{3,}+$|(?i:your[_-]|os\.environ|process\.env|import\.meta|getenv|getpass)"
)
_METHODS = re.compile(r"(?i:base64|sha-?\d|md5|hs\d|rs\d|aes|oauth|utf-?\d|http2?|ed25519|\d+ )")
_PLAIN_WORDS = frozenset(
    "required optional string number boolean integer undefined function property missing invalid "
    "expired disabled enabled default unknown nothing hidden loaded needed correct incorrect "
    "rotated stored same-origin".split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*\.?")
_PARTS = re.compile(r"\.|::|->")
_NUMBER = re.compile(r"[0-9._-]+")


@dataclass(slots=True)
class Scan:
    """The secrets of one text, and how many characters were looked at to find them."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    looked: int = 0

    def run(self) -> "Scan":
        """Look for all shapes."""
        self._tokens()
        self._armour()
        self._headers()
        self._urls()
        self._named()
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
            for start, after in self._anchors(rule.prefix):
                rest = self._match(rule.rest, after)
                if rest is not None and (not rule.mixed or _mixed(rest[0])):
                    self.spans.append((start, rest.end()))
        for prefix in AWS_KEY_IDS:
            for start, after in self._anchors(prefix):
                if found := self._match(AWS_KEY_ID_REST, after):
                    self.spans.append((start, found.end()))
        for start, after in self._anchors(JWT_PREFIX):
            if found := self._match(JWT_REST, after):
                self.spans.append((start, found.end()))

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
            if password and not _NOT_SECRET.match(password[0]):
                self.spans.append(password.span())
                at = password.end()
        for anchor in COMMAND_USER.finditer(self.text):
            password = self._match(COMMAND_PASSWORD, anchor.end())
            if password and not _NOT_SECRET.match(password[0]):
                self.spans.append(password.span())

    def _named(self) -> None:
        lowered = self.text.lower()
        if not any(hint in lowered for hint in NAME_HINTS):
            return
        at = 0
        while name := NAMES.search(self.text, at):
            at = name.end()
            found = self._assigned(name) or self._flag(name) or self._told(name) or self._next(name)
            if found:
                self.spans.append(found)
                at = found[1]

    def _assigned(self, name: re.Match[str]) -> tuple[int, int] | None:
        separator = self._match(SEPARATOR, name.end())
        if separator is None:
            return None
        quote = separator["quote"]
        if quote:
            shapes = ESCAPED_VALUE if quote[0] == "\\" else QUOTED_VALUE
            value = self._match(shapes[quote[-1]], separator.end())
            return value.span() if value and _quoted_secret(value[0], name[0]) else None
        value = self._match(BARE_VALUE, separator.end())
        if value is None:
            return None
        tight = separator[0] == "="
        follows = self.text[value.end() : value.end() + 1]
        if not _bare_secret(value[0], name[0], tight=tight, follows=follows):
            return None
        rest = self._match(BARE_REST, value.end())
        return value.start(), rest.end() if rest else value.end()

    def _flag(self, name: re.Match[str]) -> tuple[int, int] | None:
        before = self.text[max(0, name.start() - 32) : name.start()]
        self.looked += len(before)
        if not re.search(r"(?:^|\s)--[a-z-]{0,24}$", before):
            return None
        separator = self._match(FLAG_SEPARATOR, name.end())
        value = self._match(BARE_VALUE, separator.end()) if separator else None
        if value is None or value[0].startswith("-") or _NOT_SECRET.match(value[0]):
            return None
        return value.span() if _mixed(value[0]) or len(value[0]) >= 8 else None

    def _told(self, name: re.Match[str]) -> tuple[int, int] | None:
        separator = self._match(PROSE_SEPARATOR, name.end())
        value = self._match(PROSE_VALUE, separator.end()) if separator else None
        if value is None or _NOT_SECRET.match(value[0]) or _METHODS.match(value[0]):
            return None
        word = value[0].rstrip(".!?:")
        return (value.start(), value.start() + len(word)) if _strong(word) else None

    def _next(self, name: re.Match[str]) -> tuple[int, int] | None:
        separator = self._match(SPACE_SEPARATOR, name.end())
        value = self._match(PROSE_VALUE, separator.end()) if separator else None
        if value is None or _NOT_SECRET.match(value[0]) or _METHODS.match(value[0]):
            return None
        word = value[0].rstrip(".!?:")
        if "pass" in name[0].lower():
            good = len(word) >= 8 and _strong(word) and any(char.isdigit() for char in word)
        else:
            good = len(word) >= 20 and _random(word)
        return (value.start(), value.start() + len(word)) if good else None

    def _anchors(self, prefix: str) -> Iterator[tuple[int, int]]:
        """Places where the prefix begins a word, each after the last secret found."""
        at = 0
        while (start := self.text.find(prefix, at)) >= 0:
            at = start + len(prefix)
            self.looked += 1
            before = self.text[start - 1] if start else " "
            if before.isascii() and (before.isalnum() or before in "_-"):
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


def redact(text: str) -> str:
    """The text with each secret replaced by `[REDACTED_SECRET]`."""
    scan = Scan(text).run()
    return scan.replaced() if scan.spans else text


def redact_json(value: Any) -> Any:
    """A JSON value with every string in it redacted; a string under a secret's name goes whole."""
    return _redact_value(value, NESTING_MAX)


def contains_secret(text: str) -> bool:
    """Whether `redact` would change the text."""
    return bool(Scan(text).run().spans)


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
    return name is not None and name.end() == len(key) and _quoted_secret(value, name[0])


def _quoted_secret(value: str, name: str) -> bool:
    if len(value) < 6 or _NOT_SECRET.match(value):
        return False
    if any(char.isspace() for char in value):
        # A sentence about a password is none; a phrase of words without its name may be one.
        return "pass" in name.lower() and not NAMES.search(value) and value[-1] not in ".!?:"
    if value.lower() in _PLAIN_WORDS or NAMES.fullmatch(value):
        return False
    return "pass" in name.lower() or not _NUMBER.fullmatch(value)


def _bare_secret(value: str, name: str, *, tight: bool, follows: str) -> bool:
    word = value.rstrip(".:!?")
    if (follows and follows in "([") or _NOT_SECRET.match(value):
        return False
    if value.startswith(("/", "./", "~/")) or word.lower() in _PLAIN_WORDS:
        return False
    phrase = "pass" in name.lower()
    if _NUMBER.fullmatch(word):
        return phrase and len(word) >= 6
    if not _IDENTIFIER.fullmatch(word):
        return True
    if any(_random(part) for part in _PARTS.split(word)):
        return True
    if _PARTS.search(word) or NAMES.search(word):
        return False
    if any(char.isdigit() for char in word):
        return True
    # Letters alone are a variable or a type, unless written as a shell or an INI line would.
    return len(word) >= 8 and (tight or (phrase and word.isalpha() and word.islower()))


def _mixed(value: str) -> bool:
    return any(char.isdigit() or char.isupper() for char in value)


def _strong(word: str) -> bool:
    letters = any(char.isalpha() for char in word)
    others = any(char.isdigit() or char in "!@#$%^&*~+" for char in word)
    return len(word) >= 6 and letters and others


def _random(word: str) -> bool:
    return (
        len(word) >= 12
        and any(char.isdigit() for char in word)
        and any(char.isupper() for char in word)
        and any(char.islower() for char in word)
    )


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for span in sorted(spans):
        if last is None or span[0] >= last[1]:
            if last is not None:
                yield last
            last = span
        else:
            last = (last[0], max(last[1], span[1]))
    if last is not None:
        yield last
