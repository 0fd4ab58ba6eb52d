"""Which client began a thread, and whether that makes it a user's own session.

Only sessions that a person began are learned from; sub-agents, reviews and internal workers never.
"""

import json

ROOT_SOURCES = frozenset({"cli", "vscode", "exec", "appServer", "atlas", "chatgpt", "mcp"})
_NOT_BY_A_PERSON = frozenset({"subagent", "memory_consolidation", "internal"})
_SUB_AGENTS = {"review": "subAgentReview", "compact": "subAgentCompact"}
SUB_AGENT_KINDS = (
    "subAgent",
    "subAgentReview",
    "subAgentCompact",
    "subAgentThreadSpawn",
    "subAgentOther",
)


def source_kind(source: str) -> str:
    """The kind of a source as lists filter by it; `source` is its JSON text."""
    try:
        value = json.loads(source)
    except ValueError:
        return "unknown"
    match value:
        case "app_server" | "appserver":
            return "appServer"
        case "internal":
            return "internal"
        case str():
            return value if value in ROOT_SOURCES else "unknown"
        case {"custom": str(custom)}:
            return custom if custom in ROOT_SOURCES else "unknown"
        case {"internal": _}:
            return "internal"
        case {"subAgent": agent} | {"subagent": agent} | {"sub_agent": agent}:
            return _sub_agent_kind(agent)
        case _:
            return "unknown"


def is_root(kind: str, thread_source: str | None, *, imported: bool) -> bool:
    """Whether a person began it; an imported thread counts unless it is known to be otherwise."""
    if kind.startswith("subAgent") or kind == "internal" or thread_source in _NOT_BY_A_PERSON:
        return False
    return imported or kind in ROOT_SOURCES


def _sub_agent_kind(agent: object) -> str:
    match agent:
        case str():
            return _SUB_AGENTS.get(agent, "subAgentOther")
        case {"thread_spawn": _}:
            return "subAgentThreadSpawn"
        case _:
            return "subAgentOther"
