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
    shown: bool = False
    """Whether the beginning may stay, as the host of an address may."""
    joined: bool = True
    """Whether it may stand behind a hyphen or an underscore, as no short beginning may."""


def _rule(
    prefix: str,
    chars: str,
    least: int,
    *,
    mixed: bool = False,
    shown: bool = False,
    joined: bool = True,
) -> TokenRule:
    joined = joined and len(prefix) > 3
    return TokenRule(prefix, re.compile(f"{chars}{{{least},}}+"), mixed, shown, joined)


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
    *(_rule(f"do{kind}_v1_", _ALNUM, 32) for kind in "opr"),
    _rule("SG.", r"[A-Za-z0-9_.-]", 40, mixed=True),
    *(_rule(f"hv{kind}.", _WORD, 20) for kind in "sbr"),
    *(_rule(f"shp{kind}_", _ALNUM, 20) for kind in ("at", "ss", "ca", "pa")),
    _rule("lin_api_", _ALNUM, 20),
    _rule("gsk_", _ALNUM, 30),
    _rule("xai-", _ALNUM, 30),
    _rule("pplx-", _ALNUM, 30),
    _rule("tvly-", _WORD, 20, mixed=True),
    _rule("r8_", _ALNUM, 30),
    _rule("AGE-SECRET-KEY-1", r"[A-Z0-9]", 40),
    *(_rule(f"gl{kind}-", _WORD, 16, mixed=True) for kind in ("ptt", "rt", "dt", "cbt", "ft")),
    _rule("secret_", _ALNUM, 40, mixed=True),
    _rule("ntn_", _ALNUM, 40, mixed=True),
    _rule("figd_", _WORD, 30, mixed=True),
    _rule("dckr_pat_", _WORD, 20),
    *(_rule(f"gl{kind}_", r"[A-Za-z0-9_+/=]", 30, mixed=True) for kind in ("sa", "c")),
    _rule("NRAK-", _ALNUM, 20),
    *(_rule(f"sntry{kind}_", r"[A-Za-z0-9_+/=]", 40) for kind in "su"),
    _rule("sbp_", _ALNUM, 30),
    _rule("nfp_", _ALNUM, 30),
    _rule("rubygems_", _ALNUM, 40),
    *(_rule(f"pscale_{kind}_", _WORD, 30) for kind in ("tkn", "pw", "oauth")),
    *(_rule(f"dp.{kind}.", _ALNUM, 30) for kind in ("pt", "st", "ct", "sa")),
    _rule("dapi", r"[0-9a-f]", 32),
    _rule("PMAK-", r"[0-9a-f-]", 40),
    *(_rule(f"AT{kind}TT3", r"[A-Za-z0-9_=-]", 40) for kind in "AC"),
    _rule("ATBB", _ALNUM, 28),
    _rule("dt0c01.", r"[A-Z0-9.]", 60),
    *(_rule(f"sq0{kind}-", _WORD, 20) for kind in ("atp", "csp", "idp")),
    _rule("nvapi-", _WORD, 40, mixed=True),
    _rule("sgp_", r"[A-Za-z0-9_]", 40),
    _rule("pul-", r"[0-9a-f]", 40),
    _rule("key-", r"[0-9a-f]", 32, mixed=True, joined=False),
    _rule("django-insecure-", r"[^\s\"'`]", 30),
    _rule("hooks.slack.com/services/", r"[A-Za-z0-9/]", 20, shown=True),
    _rule("discord.com/api/webhooks/", r"[A-Za-z0-9/_-]", 40, shown=True),
    _rule("webhook.office.com/webhookb2/", r"[A-Za-z0-9/@-]", 60, shown=True),
)

# Shapes without a beginning of their own. A hint stands, in small letters, in every text that has
# one; what is taken out is the group `secret`, and `strong` ones must not look like a plain word.
_ARGUMENT = r"[\"']?(?P<secret>[^\s\"'|;&]{4,128}+)"
_SO_FAR = r"\b[^\n|;&]{0,120}?\s"


@dataclass(frozen=True, slots=True)
class PatternRule:
    """A secret that what stands around it gives away."""

    hint: str
    pattern: re.Pattern[str]
    strong: bool = False
    before: re.Pattern[str] | None = None
    """What must end where the pattern begins, which is quicker to look at afterwards."""


BEFORE_CHARS_MAX = 64


def _around(
    hint: str, pattern: str, *, strong: bool = False, before: str | None = None
) -> PatternRule:
    ends = None if before is None else re.compile(rf"{before}\Z")
    return PatternRule(hint, re.compile(pattern), strong, ends)


_NAMED = r"(?i:password|passwd|pwd|passphrase|secret|token|api[_-]?key)"

