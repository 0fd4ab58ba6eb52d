"""Whether a value that stands where a secret could stand is one; pure.

Invariant: variables, calls, masks, templates, types and plain words are no secrets; what is judged
is short, so that no pattern here needs to be cheap on long texts.
"""

import re

from state.policy.secret_shapes import NAMES, PHRASE_NAMES

# A variable, a template's hole, a mask or a call: the secret itself is not there.
NOT_SECRET = re.compile(
    r"\[REDACTED|\$\{[^}]{0,128}\}|\$\(|\$[A-Z_][A-Z0-9_]*+(?![a-z])|\{\{|%\("
    r"|\{[A-Za-z_][\w.]{0,64}\}|<[\w -]{1,64}>"
    r"|[xX*.…•-]{3,}+$|(?i:your[_-]|x-oauth-basic|os\.environ|process\.env|import\.meta|getenv|getpass)"
)
METHODS = re.compile(r"(?i:base64|sha-?\d|md5|hs\d|rs\d|aes|oauth|utf-?\d|http2?|ed25519|\d+ )")
_PLAIN_WORDS = frozenset(
    "required optional string number boolean integer undefined function property missing invalid "
    "expired disabled enabled default unknown nothing hidden loaded needed correct incorrect "
    "rotated stored same-origin".split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*\.?")
_PARTS = re.compile(r"\.|::|->")
_WORDS = re.compile(r"[A-Za-z]+(?:[-_/.][A-Za-z]+)+")
_NUMBER = re.compile(r"[0-9._-]+")


def quoted_secret(value: str, name: str) -> bool:
    """Whether a value in quotes behind this name is one."""
    if len(value) < 6 or NOT_SECRET.match(value):
        return False
    if any(char.isspace() for char in value):
        # A sentence about a password is none; a phrase of words without its name may be one.
        return is_phrase(name) and not NAMES.search(value) and value[-1] not in ".!?:\u3002"
    if value.lower() in _PLAIN_WORDS or NAMES.fullmatch(value):
        return False
    return is_phrase(name) or not _NUMBER.fullmatch(value)


def bare_secret(value: str, name: str, *, tight: bool, follows: str) -> bool:
    """Whether a value without quotes is one; `tight` when only `=` stands before it."""
    word = value.rstrip(".:!?")
    if (follows and follows in "([") or NOT_SECRET.match(value):
        return False
    if value.startswith(("/", "./", "~/")) or word.lower() in _PLAIN_WORDS:
        return False
    phrase = is_phrase(name)
    if _NUMBER.fullmatch(word):
        return phrase and len(word) >= 6
    if not _IDENTIFIER.fullmatch(word):
        # A name of several words, such as `db-credentials`, says where the secret is.
        return not (_WORDS.fullmatch(word) and NAMES.search(word))
    if any(random_looking(part) for part in _PARTS.split(word)):
        return True
    if _PARTS.search(word) or NAMES.search(word):
        return False
    if any(char.isdigit() for char in word):
        return True
    # Letters alone are a variable or a type, unless written as a shell or an INI line would.
    return len(word) >= 8 and (tight or (phrase and word.isalpha() and word.islower()))


def is_phrase(name: str) -> bool:
    """Whether a name is one of what a person thinks up, which may be a plain word."""
    return PHRASE_NAMES.search(name) is not None


def mixed(value: str) -> bool:
    """Whether it holds a digit or a capital."""
    return any(char.isdigit() or char.isupper() for char in value)


def strong(word: str) -> bool:
    """Whether no word of a language looks like it."""
    letters = any(char.isalpha() for char in word)
    others = any(char.isdigit() or char in "!@#$%^&*~+" for char in word)
    return len(word) >= 6 and letters and others


def random_looking(word: str) -> bool:
    """Whether it was drawn rather than thought up: long, of digits and both kinds of letters."""
    return (
        len(word) >= 12
        and any(char.isdigit() for char in word)
        and any(char.isupper() for char in word)
        and any(char.islower() for char in word)
    )
