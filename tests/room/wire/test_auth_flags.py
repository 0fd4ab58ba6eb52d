"""From flags and files to a policy."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from server.wire.auth import AuthPolicy, NoAuth, SignedToken, Token
from server.wire.auth_flags import AuthFlags, FlagsRefused, check_reach, policy_from
from server.wire.sockets import AddressRefused
from state.home import Home


def policy(tmp_path: Path, **flags: Any) -> AuthPolicy:
    """The policy for these flags in a fresh home."""
    home = Home(tmp_path / "home")
    home.prepare()
    return policy_from(AuthFlags(**flags), access_key=home.access_key)


@pytest.mark.requirement("FR-T23")
def test_without_flags_the_secret_of_the_installation_counts(tmp_path: Path) -> None:
    """Trimmed, and also from the URL; another installation has another one."""
    first, second = policy(tmp_path / "a"), policy(tmp_path / "b")
    secret = (tmp_path / "a" / "home" / "keys" / "access").read_bytes().strip()
    assert first == Token(digest=hashlib.sha256(secret).digest(), in_url=True)
    assert first != second


def test_each_mode_with_its_flags(tmp_path: Path) -> None:
    """As in the original."""
    token, shared = tmp_path / "token", tmp_path / "shared"
    token.write_text("  cap \n")
    shared.write_text("k" * 32 + "\n")
    digest = hashlib.sha256(b"cap").digest()
    assert policy(tmp_path, mode="none") == NoAuth()
    mode = "capability-token"
    assert policy(tmp_path, mode=mode, token_file=str(token)) == Token(digest=digest)
    assert policy(tmp_path, mode=mode, token_sha256=digest.hex().upper()) == Token(digest=digest)
    assert policy(
        tmp_path,
        mode="signed-bearer-token",
        shared_secret_file=str(shared),
        issuer="i",
        audience="a",
        clock_skew_s=5,
    ) == SignedToken(secret=b"k" * 32, issuer="i", audience="a", clock_skew_s=5)


@pytest.mark.requirement("MR-9-24")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"mode": "other"}, "expected none, capability-token or signed-bearer-token"),
        ({"token_file": "/x"}, "--ws-token-file needs --ws-auth"),
        ({"clock_skew_s": 1}, "--ws-max-clock-skew-seconds needs --ws-auth"),
        ({"mode": "none", "issuer": "x"}, "--ws-issuer cannot be used with --ws-auth none"),
        ({"mode": "capability-token"}, "exactly one of"),
        (
            {"mode": "capability-token", "token_file": "/x", "token_sha256": "ab" * 32},
            "exactly one of",
        ),
        ({"mode": "capability-token", "token_sha256": "ab"}, "64 hexadecimal digits"),
        ({"mode": "capability-token", "token_file": "x"}, "needs an absolute path"),
        ({"mode": "capability-token", "token_file": "/no/such"}, "cannot read /no/such"),
        ({"mode": "capability-token", "token_file": "/dev/null"}, "/dev/null is not a file"),
        (
            {"mode": "capability-token", "token_file": "EMPTY"},
            "EMPTY is empty",
        ),
        (
            {"mode": "capability-token", "token_file": "EMPTY", "issuer": "i"},
            "--ws-issuer needs --ws-auth signed-bearer-token",
        ),
        ({"mode": "signed-bearer-token"}, "needs --ws-shared-secret-file"),
        (
            {"mode": "signed-bearer-token", "shared_secret_file": "EMPTY"},
            "holds fewer than 32 bytes",
        ),
        (
            {"mode": "signed-bearer-token", "shared_secret_file": "/x", "clock_skew_s": -1},
            "must not be negative",
        ),
        (
            {"mode": "signed-bearer-token", "token_sha256": "ab" * 32},
            "--ws-token-sha256 needs --ws-auth capability-token",
        ),
    ],
)
def test_a_wrong_combination_stops_the_start(
    flags: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    """With one sentence that names the flag."""
    empty = tmp_path / "EMPTY"
    empty.write_text(" \n")
    given = {key: str(empty) if value == "EMPTY" else value for key, value in flags.items()}
    with pytest.raises(FlagsRefused) as refused:
        policy(tmp_path, **given)
    assert sentence in str(refused.value)


@pytest.mark.requirement("FR-T23", "MR-9-24")
@pytest.mark.parametrize("mode", [None, "none"])
@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "0.0.0.0:4500"), ("::", "[::]:4500"), ("10.0.0.1", "10.")]
)
def test_a_socket_that_others_reach_needs_a_mode_that_was_asked_for(
    host: str, shown: str, mode: str | None
) -> None:
    """The sentence is the one that users of the original know."""
    with pytest.raises(AddressRefused) as refused:
        check_reach(host, 4500, AuthFlags(mode=mode))
    assert str(refused.value).startswith(
        f"refusing to start non-loopback websocket listener {shown}"
    )
    assert "without auth; configure `--ws-auth capability-token` or" in str(refused.value)
    check_reach(host, 4500, AuthFlags(mode="capability-token"))
    check_reach("127.0.0.1", 4500, AuthFlags(mode=mode))
    check_reach("::1", 4500, AuthFlags(mode=mode))


def test_a_host_is_an_ip_literal() -> None:
    """A name could mean another machine tomorrow."""
    with pytest.raises(AddressRefused, match="expected `ws://IP:PORT`"):
        check_reach("localhost", 4500, AuthFlags())
