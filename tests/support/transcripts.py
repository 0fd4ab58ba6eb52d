"""Small transcripts for tests of learning, written as `user: …` and `assistant: …` pairs."""

from memory_write.ports import ExtractionRequest, ModelChoice
from state.ids import ThreadId
from state.rollouts.items import Transcript, TranscriptItem, TranscriptKind

THREAD = ThreadId("01a228dc-d6af-71b0-a8b0-f85aecaab7c7")
CWD = "/home/user/proj_a"


def transcript(
    *said: tuple[TranscriptKind, str], cwd: str = CWD, thread_id: ThreadId = THREAD
) -> Transcript:
    """A transcript of these items in order."""
    items = tuple(
        TranscriptItem(kind=kind, text=text, line=line, raw={})
        for line, (kind, text) in enumerate(said, 1)
    )
    return Transcript(thread_id=thread_id, cwd=cwd, git_branch=None, items=items)


def typed(*texts: str, cwd: str = CWD, thread_id: ThreadId = THREAD) -> Transcript:
    """What a user typed, each answered by `ok`."""
    said: list[tuple[TranscriptKind, str]] = []
    for text in texts:
        said += [("user", text), ("assistant", "ok")]
    return transcript(*said, cwd=cwd, thread_id=thread_id)


def extraction_request(heard: Transcript) -> ExtractionRequest:
    """A request of phase 1 for this transcript."""
    return ExtractionRequest(
        version="v1",
        thread_id=heard.thread_id,
        cwd=heard.cwd,
        git_branch=heard.git_branch,
        rollout_path="sessions/rollout.jsonl",
        transcript=heard,
        instructions="",
        input_text="",
        output_schema={},
        model=ModelChoice(),
    )
