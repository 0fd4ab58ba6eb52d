-- name: put
-- Texts are replaced by those of the same or a newer state of the source only; usage and what the
-- last consolidation took stay.
insert into outputs (
    version, thread_id, source_updated_at_ms, raw_memory, rollout_summary, rollout_slug,
    generated_at_ms, usage_count, last_usage_ms, selected, selected_source_updated_at_ms
) values (
    :version, :thread_id, :source_updated_at_ms, :raw_memory, :rollout_summary, :rollout_slug,
    :generated_at_ms, :usage_count, :last_usage_ms, :selected, :selected_source_updated_at_ms
)
on conflict (version, thread_id) do update set
    source_updated_at_ms = excluded.source_updated_at_ms,
    raw_memory = excluded.raw_memory,
    rollout_summary = excluded.rollout_summary,
    rollout_slug = excluded.rollout_slug,
    generated_at_ms = excluded.generated_at_ms
where excluded.source_updated_at_ms >= outputs.source_updated_at_ms;

-- name: get
select * from outputs where version = :version and thread_id = :thread_id;

-- name: delete
delete from outputs where version = :version and thread_id = :thread_id;

-- name: select
-- The inputs of a consolidation, in one statement and so of one state. The ranked keys are found
-- first and without the texts; `cross join` keeps the order of the ranking's index, so that the
-- scan ends after as many rows as are wanted. Blank is what has nothing but white space.
with ranked as (
    select o.thread_id as id
    from outputs o cross join threads t
    where o.version = :version
        and t.thread_id = o.thread_id
        and t.memory_mode = 'enabled'
        and (
            trim(o.raw_memory, :blanks) <> '' or trim(o.rollout_summary, :blanks) <> ''
        )
        and (
            :cutoff_ms is null
            or coalesce(
                o.last_usage_ms, max(o.source_updated_at_ms, coalesce(t.imported_at_ms, 0))
            ) >= :cutoff_ms
        )
    order by
        o.usage_count desc,
        coalesce(o.last_usage_ms, o.source_updated_at_ms) desc,
        o.source_updated_at_ms desc,
        o.thread_id desc
    limit :limit
)
select o.*, t.*
from ranked
cross join outputs o on o.version = :version and o.thread_id = ranked.id
cross join threads t on t.thread_id = ranked.id
order by o.thread_id;

-- name: latest
select o.*, t.*
from outputs o cross join threads t
where o.version = :version
    and t.thread_id = o.thread_id
    and t.memory_mode = 'enabled'
    and (trim(o.raw_memory, :blanks) <> '' or trim(o.rollout_summary, :blanks) <> '')
order by o.source_updated_at_ms desc, o.thread_id desc
limit :limit;

-- name: unselect_all
update outputs set selected = 0, selected_source_updated_at_ms = null
where version = :version and selected = 1;

-- name: mark_selected
-- Only rows that still are what the consolidation saw.
update outputs set selected = 1, selected_source_updated_at_ms = source_updated_at_ms
where version = :version and selected = 0 and exists (
    select 1 from json_each(:selected) s
    where s.value ->> 0 = outputs.thread_id and s.value ->> 1 = outputs.source_updated_at_ms
);

-- name: count_usage
update outputs set usage_count = usage_count + 1, last_usage_ms = :now_ms
where version = :version and thread_id = :thread_id;

-- name: prune
-- The stalest first, a few at a time, and never what the last consolidation took.
delete from outputs
where version = :version and thread_id in (
    select o.thread_id
    from outputs o left join threads t on t.thread_id = o.thread_id
    where o.version = :version and o.selected = 0
        and coalesce(
            o.last_usage_ms, max(o.source_updated_at_ms, coalesce(t.imported_at_ms, 0))
        ) < :cutoff_ms
    order by
        coalesce(o.last_usage_ms, o.source_updated_at_ms), o.source_updated_at_ms, o.thread_id
    limit :limit
);

-- name: clear
delete from outputs where version = :version;

-- name: clear_progress
delete from consolidation_progress where version = :version;

-- name: max_consolidated
select threads_max from consolidation_progress where version = :version;

-- name: raise_consolidated
insert into consolidation_progress (version, threads_max) values (:version, :count)
on conflict (version) do update set threads_max = max(threads_max, excluded.threads_max);

-- name: counts
select count(*) as total, coalesce(sum(selected), 0) as selected
from outputs where version = :version;

-- name: has_selected
select 1 from outputs indexed by outputs_selected where version = :version and selected = 1 limit 1;

-- name: versions_of
select version, selected from outputs where thread_id = :thread_id order by version;

-- name: note_reset
insert into resets (version, at_ms) values (:version, :at_ms)
on conflict (version) do update set at_ms = max(at_ms, excluded.at_ms);

-- name: lift_reset
delete from resets where version = :version;

-- name: reset_at
select at_ms from resets where version = :version;