PATTERN_RULES: tuple[PatternRule, ...] = (
    _around(":aa", r"(?<![0-9])(?P<secret>[0-9]{8,12}:AA[A-Za-z0-9_-]{30,50}+)"),
    _around(
        ".",
        r"(?<![\w-])(?P<secret>[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,50}+)",
        strong=True,
    ),
    _around("sk", r"(?P<secret>SK[0-9a-f]{32})(?![\w-])", before=r"(?:\A|[^\w-])"),
    _around("sig=", r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=]{32,160}+)"),
    _around("-signature=", r"X-(?:Amz|Goog)-Signature=(?P<secret>[0-9a-fA-F]{40,1024}+)"),
    _around(
        "sec-websocket-protocol",
        r"(?i:sec-websocket-protocol: ?bearer), ?(?P<secret>[A-Za-z0-9._~+/-]{16,512}+)",
    ),
    _around(
        "fromhex",
        r"bytes\.fromhex\([\"'](?P<secret>[0-9a-fA-F]{32,512}+)",
        before=r"(?i:key|secret)\s?=\s?",
    ),
    _around("x-oauth-basic", r"://(?P<secret>[^\s/:@]{8,255}+):x-oauth-basic@"),
    _around("identified by", r"(?i:IDENTIFIED BY)\s{1,4}[\"'](?P<secret>[^\"'\n]{4,128}+)[\"']"),
    _around("unzip", r"\bunzip" + _SO_FAR + r"-P\s{0,4}" + _ARGUMENT),
    _around("7z", r"\b7za?\s" + _SO_FAR + r"-p(?=\S)" + _ARGUMENT),
    _around(
        "htpasswd",
        r"\bhtpasswd" + _SO_FAR + r"-\w*b\w*\s{1,4}\S{1,128}\s{1,4}\S{1,64}\s{1,4}" + _ARGUMENT,
    ),
    _around(
        "add_user",
        r"\brabbitmqctl\s{1,4}(?:add_user|change_password)\s{1,4}\S{1,64}\s{1,4}" + _ARGUMENT,
    ),
    _around("wpa_passphrase", r"\bwpa_passphrase\s{1,4}\S{1,64}\s{1,4}" + _ARGUMENT),
    _around(
        "cookie:",
        r"(?i:cookie: ?[^\n]{0,200}?(?:sess\w{0,12}|sid|auth\w{0,12}))="
        r"(?P<secret>[^;\s\"']{16,1024}+)",
    ),
    _around("sshpass", r"\bsshpass\s{1,4}-p\s{0,4}" + _ARGUMENT),
    _around("mysql", r"\b(?:mysql|mariadb)\w{0,10}" + _SO_FAR + r"-p(?=\S)" + _ARGUMENT),
    _around("redis-cli", r"\bredis-cli" + _SO_FAR + r"-a\s{1,4}" + _ARGUMENT),
    _around(
        " login",
        r"\b(?:docker|podman|az|helm|oras|skopeo|oc)\b[^\n|;&]{0,20}?\slogin"
        + _SO_FAR
        + r"-p\s{1,4}(?!-)"
        + _ARGUMENT,
    ),
    _around("twine", r"\btwine" + _SO_FAR + r"-p\s{1,4}(?!-)" + _ARGUMENT),
    _around("ldap", r"\bldap[a-z]{3,8}" + _SO_FAR + r"-w\s{1,4}" + _ARGUMENT),
    _around("smb", r"\bsmb[a-z]{3,8}" + _SO_FAR + r"-U\s{0,4}[^\s%]{1,64}%" + _ARGUMENT),
    _around("net use", r"\bnet use\b[^\n]{0,160}?/user:\S{1,64}\s{1,4}" + _ARGUMENT),
    _around("ssh-keygen", r"\bssh-keygen" + _SO_FAR + r"-[NP]\s{1,4}" + _ARGUMENT),
    _around(
        "openssl", r"\bopenssl" + _SO_FAR + r"-(?:k\s{1,4}|pass(?:in|out)?\s{1,4}pass:)" + _ARGUMENT
    ),
    _around(
        "sudo", r"\becho\s{1,4}[\"']?(?P<secret>[^\s\"'|$]{4,128}+)[\"']?\s{0,4}\|\s{0,4}sudo\s"
    ),
    _around(
        "securestring",
        r"(?i:ConvertTo-SecureString)\s{1,4}(?:-String\s{1,4})?[\"']"
        r"(?P<secret>[^\"'\n]{4,128}+)[\"']",
    ),
    _around("</", rf">(?P<secret>[^<>\s]{{4,256}}+)</[\w:.-]{{0,40}}?{_NAMED}>"),
    _around(
        "value=",
        r"value=[\"'](?P<secret>[^\"'\s]{4,256}+)[\"']",
        before=rf"{_NAMED}[\"']\s{{1,4}}",
    ),
    _around(
        "variable",
        rf"\bvariable\s{{1,4}}\"[^\"\n]{{0,48}}?{_NAMED}[^\"\n]{{0,16}}\"\s{{0,4}}\{{[^{{}}]{{0,200}}?"
        r"\bdefault\s{1,8}=\s{1,8}\"(?P<secret>[^\"\n]{4,256}+)\"",
    ),
    _around(
        "private-lines",
        r"Private-Lines: [0-9]{1,4}(?:\r?\n|\\{1,4}n)"
        r"(?P<secret>(?:[A-Za-z0-9+/=]{4,80}+(?:\r?\n|\\{1,4}n|\Z))++)",
    ),
    # The value stands in a field or on a line of its own, as in Kubernetes and in templates.
    _around(
        "value",
        r"value[\"']?\s?:\s?[\"']?(?P<secret>[^\s\"'`,{}]{6,256}+)",
        before=rf"{_NAMED}[\"']?[,:]?\s{{0,4}}\{{?\s{{0,40}}[\"']?",
        strong=True,
    ),
    _around(
        ":\n",
        r"(?m):\n[ \t]{1,40}(?P<secret>[^\s:]{6,256}+)$",
        before=_NAMED,
        strong=True,
    ),
    # A line of `.pgpass`; the same form without a strong last part is a place in a file.
    _around(
        ":",
        r"(?m)^[\w.*-]{1,64}:(?:[0-9]{2,5}|\*):[\w*-]{1,64}:[\w*.-]{1,64}:(?P<secret>[^\s:]{6,128}+)$",
        strong=True,
    ),
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
    r"(?:(?:\s|\\{1,4}[nr])*+[A-Z][A-Za-z-]{2,20}: [^\r\n\\]{1,200}+){0,6}+"
    r"(?:[A-Za-z0-9+/=\s]|\\{1,4}[nr])*+"
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
    r"(?i:pass[_ -]?(?:word|wort|phrase|wd|code)|passwd|\bpwd|(?<=[_-])pwd|\bpsk(?==)"
    r"|\bpw(?=[:=])|(?:(?<=[_-])|\b)pass(?=[\"']?[ \t]?[:=])|(?:store|key|require)pass\b"
    r"|kennwort|contrase[\u00f1n]a|mot de passe|\bsenha|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4"
    r"|secret[_-]key[_-]base|(?<![a-z])app[_-]key(?==)"
    r"|(?:access|private|secret|signing|encryption|auth|account|storage|master|service|api|hmac)"
    r"[_ -]?key"
    r"|secret|token|credentials?|connection[_ -]?string|(?<![A-Za-z])pat\b)"
)
"""Longer names end in one of these: `access_token`, `client_secret`; in several languages."""
NAME_HINT = re.compile(
    r"pass|pwd|psk|pw|secret|token|key|credential|connection|pat"
    r"|kennwort|contrase|senha|\u5bc6|\u53e3\u4ee4"
)
"""One of these stands in every name that `NAMES` finds, in small letters."""
NAME_CHARS_MAX = 24
"""How far a name may reach to either side of its hint, and what is looked at beside it."""
PHRASE_NAMES = re.compile(r"(?i:pass|pw|psk|kennwort|contrase|senha|\u5bc6|\u53e3\u4ee4)")
"""Names of what a person thinks up, which may be a plain word."""

