"""Who may attach over TCP: the credential at the upgrade, the origin, the host name.

Pure: it takes header values and a time and gives a sentence of refusal or nothing. Comparisons
take the same time whatever is wrong.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import orjson

SECRET_BYTES_MIN = 32
CLOCK_SKEW_S = 30
_JWT_CHARACTERS_MAX = 16_384
_LOCAL_NAMES = frozenset({"localhost", "localhost.", "127.0.0.1", "[::1]"})

MISSING = "missing websocket bearer token"
BAD_HEADER = "invalid authorization header"
BAD_TOKEN = "invalid websocket bearer token"  # noqa: S105  a sentence, no secret
BAD_JWT = "invalid websocket jwt"
EXPIRED = "expired websocket jwt"
NOT_YET = "websocket jwt is not valid yet"
WRONG_ISSUER = "websocket jwt issuer mismatch"
WRONG_AUDIENCE = "websocket jwt audience mismatch"


@dataclass(frozen=True, slots=True)
class NoAuth:
    """Everybody who reaches the socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Whoever carries one secret, known here by its SHA-256 alone."""

    digest: bytes
    in_url: bool = False
    """Whether `?token=` counts as well, for clients that can set no header."""

    @classmethod
    def of(cls, secret: bytes, *, in_url: bool) -> "Token":
        """The policy for that secret."""
        return cls(digest=hashlib.sha256(secret).digest(), in_url=in_url)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedToken:
    """Whoever carries a JSON Web Token signed with the shared secret (HS256)."""

    secret: bytes
    issuer: str | None = None
    audience: str | None = None
    clock_skew_s: int = CLOCK_SKEW_S


AuthPolicy = NoAuth | Token | SignedToken


def refusal(
    policy: AuthPolicy, *, authorization: str | None, url_token: str | None, now_s: int
) -> str | None:
    """Why this client may not attach; None if it may."""
    match policy:
        case NoAuth():
            return None
        case Token():
            if authorization is None and policy.in_url and url_token is not None:
                return _wrong_token(policy, url_token.strip())
            given = _bearer(authorization)
            return given.sentence if isinstance(given, _Not) else _wrong_token(policy, given)
        case SignedToken():
            given = _bearer(authorization)
            return given.sentence if isinstance(given, _Not) else _wrong_jwt(policy, given, now_s)
        case _:
            assert_never(policy)


def is_foreign_host(host: str | None) -> bool:
    """Whether a Host header names something else than this machine's loopback.

    A page of a foreign name that resolves to 127.0.0.1 is told apart by nothing else.
    """
    if host is None:
        return False
    name, colon, port = host.strip().lower().rpartition(":")
    if not colon or not port.isdigit():
        name = host.strip().lower()
    return not (name in _LOCAL_NAMES or _is_loopback_literal(name))


@dataclass(frozen=True, slots=True)
class _Not:
    sentence: str


def _bearer(authorization: str | None) -> "str | _Not":
    """The token of the header, or why there is none."""
    if authorization is None:
        return _Not(MISSING)
    scheme, space, token = authorization.strip().partition(" ")
    if scheme.lower() != "bearer" or not space or not token.strip():
        return _Not(BAD_HEADER)
    return token.strip()


def _wrong_token(policy: Token, given: str) -> str | None:
    # Header values come as Latin-1, so that every byte a client sent is one character.
    digest = hashlib.sha256(given.encode("latin-1", "replace")).digest()
    return None if hmac.compare_digest(digest, policy.digest) else BAD_TOKEN


def _wrong_jwt(policy: SignedToken, token: str, now_s: int) -> str | None:
    """What is wrong with a signed token; its signature is looked at before its claims."""
    claims = _verified_claims(policy.secret, token)
    if claims is None:
        return BAD_JWT
    expires, not_before = _time(claims, "exp"), _time(claims, "nbf")
    if expires is None or (not_before is None and claims.get("nbf") is not None):
        return BAD_JWT
    if now_s > expires + policy.clock_skew_s:
        return EXPIRED
    if not_before is not None and now_s + policy.clock_skew_s < not_before:
        return NOT_YET
    if policy.issuer is not None and claims.get("iss") != policy.issuer:
        return WRONG_ISSUER
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if policy.audience is not None and policy.audience not in audiences:
        return WRONG_AUDIENCE
    return None


def _verified_claims(secret: bytes, token: str) -> Mapping[str, Any] | None:
    """The claims of a token that the secret signed; None for any other text."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > _JWT_CHARACTERS_MAX or not token.isascii():
        return None
    try:
        header, claims, signature = (_decoded(part) for part in parts)
        if orjson.loads(header).get("alg") != "HS256":
            return None
        signed = hmac.digest(secret, f"{parts[0]}.{parts[1]}".encode(), "sha256")
        if not hmac.compare_digest(signed, signature):
            return None
        value = orjson.loads(claims)
    except (binascii.Error, ValueError, AttributeError):
        return None
    return value if isinstance(value, dict) else None


def _decoded(part: str) -> bytes:
    padded = part + "=" * (-len(part) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def _is_loopback_literal(name: str) -> bool:
    parts = name.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() for part in parts)
