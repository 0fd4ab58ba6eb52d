"""The installed server with the access flags of the original: who attaches, who is told what."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.handshakes import refusal
from tests.support.installed import MEMORYD, environment

TOKEN = "the-capability"
SECRET = "k" * 32


def _jwt(**claims: Any) -> str:
    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    header = json.dumps({"alg": "HS256"}).encode()
    signed = f"{part(header)}.{part(json.dumps(claims).encode())}"
    return f"{signed}.{part(hmac.digest(SECRET.encode(), signed.encode(), 'sha256'))}"


@asynccontextmanager
async def _serving(home: Path, *flags: str) -> AsyncIterator[str]:
    """The address of a server with these flags."""
    process = await asyncio.create_subprocess_exec(
        MEMORYD,
        "serve",
        "--listen",
        "ws://127.0.0.1:0",
        *flags,
        env=environment(home),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        printed = ""
        while "home " not in printed:
            line = (await process.stderr.readline()).decode()
            assert line, printed
            printed += line
        assert TOKEN not in printed and SECRET not in printed
        assert f"by --ws-auth {flags[1]}" in printed
        yield printed.partition("listens on ")[2].split()[0]
    finally:
        process.terminate()
        await process.communicate()


async def _attached(address: str, header: str | None) -> str | None:
    """None if a client with that header shakes hands, else what it is told."""
    headers = {} if header is None else {"Authorization": header}
    refused = await refusal(address, headers)
    return None if refused is None else f"{refused.status_code} {refused.body.decode()}"


@pytest.mark.requirement("MR-9-24")
@pytest.mark.parametrize("by", ["file", "digest"])
async def test_a_capability_token_is_the_only_key(by: str, tmp_path: Path) -> None:
    """By its file or its digest; the secret of the installation opens nothing then."""
    home, file = tmp_path / "home", tmp_path / "token"
    file.write_text(f" {TOKEN}\n")
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    given = ("--ws-token-file", str(file)) if by == "file" else ("--ws-token-sha256", digest)
    async with _serving(home, "--ws-auth", "capability-token", *given) as address:
        assert await _attached(address, None) == "401 missing websocket bearer token"
        assert await _attached(address, "Basic x") == "401 invalid authorization header"
        secret = home / "keys" / "access"
        known = secret.read_text().strip() if secret.exists() else "x"
        assert await _attached(address, f"Bearer {known}") == "401 invalid websocket bearer token"
        assert await _attached(f"{address}/?token={TOKEN}", None) is not None
        assert await _attached(address, f"bEaReR  {TOKEN} ") is None


@pytest.mark.requirement("MR-9-24")
async def test_a_signed_token_is_checked_with_all_its_claims(tmp_path: Path) -> None:
    """Expiry, begin, issuer and audience, each with its sentence and the skew that was given."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    flags = ("--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", str(file))
    more = ("--ws-issuer", "me", "--ws-audience", "you", "--ws-max-clock-skew-seconds", "100")
    soon, past = int(time.time()) + 3_600, int(time.time()) - 50
    fine: dict[str, Any] = {"exp": soon, "iss": "me", "aud": ["they", "you"]}
    async with _serving(tmp_path / "home", *flags, *more) as address:
        for changed, sentence in (
            ({}, None),
            ({"exp": past}, None),
            ({"exp": past - 100}, "expired websocket jwt"),
            ({"exp": None}, "invalid websocket jwt"),
            ({"nbf": soon}, "websocket jwt is not valid yet"),
            ({"iss": "it"}, "websocket jwt issuer mismatch"),
            ({"aud": "they"}, "websocket jwt audience mismatch"),
        ):
            told = await _attached(address, f"Bearer {_jwt(**{**fine, **changed})}")
            assert told == (None if sentence is None else f"401 {sentence}"), changed
        assert await _attached(address, "Bearer x.y.z") == "401 invalid websocket jwt"