SEPARATOR = re.compile(
    # A prompt shows the value of before: `Secret Access Key [None]: `.
    r"(?P<name_quote>(?:\\{1,4})?[\"'`])?+(?:[ \t]\[[^\]\n]{0,40}+\])?+[ \t]{0,8}+"
    # Between name and value may stand a type: `password: str = "…"`.
    r"(?P<sign>:[ \t]{0,4}[A-Za-z][\w.\[\]|]{0,40}+(?: \| None)?[ \t]{0,4}="
    r"(?=[ \t]{0,8}[\"'\w])|:=|=>|==?|:|\uff1a|,)"
    r"[ \t]{0,8}+(?P<quote>(?:\\{1,4})?[\"'`])?+"
)
FLAG_SEPARATOR = re.compile(r"(?P<sign>[ \t]{1,4})(?P<quote>[\"'])?+")
PROSE_SEPARATOR = re.compile(
    r"[ \t]{1,4}(?:(?:for|to|of|on|f\u00fcr|de[rsl]?|du|para|pour)(?: [\w.-]{1,24}){1,3} )?"
    r"(?:is|was|ist|lautet|war|es|est|era|\u00e9|\u00e8)(?: now| jetzt)?[ \t:]{1,4}[\"'`]?+"
    r"|[ \t]{0,4}(?:\u662f|\u4e3a)[ \t:\uff1a]{0,4}[\"'`]?+"
)
SPACE_SEPARATOR = re.compile(r"[ \t]{1,4}[\"'`]?+")

# An `&` belongs to a password, unless it joins fields of a query or commands of a shell.
_BARE = r"(?:[^\s\"'`\\,;(){}\[\]<>|&]|&(?![\w.%-]{0,40}=|&|amp;|\s|\Z))"
BARE_VALUE = re.compile(_BARE + r"{6,256}+")
BARE_REST = re.compile(_BARE + r"++")
PROSE_VALUE = re.compile(r"[^\s\"'`,;()<>\\\u3002\uff0c]{6,128}+")
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
