"""What the consolidation agent is told: the diff file and the task of this run; pure text.

Invariant: the diff file is bounded, and its fence is always closed whatever the memory text holds.
"""

import re
from collections.abc import Sequence

from memory_write.phase2.verify import Finding
from memory_write.recipes import V1, Recipe, fill, template
from state.workspace.diff import WorkspaceDiff
from state.workspace.layout import DIFF_FILE, EXTENSIONS
from state.workspace.snapshot import Snapshot

STATUS_LINES_MAX = 2_000
_FENCES = re.compile(r"`{3,}")


def render_diff_file(diff: WorkspaceDiff, *, bytes_max: int) -> str:
    """The text of the diff file."""
    lines = [
        "# Memory Workspace Diff",
        "",
        "Written by memoryd before this run. Read it first; it is not part of memory.",
        "",
        "## Status",
    ]
    lines.extend(f"- {one.kind} {one.path}" for one in diff.changes[:STATUS_LINES_MAX])
    more = len(diff.changes) - STATUS_LINES_MAX
    if more > 0:
        lines.append(f"- and {more} more")
    if not diff.changes:
        lines.append("- none")
        return "\n".join(lines) + "\n"
    longest = max((len(run) for run in _FENCES.findall(diff.text)), default=2)
    fence = "`" * (longest + 1)
    text = diff.text if diff.text.endswith("\n") or not diff.text else f"{diff.text}\n"
    cut = f"[workspace diff truncated at {bytes_max} bytes]\n" if diff.truncated else ""
    return "\n".join([*lines, "", "## Diff", "", f"{fence}diff"]) + f"\n{text}{cut}{fence}\n"


def instructions(recipe: Recipe = V1) -> str:
    """The standing rules of the agent."""
    return template(recipe.consolidation_instructions)


def task(offered: Snapshot, unsound: Sequence[Finding], recipe: Recipe = V1) -> str:
    """What this run is about."""
    has_extensions = any(path.startswith(f"{EXTENSIONS}/") for path in offered.files)
    mode = "INIT" if unsound else "INCREMENTAL"
    return fill(
        template(recipe.consolidation_task),
        {
            "mode": mode,
            "diff_file": DIFF_FILE,
            "unsound": _listed(unsound) or "- none",
            "extensions": template(recipe.consolidation_extensions) if has_extensions else "",
        },
    )


def repair(findings: Sequence[Finding], recipe: Recipe = V1) -> str:
    """What must still be put right before the result can be published."""
    return fill(template(recipe.consolidation_repair), {"findings": _listed(findings)})


def _listed(findings: Sequence[Finding]) -> str:
    return "\n".join(f"- {finding}" for finding in findings)
