-- name: put
-- The whole row, new or replaced.
insert into threads (
    thread_id, rollout_path, created_at_ms, updated_at_ms, cwd, preview, name, source, source_kind,
    root, thread_source, model_provider, model, cli_version, originator, history_mode, memory_mode,
    archived, git_branch, git_sha, git_origin_url, forked_from_id, imported_from, imported_digest,
    imported_at_ms, use_memories, parent_thread_id, history_base_id, searchable
) values (
    :thread_id, :rollout_path, :created_at_ms, :updated_at_ms, :cwd, :preview, :name, :source,
    :source_kind, :root, :thread_source, :model_provider, :model, :cli_version, :originator,
    :history_mode, :memory_mode, :archived, :git_branch, :git_sha, :git_origin_url,
    :forked_from_id, :imported_from, :imported_digest, :imported_at_ms, :use_memories,
    :parent_thread_id, :history_base_id, :searchable
)
on conflict (thread_id) do update set
    rollout_path = excluded.rollout_path,
    created_at_ms = excluded.created_at_ms,
    updated_at_ms = excluded.updated_at_ms,
    cwd = excluded.cwd,
    preview = excluded.preview,
    name = excluded.name,
    source = excluded.source,
    source_kind = excluded.source_kind,
    root = excluded.root,
    thread_source = excluded.thread_source,
    model_provider = excluded.model_provider,
    model = excluded.model,
    cli_version = excluded.cli_version,
    originator = excluded.originator,
    history_mode = excluded.history_mode,
    memory_mode = excluded.memory_mode,
    archived = excluded.archived,
    git_branch = excluded.git_branch,
    git_sha = excluded.git_sha,
    git_origin_url = excluded.git_origin_url,
    forked_from_id = excluded.forked_from_id,
    imported_from = excluded.imported_from,
    imported_digest = excluded.imported_digest,
    imported_at_ms = excluded.imported_at_ms,
    use_memories = excluded.use_memories,
    parent_thread_id = excluded.parent_thread_id,
    history_base_id = excluded.history_base_id,
    searchable = excluded.searchable;

-- name: get
select * from threads where thread_id = :thread_id;

-- name: page
-- One page of a list. The keyset makes an index do the work, so that a page costs the same wherever
-- it stands; filters that are null let everything pass. The words after a dollar sign are chosen by
-- the store from a fixed table: column and direction of the order, and whether one cwd is asked for.
select * from threads
where preview <> '' and archived = :archived $and_cwd
    and ($column, thread_id) $beyond (:at_ms, :id)
    and (:kinds is null or source_kind in (select value from json_each(:kinds)))
    and (:root is null or root = :root)
    and (:providers is null or model_provider in (select value from json_each(:providers)))
    and (:within is null or thread_id in (select value from json_each(:within)))
    and (:without is null or thread_id not in (select value from json_each(:without)))
    and (:term is null or instr(searchable, :term) > 0)
order by $column $direction, thread_id $direction
limit :limit;

-- name: set_name
update threads set name = :name, searchable = :searchable where thread_id = :thread_id;

-- name: set_memory_mode
update threads set memory_mode = :mode where thread_id = :thread_id;

-- name: set_use_memories
update threads set use_memories = :use where thread_id = :thread_id;

-- name: set_archived
update threads set archived = :archived, rollout_path = :rollout_path
where thread_id = :thread_id;

-- name: touch
-- A thread only grows newer, also under a clock that was set back: else what is said from then on
-- would count as heard. A preview or model that is not given stays.
update threads set
    updated_at_ms = max(updated_at_ms + (updated_at_ms > :updated_at_ms), :updated_at_ms),
    model = coalesce(:model, model),
    preview = coalesce(:preview, preview),
    searchable = coalesce(:searchable, searchable)
where thread_id = :thread_id;

-- name: delete
delete from threads where thread_id = :thread_id;

-- name: import_mark
select imported_from, imported_digest, imported_at_ms, updated_at_ms from threads
where thread_id = :thread_id and imported_digest is not null;

-- name: still_to_hear
-- A condition on a thread `t` for the statements below. With a version it leaves out what is extracted
-- up to the last change, and what did not go on since memory was reset.
and not exists (
    select 1 from resets r
    where r.version = :version and r.at_ms >= t.updated_at_ms
        and coalesce(t.imported_at_ms, 0) <= r.at_ms
)
and (
    :version is null
    or not (
        exists (
            select 1 from outputs o
            where o.version = :version and o.thread_id = t.thread_id
                and o.source_updated_at_ms >= t.updated_at_ms
        )
        or exists (
            select 1 from jobs j
            where j.version = :version and j.kind = 'extraction' and j.key = t.thread_id
                and j.success_watermark_ms >= t.updated_at_ms
        )
    )
)

-- name: idle_candidates
-- Threads whose last change lies inside the window, the newest first; also those whose last change
-- was told by a clock that was far ahead, which would rest only when it is so late. What is extracted
-- up to that change is left out when a version is given, so that it takes no place in the scan; so
-- is what did not go on since memory was reset.
select t.* from threads t indexed by threads_to_learn
where t.memory_mode = 'enabled' and t.archived = 0 and t.root = 1 and t.preview <> ''
    and t.updated_at_ms >= :from_ms
    and (t.updated_at_ms <= :until_ms or t.updated_at_ms > :ahead_ms)
    and t.thread_id not in (select value from json_each(:exclude))
    $still_to_hear
order by t.updated_at_ms desc, t.thread_id
limit :limit;

-- name: all_enabled
-- Every thread that a person's order may learn from, archived ones too, the newest first. What is
-- already extracted up to its last change, or not gone on since memory was reset, is left out when a
-- version is given.
select t.* from threads t
where t.memory_mode = 'enabled' and t.root = 1 and t.preview <> ''
    $still_to_hear
order by t.updated_at_ms desc, t.thread_id
limit :limit;

-- name: counts
select
    count(*) as total,
    coalesce(sum(memory_mode = 'enabled'), 0) as enabled,
    coalesce(sum(memory_mode = 'disabled'), 0) as disabled,
    coalesce(sum(memory_mode = 'polluted'), 0) as polluted,
    coalesce(sum(archived), 0) as archived,
    coalesce(sum(imported_at_ms is not null), 0) as imported
from threads;
