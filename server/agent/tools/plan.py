"""The agent's plan: shown to clients while it works, kept by nobody."""

import json
from collections.abc import Mapping
from typing import Any

from server.agent.tools.stage import Stage, ToolCall, ToolResult

STEPS_MAX = 100
STEP_CHARACTERS_MAX = 2_000
_STATUS = {"pending": "pending", "in_progress": "inProgress", "completed": "completed"}


class UpdatePlan:
    """The tool `update_plan`."""

    name = "update_plan"
    is_parallel = False
    seconds_max = 10

    @property
    def definition(self) -> Mapping[str, Any]:
        """A function of a list of steps."""
        step = {
            "type": "object",
            "properties": {
                "step": {"type": "string"},
                "status": {"type": "string", "enum": list(_STATUS)},
            },
            "required": ["step", "status"],
            "additionalProperties": False,
        }
        return {
            "type": "function",
            "name": self.name,
            "description": "Shows the user the plan of the task. Give all steps each time, with "
            "their status; at most one step is in progress.",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {
                    "explanation": {"type": "string"},
                    "plan": {"type": "array", "items": step},
                },
                "required": ["plan"],
                "additionalProperties": False,
            },
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Tell the plan."""
        try:
            given = json.loads(call.text or "{}")
            steps = [_step(one) for one in given["plan"][:STEPS_MAX]]
        except (ValueError, KeyError, TypeError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        explanation = given.get("explanation")
        stage.planned(
            explanation[:STEP_CHARACTERS_MAX] if isinstance(explanation, str) else None, steps
        )
        return ToolResult(content="Plan updated")


def _step(one: Any) -> tuple[str, str]:
    status = _STATUS.get(one["status"])
    if status is None or not isinstance(one["step"], str):
        raise ValueError("each step has a text `step` and a `status` out of " + ", ".join(_STATUS))
    return one["step"][:STEP_CHARACTERS_MAX], status
