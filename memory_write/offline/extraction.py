"""The `ExtractionModel` port by rules: no network, no model, one reply for one session."""

import json

from memory_write.apart import apart
from memory_write.offline.heard import listen
from memory_write.offline.recap import raw_memory, rollout_summary, slug
from memory_write.offline.recaps import recap_history
from memory_write.ports import ExtractionReply, ExtractionRequest, ModelChoice
from memory_write.recipes import recipe_of
from state.rollouts.items import Transcript


class OfflineExtraction:
    """Extracts what the user typed as preference, correction, decision or procedure."""

    hears_whole = True

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """Rules have no context window."""
        return None

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """The reply for one thread, as the strict schema wants it."""
        text = await apart(
            _reply, request.version, request.transcript, request.cwd, request.git_branch
        )
        return ExtractionReply(text=text)


def _reply(version: str, transcript: Transcript, cwd: str, git_branch: str | None) -> str:
    heard = listen(transcript)
    recipe = recipe_of(version)
    if not heard.entries:
        return json.dumps(dict.fromkeys(recipe.reply_schema["properties"], ""))
    if recipe.has_raw_memory:
        reply = {
            "rollout_summary": rollout_summary(heard, cwd=cwd, git_branch=git_branch),
            "rollout_slug": slug(heard),
            "raw_memory": raw_memory(heard, cwd=cwd),
        }
    else:
        reply = {
            "rollout_summary": recap_history(heard, cwd=cwd, git_branch=git_branch),
            "rollout_slug": slug(heard),
        }
    return json.dumps(reply, ensure_ascii=False)
