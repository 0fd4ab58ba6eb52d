"""From the `--ws-auth` flags to a policy; a wrong combination stops the start."""

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.wire.auth import (
    CLOCK_SKEW_S,
    SECRET_BYTES_MIN,
    AuthPolicy,
    NoAuth,
    SignedToken,
    Token,
)
from server.wire.sockets import AddressRefused, is_loopback

_FILE_BYTES_MAX = 65_536
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


class FlagsRefused(Exception):
    """Flags that do not fit together; the text says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthFlags:
    """The flags as they were given; None where one was not."""

    mode: str | None = None
    token_file: str | None = None
    token_sha256: str | None = None
    shared_secret_file: str | None = None
    issuer: str | None = None
    audience: str | None = None
    clock_skew_s: int | None = None


_FLAGS = {
    "token_file": "--ws-token-file",
    "token_sha256": "--ws-token-sha256",
    "shared_secret_file": "--ws-shared-secret-file",
    "issuer": "--ws-issuer",
    "audience": "--ws-audience",
    "clock_skew_s": "--ws-max-clock-skew-seconds",
}


def policy_from(flags: AuthFlags, *, access_key: Path) -> AuthPolicy:
    """The policy that the flags ask for; without a mode, the secret of this installation.

    Raises: FlagsRefused.
    """
    capability = _named(flags, "token_file", "token_sha256")
    signed = _named(flags, "shared_secret_file", "issuer", "audience", "clock_skew_s")
    match flags.mode:
        case None:
            _none_of({**capability, **signed}, "needs --ws-auth")
            return Token.of(_secret(access_key, bytes_min=1), in_url=True)
        case "none":
            _none_of({**capability, **signed}, "cannot be used with --ws-auth none")
            return NoAuth()
        case "capability-token":
            _none_of(signed, "needs --ws-auth signed-bearer-token")
            return _capability(flags)
        case "signed-bearer-token":
            _none_of(capability, "needs --ws-auth capability-token")
            return _signed(flags)
        case other:
            raise FlagsRefused(
                f"--ws-auth {other}: expected none, capability-token or signed-bearer-token"
            )


def check_flags(flags: AuthFlags) -> None:
    """Refuse what makes no policy, also where no TCP listener will ask for one.

    Raises: FlagsRefused.
    """
    if flags.mode is None:
        _none_of(_named(flags, *_FLAGS), "needs --ws-auth")
        return
    policy_from(flags, access_key=Path())


def check_reach(host: str, port: int, flags: AuthFlags) -> None:
    """A host must be an IP literal, and one that others can reach needs a mode asked for.

    Raises: AddressRefused.
    """
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        reachable = not is_loopback(host)
    except ValueError:
        raise AddressRefused(
            f"invalid websocket --listen URL `ws://{shown}`; expected `ws://IP:PORT`"
        ) from None
    if reachable and flags.mode in (None, "none"):
        raise AddressRefused(
            f"refusing to start non-loopback websocket listener {shown} without auth; configure "
            "`--ws-auth capability-token` or `--ws-auth signed-bearer-token`"
        )


def _capability(flags: AuthFlags) -> Token:
    if (flags.token_file is None) == (flags.token_sha256 is None):
        raise FlagsRefused(
            "--ws-auth capability-token needs exactly one of --ws-token-file and --ws-token-sha256"
        )
    if flags.token_sha256 is not None:
        if not _DIGEST.fullmatch(flags.token_sha256.strip()):
            raise FlagsRefused("--ws-token-sha256 needs 64 hexadecimal digits")
        return Token(digest=bytes.fromhex(flags.token_sha256.strip()))
    path = _absolute("--ws-token-file", flags.token_file or "")
    return Token.of(_secret(path, bytes_min=1), in_url=False)


def _signed(flags: AuthFlags) -> SignedToken:
    if flags.shared_secret_file is None:
        raise FlagsRefused("--ws-auth signed-bearer-token needs --ws-shared-secret-file")
    skew = CLOCK_SKEW_S if flags.clock_skew_s is None else flags.clock_skew_s
    if skew < 0:
        raise FlagsRefused("--ws-max-clock-skew-seconds must not be negative")
    path = _absolute("--ws-shared-secret-file", flags.shared_secret_file)
    return SignedToken(
        secret=_secret(path, bytes_min=SECRET_BYTES_MIN),
        issuer=flags.issuer,
        audience=flags.audience,
        clock_skew_s=skew,
    )


def _named(flags: AuthFlags, *names: str) -> Mapping[str, object]:
    """These of the flags, by the words that a user writes."""
    return {_FLAGS[name]: getattr(flags, name) for name in names}


def _none_of(given: Mapping[str, object], why: str) -> None:
    for flag, value in given.items():
        if value is not None:
            raise FlagsRefused(f"{flag} {why}")


def _absolute(flag: str, text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise FlagsRefused(f"{flag} needs an absolute path, got {text}")
    return path


def _secret(path: Path, *, bytes_min: int) -> bytes:
    """The trimmed content of a secret's file; the text of an error never holds it."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(path.stat().st_mode):
                raise FlagsRefused(f"{path} is not a file")
            secret = file.read(_FILE_BYTES_MAX).strip()
    except OSError as error:
        raise FlagsRefused(f"cannot read {path}: {error.strerror}") from error
    if len(secret) < bytes_min:
        need = "is empty" if bytes_min == 1 else f"holds fewer than {bytes_min} bytes"
        raise FlagsRefused(f"{path} {need}")
    return secret
