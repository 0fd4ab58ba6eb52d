"""The credential at the upgrade."""

import base64
import hashlib
import hmac
from typing import Any

import orjson
import pytest

from server.wire.auth import (
    AuthPolicy,
    NoAuth,
    SignedToken,
    Token,
    is_foreign_host,
    refusal,
)

NOW_S = 1_795_000_000
SECRET = b"0123456789abcdef0123456789abcdef"


def ask(policy: AuthPolicy, header: str | None = None, url: str | None = None) -> str | None:
    """The answer of a policy."""
    return refusal(policy, authorization=header, url_token=url, now_s=NOW_S)


def b64(data: bytes) -> str:
    """The encoding of a token's parts."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(claims: Any, *, secret: bytes = SECRET, alg: str = "HS256", digest: str = "sha256") -> str:
    """A signed token."""
    signed = f"{b64(orjson.dumps({'alg': alg}))}.{b64(orjson.dumps(claims))}"
    return f"{signed}.{b64(hmac.digest(secret, signed.encode(), digest))}"


@pytest.mark.requirement("FR-T23")
@pytest.mark.parametrize(
    ("header", "url", "expected"),
    [
        ("Bearer s3cret", None, None),
        ("bearer   s3cret  ", None, None),
        (None, "s3cret", None),
        (None, None, "missing websocket bearer token"),
        ("Basic s3cret", None, "invalid authorization header"),
        ("Bearer", None, "invalid authorization header"),
        ("Bearer  ", None, "invalid authorization header"),
        ("s3cret", None, "invalid authorization header"),
        ("Bearer s3cret2", None, "invalid websocket bearer token"),
        ("Bearer s3cr\xe9t", None, "invalid websocket bearer token"),
        (None, "wrong", "invalid websocket bearer token"),
        (None, "", "invalid websocket bearer token"),
        ("Bearer wrong", "s3cret", "invalid websocket bearer token"),
    ],
)
def test_the_secret_of_the_installation(
    header: str | None, url: str | None, expected: str | None
) -> None:
    """In a header or in the URL; the header counts where both are given."""
    assert ask(Token.of(b"s3cret", in_url=True), header, url) == expected


def test_a_capability_token_is_not_taken_from_the_url() -> None:
    """URLs end up in logs; only the secret of the installation allows it."""
    policy = Token(digest=hashlib.sha256(b"cap").digest())
    assert ask(policy, None, "cap") == "missing websocket bearer token"
    assert ask(policy, "Bearer cap") is None


def test_no_auth_lets_everybody_in() -> None:
    """It is for loopback only, which the start checks."""
    assert ask(NoAuth()) is None


@pytest.mark.requirement("MR-9-24")
@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (jwt({"exp": NOW_S + 10}), None),
        (jwt({"exp": NOW_S + 10.5, "nbf": NOW_S - 1}), None),
        (jwt({"exp": NOW_S - 30}), None),
        (jwt({"exp": NOW_S - 31}), "expired websocket jwt"),
        (jwt({"exp": NOW_S + 99, "nbf": NOW_S + 30}), None),
        (jwt({"exp": NOW_S + 99, "nbf": NOW_S + 31}), "websocket jwt is not valid yet"),
        (jwt({}), "invalid websocket jwt"),
        (jwt({"exp": "soon"}), "invalid websocket jwt"),
        (jwt({"exp": True}), "invalid websocket jwt"),
        (jwt({"exp": NOW_S + 10, "nbf": "x"}), "invalid websocket jwt"),
        (jwt([1]), "invalid websocket jwt"),
        (jwt({"exp": NOW_S + 10}, secret=b"x" * 32), "invalid websocket jwt"),
        (jwt({"exp": NOW_S + 10}, alg="none"), "invalid websocket jwt"),
        (jwt({"exp": NOW_S + 10}, alg="HS512", digest="sha512"), "invalid websocket jwt"),
        (jwt({"exp": NOW_S + 10}).rpartition(".")[0] + ".", "invalid websocket jwt"),
        ("a.b", "invalid websocket jwt"),
        ("a.b.c.d", "invalid websocket jwt"),
        ("!!.??.--", "invalid websocket jwt"),
        (b64(b"[]") + ".e30.x", "invalid websocket jwt"),
        ("x" * 20_000, "invalid websocket jwt"),
    ],
)
def test_a_signed_token(token: str, expected: str | None) -> None:
    """Signature first, then its times with the allowed skew."""
    assert ask(SignedToken(secret=SECRET), f"Bearer {token}") == expected


@pytest.mark.requirement("MR-9-24")
@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"iss": "me", "aud": "you"}, None),
        ({"iss": "me", "aud": ["they", "you"]}, None),
        ({"iss": "it", "aud": "you"}, "websocket jwt issuer mismatch"),
        ({"aud": "you"}, "websocket jwt issuer mismatch"),
        ({"iss": "me", "aud": ["they"]}, "websocket jwt audience mismatch"),
        ({"iss": "me"}, "websocket jwt audience mismatch"),
    ],
)
def test_issuer_and_audience(claims: dict[str, Any], expected: str | None) -> None:
    """Both must match where they were asked for."""
    policy = SignedToken(secret=SECRET, issuer="me", audience="you")
    assert ask(policy, f"Bearer {jwt({'exp': NOW_S + 10, **claims})}") == expected


@pytest.mark.requirement("FR-T23")
@pytest.mark.parametrize(
    ("host", "foreign"),
    [
        ("127.0.0.1:4500", False),
        ("127.0.0.1", False),
        ("127.8.9.1:1", False),
        ("localhost:4500", False),
        ("LOCALHOST", False),
        ("[::1]:4500", False),
        ("[::1]", False),
        (None, False),
        ("evil.example:4500", True),
        ("127.0.0.1.evil.example", True),
        ("localhost.evil.example:80", True),
        ("192.168.1.5:4500", True),
        ("0.0.0.0:4500", True),
        ("", True),
    ],
)
def test_a_foreign_host_name_is_told_apart(host: str | None, foreign: bool) -> None:
    """A name that resolves to loopback is still another name."""
    assert is_foreign_host(host) is foreign
