"""The agent asks the user a few questions and waits for the answers."""

import json
from collections.abc import Mapping
from typing import Any

from server.agent.tools.stage import Stage, ToolCall, ToolResult, UserQuestion

QUESTIONS_MAX = 3
OPTIONS_MAX = 10
CHARACTERS_MAX = 4_000


class RequestUserInput:
    """The tool `request_user_input`."""

    name = "request_user_input"
    is_parallel = False
    seconds_max = None

    @property
    def definition(self) -> Mapping[str, Any]:
        """A function of one to three questions with choices."""
        text = {"type": "string"}
        option = {
            "type": "object",
            "properties": {"label": text, "description": text},
            "required": ["label", "description"],
            "additionalProperties": False,
        }
        question = {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Names the answer, in snake_case."},
                "header": {"type": "string", "description": "At most 12 characters."},
                "question": {"type": "string", "description": "One sentence."},
                "options": {
                    "type": "array",
                    "description": "Two or three choices that exclude each other, the recommended "
                    "one first; the client adds a free answer by itself.",
                    "items": option,
                },
            },
            "required": ["id", "header", "question", "options"],
            "additionalProperties": False,
        }
        return {
            "type": "function",
            "name": self.name,
            "description": "Asks the user one to three short questions and waits for the answers. "
            "Use it only where the work cannot go on without them.",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {"questions": {"type": "array", "items": question}},
                "required": ["questions"],
                "additionalProperties": False,
            },
        }

    async def run(self, call: ToolCall, stage: Stage) -> ToolResult:
        """Ask, and give the answers as JSON."""
        try:
            questions = [_question(one) for one in json.loads(call.text or "{}")["questions"]]
        except (ValueError, KeyError, TypeError) as error:
            return ToolResult(content=f"failed to parse function arguments: {error}")
        if not 0 < len(questions) <= QUESTIONS_MAX:
            return ToolResult(content=f"ask between 1 and {QUESTIONS_MAX} questions at once")
        answers = await stage.ask_user(questions)
        if answers.failed is not None:
            return ToolResult(
                content=f"the user gave no answer ({answers.failed}); go on with your best "
                "judgement and say what you assumed"
            )
        told = {key: {"answers": list(value)} for key, value in answers.answers.items()}
        return ToolResult(content=json.dumps({"answers": told}, ensure_ascii=False))


def _question(one: Any) -> UserQuestion:
    texts = [one["id"], one["header"], one["question"]]
    options = [(each["label"], each["description"]) for each in one.get("options") or ()]
    if not all(isinstance(text, str) for text in (*texts, *(t for pair in options for t in pair))):
        raise ValueError("id, header, question and options are texts")
    return UserQuestion(
        question_id=texts[0][:CHARACTERS_MAX],
        header=texts[1][:CHARACTERS_MAX],
        question=texts[2][:CHARACTERS_MAX],
        options=tuple(options[:OPTIONS_MAX]),
    )
