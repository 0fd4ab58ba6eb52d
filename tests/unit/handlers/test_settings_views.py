"""Settings of threads: what clients ask for, and what they are shown."""

from typing import Any

import pytest

from protocol.errors import WireError
from protocol.messages.threads import ThreadStartParams
from protocol.messages.turns import TurnStartParams
from server.agent.inputs import InstructionChange, MemoryChange, ThreadSettings
from server.handlers.settings_views import (
    change_of_thread,
    change_of_turn,
    memory_overrides,
    policy_of_mode,
    sandbox_view,
    settings_view,
)
from server.handlers.threads import absolute


@pytest.mark.parametrize(
    "config",
    [
        {"memories.use_memories": False},
        {"memories": {"use_memories": False}},
        {"features.memories": False},
        {"features": {"memories": False}},
    ],
)
def test_a_thread_can_be_started_without_memory(config: dict[str, Any]) -> None:
    """In dotted keys and in nested objects."""
    memory = change_of_thread(ThreadStartParams(config=config), cwd=None).memory
    assert memory is not None and False in (memory.use, memory.feature)


def test_a_thread_without_a_word_on_memory_keeps_the_defaults() -> None:
    """Nothing is overridden."""
    change = change_of_thread(ThreadStartParams(config={"model": "x"}), cwd=None)
    assert (change.memory, change.instruction_files) == (MemoryChange(), InstructionChange())
    assert memory_overrides(None) == {}


def test_generating_and_tools_can_be_set_for_one_thread() -> None:
    """Both under their own keys."""
    config = {"memories": {"generate_memories": False}, "memories.dedicated_tools": True}
    assert memory_overrides(config) == {"generate_memories": False, "dedicated_tools": True}


def test_a_memory_version_that_is_not_there_is_refused() -> None:
    """As a configuration that cannot be loaded."""
    with pytest.raises(WireError) as raised:
        memory_overrides({"memories.version": "v9"})
    assert raised.value.message == (
        "failed to load configuration: unknown variant `v9`, expected `v1` or `v2`"
    )
    with pytest.raises(WireError):
        memory_overrides({"memories.use_memories": "yes"})


def test_a_config_map_sets_what_a_parameter_of_its_own_would() -> None:
    """The parameter wins over the map; a word that is no mode or policy is refused."""
    config = {
        "model": "m",
        "model_provider": "p",
        "approval_policy": "never",
        "sandbox_mode": "read-only",
    }
    change = change_of_thread(ThreadStartParams(config=config), cwd=None)
    assert (change.model, change.provider, change.approval_policy) == ("m", "p", "never")
    assert change.sandbox_policy == policy_of_mode("read-only")
    given = ThreadStartParams(config=config, sandbox="workspace-write", model="n")
    change = change_of_thread(given, cwd=None)
    assert (change.model, change.sandbox_policy) == ("n", policy_of_mode("workspace-write"))
    refused: list[dict[str, Any]] = [
        {"sandbox_mode": "none"},
        {"approval_policy": {}},
        {"model": 5},
    ]
    for wrong in refused:
        with pytest.raises(WireError, match="failed to load configuration"):
            change_of_thread(ThreadStartParams(config=wrong), cwd=None)


@pytest.mark.parametrize(
    ("mode", "policy"),
    [
        ("danger-full-access", {"type": "dangerFullAccess"}),
        ("read-only", {"type": "readOnly", "networkAccess": False}),
        (
            "workspace-write",
            {
                "type": "workspaceWrite",
                "writableRoots": [],
                "networkAccess": False,
                "excludeTmpdirEnvVar": False,
                "excludeSlashTmp": False,
            },
        ),
    ],
)
def test_a_mode_becomes_the_policy_that_clients_see(mode: str, policy: dict[str, Any]) -> None:
    """Asked for in one spelling, shown in another."""
    assert policy_of_mode(mode) == policy


def test_a_policy_that_cannot_be_read_is_shown_as_the_narrowest() -> None:
    """Clients refuse an unknown one."""
    assert sandbox_view({"type": "new"}).to_wire()["type"] == "readOnly"


def test_overrides_of_a_turn_are_taken_over() -> None:
    """Model, effort, policy."""
    params = TurnStartParams.model_validate(
        {
            "threadId": "x",
            "input": [],
            "model": "m",
            "effort": "high",
            "approvalPolicy": "never",
            "sandboxPolicy": {"type": "dangerFullAccess"},
        }
    )
    change = change_of_turn(params, cwd="/w")
    assert (change.model, change.effort, change.cwd) == ("m", "high", "/w")
    assert change.approval_policy == "never"
    assert change.sandbox_policy == {"type": "dangerFullAccess"}


def test_settings_are_shown_with_every_key() -> None:
    """As the original tells them."""
    shown = settings_view(ThreadSettings(provider="p", model="m", cwd="/w")).to_wire()
    assert shown["collaborationMode"] == {
        "mode": "default",
        "settings": {"model": "m", "reasoning_effort": None, "developer_instructions": None},
    }
    assert shown["environments"][0]["cwd"] == "/w"
    assert shown["approvalPolicy"] == "on-request"


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        (None, "/base"),
        ("", "/base"),
        ("/abs", "/abs"),
        (".", "/base"),
        ("sub/../other", "/base/other"),
    ],
)
def test_a_working_folder_is_always_absolute(given: str | None, folder: str) -> None:
    """It is in every result."""
    assert absolute(given, "/base") == folder
