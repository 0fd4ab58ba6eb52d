"""The `ExtractionModel` port by rules: no network, no model, one reply for one session."""

import asyncio
import json

from memory_write.offline.heard import listen
from memory_write.offline.recap import raw_memory, rollout_summary, slug
from memory_write.ports import ExtractionReply, ExtractionRequest, ModelChoice

NOTHING = json.dumps({"rollout_summary": "", "rollout_slug": "", "raw_memory": ""})


class OfflineExtraction:
    """Extracts what the user typed as preference, correction, decision or procedure."""

    async def window_tokens(self, model: ModelChoice) -> int | None:
        """Rules have no context window."""
        return None

    async def extract(self, request: ExtractionRequest) -> ExtractionReply:
        """The reply for one thread, as the strict schema wants it."""
        return ExtractionReply(text=await asyncio.to_thread(_reply, request))


def _reply(request: ExtractionRequest) -> str:
    heard = listen(request.transcript)
    if not heard.entries:
        return NOTHING
    return json.dumps(
        {
            "rollout_summary": rollout_summary(
                heard, cwd=request.cwd, git_branch=request.git_branch
            ),
            "rollout_slug": slug(heard),
            "raw_memory": raw_memory(heard, cwd=request.cwd),
        },
        ensure_ascii=False,
    )
