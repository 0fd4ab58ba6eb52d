"""The shapes of secrets that `redaction` looks for, as data.

A token rule is a literal beginning and what must follow it. Invariant: a rule's following part is
one run of a character class without alternatives, so looking at it costs its length and no more.
"""

import re
from dataclasses import dataclass

_WORD = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A token that its own beginning gives away."""

    prefix: str
    rest: re.Pattern[str]
    mixed: bool = False
    """Whether the rest must hold a digit or a capital, since words could begin the same way."""


def _rule(prefix: str, chars: str, least: int, *, mixed: bool = False) -> TokenRule:
    return TokenRule(prefix, re.compile(f"{chars}{{{least},}}+"), mixed)


TOKEN_RULES: tuple[TokenRule, ...] = (
    _rule("sk-", _WORD, 18, mixed=True),
    *(_rule(f"{kind}_{mode}_", _ALNUM, 10) for kind in ("sk", "rk") for mode in ("live", "test")),
    _rule("whsec_", r"[A-Za-z0-9+/=]", 16),
    *(_rule(f"gh{kind}_", _ALNUM, 16) for kind in "pousr"),
    _rule("github_pat_", r"[A-Za-z0-9_]", 20),
    _rule("glpat-", _WORD, 12, mixed=True),
    _rule("npm_", _ALNUM, 20),
    _rule("hf_", _ALNUM, 20),
    _rule("AIza", _WORD, 30),
    _rule("ya29.", r"[A-Za-z0-9_.-]", 20),
    _rule("GOCSPX-", _WORD, 16),
    *(_rule(f"xox{kind}-", _WORD, 10) for kind in "abeoprs"),
    _rule("xapp-", _WORD, 20, mixed=True),
    _rule("pypi-", _WORD, 50),
    _rule("dop_v1_", _ALNUM, 32),
    _rule("SG.", r"[A-Za-z0-9_.-]", 40, mixed=True),
    _rule("hvs.", _WORD, 20),
    _rule("shpat_", _ALNUM, 20),
    _rule("lin_api_", _ALNUM, 20),
    _rule("gsk_", _ALNUM, 30),
    _rule("xai-", _ALNUM, 30),
    _rule("pplx-", _ALNUM, 30),
    _rule("tvly-", _WORD, 20, mixed=True),
    _rule("r8_", _ALNUM, 30),
    _rule("AGE-SECRET-KEY-1", r"[A-Z0-9]", 40),
    _rule("hooks.slack.com/services/", r"[A-Za-z0-9/]", 20),
    _rule("discord.com/api/webhooks/", r"[A-Za-z0-9/_-]", 40),
)

# An access key id of AWS has one length, and must be a whole word.
AWS_KEY_IDS = ("AKIA", "ASIA")
AWS_KEY_ID_REST = re.compile(r"[0-9A-Z]{16}(?![0-9A-Za-z_])")

JWT_PREFIX = "eyJ"
JWT_REST = re.compile(rf"{_WORD}{{8,}}+\.{_WORD}{{8,}}+(?:\.{_WORD}*+)?")

PEM_PREFIX = "-----BEGIN "
PEM_REST = re.compile(
    r"[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
    # Headers of encrypted keys, then the body; a JSON text has its line ends escaped.
    r"(?:(?:\s|\\[nr])*+[A-Z][A-Za-z-]{2,20}: [^\r\n\\]{1,200}+){0,6}+"
    r"(?:[A-Za-z0-9+/=\s]|\\[nr])*+"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)

AUTHORISATION = re.compile(
    r"(?<![A-Za-z0-9_])(?i:bearer|basic|(?<=authorization: )token)[ \t]{1,8}+"
)
BEARER_REST = re.compile(r"[A-Za-z0-9._~+/-]{16,}+=*+")

URL_MARK = "://"
URL_USER = re.compile(r"[^\s/@:?#\"'<>\\]{0,256}+:")
URL_PASSWORD = re.compile(r"[^\s/@\"'<>\\]{1,512}+(?=@)")

# What a secret is called. What stands before (`DB_`, `aws-`) does not matter; what follows does.
NAMES = re.compile(
    r"(?i:pass[_ -]?(?:word|phrase|wd|code)|passwd|\bpwd|(?<=[_-])pwd"
    r"|(?:access|private|secret|signing|encryption|auth|account|master|service|api)[_ -]?key"
    r"|secret|token|credentials?|connection[_ -]?string|\bpat\b)"
)
"""Longer names end in one of these: `access_token`, `client_secret`."""
NAME_HINTS = ("pass", "pwd", "secret", "token", "key", "credential", "connection", "pat")
"""One of these stands in every text in which `NAMES` finds anything."""

SEPARATOR = re.compile(
    r"(?P<name_quote>(?:\\{1,4})?[\"'`])?+[ \t]{0,8}+"
    # Between name and value may stand a type: `password: str = "…"`.
    r"(?P<sign>:[ \t]{0,4}[A-Za-z][\w.\[\]|]{0,40}+(?: \| None)?[ \t]{0,4}=(?!=)|:=|=>|==?|:)"
    r"[ \t]{0,8}+(?P<quote>(?:\\{1,4})?[\"'`])?+"
)
FLAG_SEPARATOR = re.compile(r"(?P<sign>[ \t]{1,4})(?P<quote>[\"'])?+")
PROSE_SEPARATOR = re.compile(
    r"[ \t]{1,4}(?:(?:for|to|of|on)(?: [\w.-]{1,24}){1,3} )?(?:is|was)(?: now)?[ \t:]{1,4}[\"'`]?+"
)
SPACE_SEPARATOR = re.compile(r"[ \t]{1,4}[\"'`]?+")

BARE_VALUE = re.compile(r"[^\s\"'`\\,;(){}\[\]<>|&]{6,256}+")
BARE_REST = re.compile(r"[^\s\"'`\\,;(){}\[\]<>|&]++")
PROSE_VALUE = re.compile(r"[^\s\"'`,;()<>]{6,128}+")
QUOTED_VALUE = {
    '"': re.compile(r"(?:[^\"\\\r\n]|\\[^\r\n]){1,1024}+"),
    "'": re.compile(r"(?:[^'\\\r\n]|\\[^\r\n]){1,1024}+"),
    "`": re.compile(r"(?:[^`\\\r\n]|\\[^\r\n]){1,1024}+"),
}
ESCAPED_VALUE = {
    '"': re.compile(r"(?:[^\"\\\r\n]|\\[^\"\\\r\n]){1,1024}+"),
    "'": re.compile(r"(?:[^'\\\r\n]|\\[^'\\\r\n]){1,1024}+"),
    "`": re.compile(r"(?:[^`\\\r\n]|\\[^`\\\r\n]){1,1024}+"),
}

COMMAND_USER = re.compile(r"(?<![A-Za-z0-9-])(?:-u|--user)[ =]{1,4}[\"']?[^\s:\"'/@]{1,64}+:")
COMMAND_PASSWORD = re.compile(r"[^\s\"'/:]{4,256}+")
