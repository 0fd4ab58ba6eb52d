"""What version 2 shows a model of a session, from rollout to messages, and what it keeps of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_write.limits import MemorySettings
from memory_write.phase1.run import Phase1
from memory_write.ports import ExtractionRequest
from state.recovery import State
from tests.support.clock import ManualClock
from tests.support.learning import (
    Announced,
    OpenQuota,
    ScriptedExtraction,
    ScriptedModels,
    opened,
    put_thread,
)
from tests.support.rollout_files import Line, item, message, session_meta, write_rollout

SETTINGS = MemorySettings(version="v2")
MAIL = "Message Type: report\nTask name: audit\nSender: worker-2\nPayload:\nWORKER-FOUND-IT"
NOISE = "TOOL-NOISE " * 3_000
CONTEXT = "SURROUNDINGS " * 400
SECRET = "password = hunter2hunter2"


def answered(call_id: str, text: str) -> str:
    """A person's answer to a question of the agent."""
    return json.dumps({"answers": {call_id: {"answers": [text]}}})


def asked(call_id: str, question: str, **more: str) -> Line:
    """A question of the agent, in its own namespace or another's."""
    return item(
        "function_call", name="request_user_input", call_id=call_id, arguments=question, **more
    )


def output(call_id: str, text: str) -> Line:
    """What came back."""
    return item("function_call_output", call_id=call_id, output=text)


def session(thread_id: str) -> list[Line]:
    """Words of a person among everything else that a session holds."""
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9_000}
    sound = {"type": "input_audio", "audio": "B" * 9_000}
    seen = message("user", "Look at this picture, HUMAN-ONE")
    seen["payload"]["content"] += [picture, sound]
    return [
        session_meta(thread_id),
        message("developer", "DEVELOPER-RULES"),
        message("user", f"<environment_context>{CONTEXT}</environment_context>"),
        seen,
        message("assistant", "Let me look.", phase="commentary"),
        asked("plain", "QUESTION-ONE"),
        output("plain", answered("plain", "HUMAN-TWO")),
        asked("own", "QUESTION-TWO", namespace="functions"),
        output("own", answered("own", "HUMAN-THREE")),
        asked("foreign", "QUESTION-THREE", namespace="elsewhere"),
        output("foreign", answered("foreign", "FOREIGN-ANSWER " * 400)),
        item("function_call", name="shell", call_id="noise", arguments="{}"),
        output("noise", NOISE),
        message("user", MAIL),
        message("assistant", "FINAL-ONE", phase="final_answer"),
        message("user", f"HUMAN-FOUR, my {SECRET}"),
        message("assistant", "FINAL-TWO", phase="final_answer"),
    ]


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A home with that session."""
    async with opened(tmp_path / "home", ManualClock()) as opened_state:
        thread_id = await put_thread(opened_state, "x", name="session")
        folder = opened_state.home.root / "sessions/2026/01/01"
        write_rollout(folder, *session(thread_id), name="rollout-session.jsonl")
        yield opened_state


async def heard(state: State, *, window: int) -> ExtractionRequest:
    """The one request to a model with this window."""

    async def reply(request: ExtractionRequest) -> str:
        recap = f"# A session\n{SECRET}\n" + "ö" * 6_000
        return json.dumps({"rollout_summary": recap, "rollout_slug": "s"})

    model = ScriptedExtraction(reply, window=window)
    phase1 = Phase1(state, ScriptedModels(model), OpenQuota(), Announced(), SETTINGS)
    await phase1.run_pass(current_thread=None, busy=frozenset(), everything=True)
    [request] = model.requests
    return request


@pytest.mark.requirement("MW-8.2-v2-evidence")
async def test_with_room_everything_is_shown_in_order_and_light(state: State) -> None:
    """Images and sounds as marks, a person's answers as their word, nothing of a developer."""
    text = (await heard(state, window=100_000)).input_text
    shown = (
        "HUMAN-ONE", "[image omitted]", "QUESTION-ONE", "HUMAN-TWO", "HUMAN-THREE",
        "FOREIGN-ANSWER", "WORKER-FOUND-IT", "FINAL-ONE", "HUMAN-FOUR", "FINAL-TWO",
    )  # fmt: skip
    places = [text.index(word) for word in shown]
    assert places == sorted(places)
    assert "[audio omitted]" in text and "AAAA" not in text and "BBBB" not in text
    assert "DEVELOPER-RULES" not in text and "hunter2" not in text
    assert "git branch, as a hint: main" in text
    assert text.count("Human reply: ") == 2
    assert "[other agent]" in text


@pytest.mark.requirement("MW-8.2-v2-evidence")
async def test_under_pressure_what_people_said_stays_and_noise_goes(state: State) -> None:
    """Each message is short enough, and joined they are the prompt."""
    request = await heard(state, window=720)
    text = request.input_text
    for word in ("HUMAN-ONE", "HUMAN-TWO", "HUMAN-THREE", "HUMAN-FOUR", "FINAL-ONE", "FINAL-TWO"):
        assert word in text, word
    assert "WORKER-FOUND-IT" in text
    assert "TOOL-NOISE" not in text and "FOREIGN-ANSWER" not in text
    assert "SURROUNDINGS" not in text
    assert "[... response items omitted ...]" in text
    assert "".join(request.messages) == text
    assert all(len(one.encode()) < 9_000 for one in request.messages)


@pytest.mark.requirement("MW-8.2-v2-evidence")
async def test_the_recap_is_redacted_before_it_is_cut(state: State) -> None:
    """Below 10,000 bytes, its marker inside."""
    await heard(state, window=100_000)
    async with state.database.reading() as read:
        [row] = await state.outputs.latest(read, version="v2", outputs_max=5)
    recap = row.output.rollout_summary
    assert "hunter2" not in recap and "chars truncated…" in recap
    assert len(recap.encode()) < 10_000
    assert row.output.raw_memory == ""
