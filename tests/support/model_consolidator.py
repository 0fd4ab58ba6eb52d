"""A model that consolidates well: it reads what is new, then writes handbook and summary."""

import json
import re

from tests.support.consolidators import SUMMARY
from tests.support.responses_server import Call, Recorded, Reply, calls, says


def well(request: Recorded) -> Reply:
    """Read the inputs, then write a handbook that cites them, then the summary."""
    outputs = [one for one in request.body["input"] if one["type"] == "function_call_output"]
    if not outputs:
        return calls(Call(name="read", arguments={"path": "raw_memories.md"}))
    if len(outputs) == 1:
        raw = json.loads(outputs[0]["output"])["content"]
        threads = re.findall(r"^## Thread `(.+)`$", raw, re.M)
        recaps = re.findall(r"^rollout_summary_file: (.+)$", raw, re.M)
        cited = "\n".join(
            f"- rollout_summaries/{recap} (thread_id={thread})"
            for recap, thread in zip(recaps, threads, strict=True)
        )
        handbook = (
            "# Task Group: webshop\n\nscope: commits\napplies_to: cwd=/home/sam/webshop; "
            f"reuse_rule=here\n\n## Task 1: commits\n\n### rollout_summary_files\n\n{cited}\n\n"
            "### keywords\n\n- commits\n\n## User preferences\n\n- Small commits. [Task 1]\n"
        )
        return calls(
            Call(name="write", arguments={"path": "MEMORY.md", "content": handbook}),
            Call(name="write", arguments={"path": "memory_summary.md", "content": SUMMARY}),
        )
    return says("done")
