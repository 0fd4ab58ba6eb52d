"""The user agent: clients parse it, and lock themselves out on a wrong one."""

import re

import pytest

from server.handlers.identity import ServerIdentity


def _identity() -> ServerIdentity:
    return ServerIdentity(
        version="0.1.0",
        instance_id="i",
        started_at_ms=0,
        os_name="Linux",
        os_version="6.0.12",
        architecture="x86_64",
        terminal="xterm",
    )


def test_it_has_the_form_that_clients_parse_with_our_version_behind() -> None:
    """Originator, protocol version, machine, terminal, client, ourselves."""
    identity = _identity()
    identity.welcome("frames")
    assert identity.user_agent("frames", "1.0") == (
        "frames/0.171.0 (Linux 6.0.12; x86_64) xterm (frames; 1.0) memoryd/0.1.0"
    )


def test_the_first_client_stays_the_originator() -> None:
    """A second one is named in its own place only."""
    identity = _identity()
    identity.welcome("first")
    identity.welcome("second")
    assert identity.originator == "first"
    assert identity.user_agent("second", "2").startswith("first/0.171.0 ")
    assert "(second; 2)" in identity.user_agent("second", "2")


@pytest.mark.parametrize("name", ["plain", "tool-9.8.7", "tool/9.8.7", "9.8.7", ""])
def test_the_first_version_in_it_is_that_of_the_protocol(name: str) -> None:
    """Whatever a client calls itself."""
    identity = _identity()
    identity.welcome(name)
    found = re.search(r"\d+\.\d+\.\d+", identity.user_agent(name, "3.2.1"))
    assert found is not None and found[0] == "0.171.0"
