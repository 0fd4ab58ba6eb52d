"""Counters of memory use: each label is one of a few words, whatever a model writes."""

from collections.abc import Mapping

import pytest

from memory_read.tools import MemoryTool
from server.agent.inputs import ThreadSettings
from server.agent.memory_counters import MemoryCounters, counted, scope_of
from server.agent.memory_told import MemoryReport, told_nothing
from state.errors import PathRefused

SETTINGS = ThreadSettings(provider="p", model="m", cwd="/w")


@pytest.mark.parametrize(
    ("operation", "arguments", "scope"),
    [
        ("list", "", "root"),
        ("search", '{"queries":["x"]}', "all"),
        ("search", '{"queries":["x"],"path":"./skills/a"}', "skills"),
        ("read", '{"path":"/MEMORY.md/"}', "memory_md"),
        ("read", '{"path":"memory_summary.md"}', "memory_summary"),
        ("read", '{"path":"raw_memories.md"}', "raw_memories"),
        ("list", '{"path":"rollout_summaries"}', "rollout_summaries"),
        ("list", '{"path":"extensions/ad_hoc/notes/x.md"}', "ad_hoc_notes"),
        ("list", '{"path":"."}', "root"),
        ("read", '{"path":"../../etc/passwd"}', "other"),
        ("read", "no json", "other"),
        ("add_ad_hoc_note", '{"filename":"x"}', "ad_hoc_notes"),
    ],
)
def test_a_call_is_about_one_part_of_memory(operation: str, arguments: str, scope: str) -> None:
    """By the path that was asked for."""
    assert scope_of(operation, arguments) == scope


@pytest.mark.parametrize(
    ("name", "outcome", "status"),
    [
        ("read", {"content": "x", "truncated": False}, ("succeeded", "false")),
        ("read", {"content": "x", "truncated": True}, ("succeeded", "true")),
        ("add_ad_hoc_note", {}, ("succeeded", "not_applicable")),
        ("read", PathRefused("path 'x' was not found"), ("failed", "unknown")),
        ("read", OSError(5, "broken"), ("failed", "unknown")),
        ("add_ad_hoc_note", PathRefused("note exists"), ("failed", "not_applicable")),
        ("read", PathRefused("missing field `path`"), None),
        ("read", PathRefused("unknown field `x`, expected `path`"), None),
        ("read", PathRefused("invalid arguments: no JSON"), None),
    ],
)
def test_calls_are_counted_by_how_they_ended_and_bad_arguments_are_none(
    name: str, outcome: Mapping[str, object] | Exception, status: tuple[str, str] | None
) -> None:
    """What the tool gives or raises is passed on unchanged."""

    def work(text: str) -> Mapping[str, object]:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def at_once() -> None:
        """Nothing is waited for."""

    counters = MemoryCounters()
    tool = counted(
        MemoryTool(name=name, description="", parameters={}, work=work, ready=at_once), counters
    )
    if isinstance(outcome, Exception):
        with pytest.raises(type(outcome)):
            tool.work("{}")
    else:
        assert tool.work("{}") == outcome
    labels = [(one.labels["status"], one.labels["truncated"]) for one in counters.all()]
    assert labels == ([status] if status else [])


def test_shell_reads_and_turns_are_counted_under_a_few_words() -> None:
    """A client's own tool name makes no label of its own."""
    counters = MemoryCounters()
    for tool in ("exec_command", "my tool"):
        counters.shell_call(tool, "cat /h/memories/MEMORY.md", succeeded=True)
    counters.shell_call("exec_command", "ls", succeeded=True)
    counters.turn(SETTINGS, cited=True)
    counters.section(told_nothing("use_off", "v1").report)
    reads = [one for one in counters.all() if one.name == "memories.usage"]
    assert [one.labels["tool"] for one in reads] == ["exec_command", "other"]
    [turn] = [one for one in counters.all() if one.name == "turn.memory"]
    assert turn.labels == {
        "read_allowed": "true",
        "feature_enabled": "true",
        "config_use_memories": "true",
        "has_citations": "true",
    }


@pytest.mark.parametrize(
    "value", [None, 3, {}, {"injected": 1}, {"injected": True, "version": None}, {"injected": "x"}]
)
def test_a_report_that_does_not_fit_is_none(value: object) -> None:
    """Transcripts come from everywhere."""
    assert MemoryReport.read(value) is None
    good = told_nothing("no_summary", "v1").report
    assert MemoryReport.read(good.recorded()) == good
