"""The row of a thread as its rollout tells it, for an import and for a lost database.

Pure: the rollout was read before.
"""

from state.policy.preview import PRIVATE_PREVIEW
from state.policy.redaction import redact
from state.rollouts.items import SessionMeta
from state.rollouts.telling import Told, created_at_ms, wire_source
from state.stores.threads import ThreadRow


def row_as_told(
    meta: SessionMeta, told: Told, *, path: str, archived: bool, now_ms: int, name: str | None
) -> ThreadRow:
    """The row; `path` is that of the rollout, relative to the home."""
    made_ms = created_at_ms(meta) or told.updated_at_ms or now_ms
    git = meta.git
    private = meta.memory_use is False and told.memory_mode != "enabled"
    return ThreadRow(
        thread_id=meta.id,
        rollout_path=path,
        created_at_ms=made_ms,
        updated_at_ms=told.updated_at_ms or made_ms,
        cwd=meta.cwd,
        preview=PRIVATE_PREVIEW if private and told.preview else told.preview,
        name=None if private else name,
        source=wire_source(meta.source),
        thread_source=meta.thread_source,
        model_provider=meta.model_provider or "openai",
        model=told.model,
        cli_version=meta.cli_version,
        originator=meta.originator,
        history_mode=meta.history_mode,
        memory_mode=told.memory_mode,
        archived=archived,
        git_branch=redact(git.branch) if git and git.branch else None,
        git_sha=git.commit_hash if git else None,
        git_origin_url=redact(git.repository_url) if git and git.repository_url else None,
        forked_from_id=meta.forked_from_id,
        imported_from=None,
        imported_digest=None,
        imported_at_ms=None,
        use_memories=meta.memory_use is not False,
        parent_thread_id=meta.parent_thread_id,
        history_base_id=meta.history_base.thread_id if meta.history_base else None,
    )
