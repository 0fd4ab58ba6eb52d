-- name: release_dead
-- Jobs that run for another owner run for nobody: there is one owner a home, and it is us. An owner
-- that stops gives its jobs back, so one that is found running may have killed its process. After
-- several deaths an extraction is given up, and the one consolidation waits longer.
update jobs set
    status = case when deaths + 1 >= :deaths_max then 'failed' else 'pending' end,
    attempts_left = case
        when kind = 'extraction' and deaths + 1 >= :deaths_max then 0 else attempts_left
    end,
    retry_at_ms = case
        when kind = 'consolidation' and deaths + 1 >= :deaths_max then :retry_at_ms
        else retry_at_ms
    end,
    reason = case when deaths + 1 >= :deaths_max then 'process_died' else reason end,
    finished_at_ms = case when deaths + 1 >= :deaths_max then :now_ms else finished_at_ms end,
    deaths = deaths + 1,
    lease_until_ms = null,
    worker = null
where status = 'running' and worker is not :owner;

-- name: look
-- All that a claim decides by, in one row; the job's own columns are null when there is no job. A
-- lease that ends further ahead than any is long was written by a clock that was wrong.
select
    j.status, j.lease_until_ms, j.retry_at_ms, j.attempts_left, j.watermark_ms,
    j.success_watermark_ms, j.cooldown_from_ms, j.deaths,
    (
        select source_updated_at_ms from outputs
        where version = :version and thread_id = :key and :kind = 'extraction'
    ) as output_ms,
    (
        select count(*) from jobs
        where version = :version and kind = :kind and status = 'running'
            and lease_until_ms between :now_ms + 1 and :now_ms + :lease_max_ms and key <> :key
    ) as others_running,
    (
        select count(*) from jobs
        where version = :version and kind = :kind and status = 'running' and deaths > 0
            and lease_until_ms between :now_ms + 1 and :now_ms + :lease_max_ms and key <> :key
    ) as suspects_running
from (select 1) left join jobs j on j.version = :version and j.kind = :kind and j.key = :key;

-- name: next_fence
update meta set value = value + 1 where key = 'fence' returning value;

-- name: take
insert into jobs (
    version, kind, key, status, worker, fence, started_at_ms, lease_until_ms, attempts_left,
    watermark_ms
) values (
    :version, :kind, :key, 'running', :worker, :fence, :now_ms, :lease_until_ms, :attempts_left,
    :watermark_ms
)
on conflict (version, kind, key) do update set
    status = 'running',
    worker = excluded.worker,
    fence = excluded.fence,
    started_at_ms = excluded.started_at_ms,
    finished_at_ms = null,
    lease_until_ms = excluded.lease_until_ms,
    retry_at_ms = null,
    reason = null,
    attempts_left = excluded.attempts_left,
    -- What changed since is another work than the one that a process died over.
    deaths = case
        when excluded.watermark_ms > coalesce(watermark_ms, -1) then 0 else deaths
    end,
    watermark_ms = excluded.watermark_ms;

-- name: holds
select 1 from jobs
where version = :version and kind = :kind and key = :key
    and status = 'running' and fence = :fence;

-- name: heartbeat
update jobs set lease_until_ms = :lease_until_ms
where version = :version and kind = :kind and key = :key
    and status = 'running' and fence = :fence;

-- name: succeed
-- What was handed on to a consolidation while it ran is not done with it: the job waits again, and
-- without a cooldown where that was urgent.
update jobs set
    status = case
        when kind = 'consolidation' and coalesce(watermark_ms, 0) > :claimed_ms then 'pending'
        else 'done'
    end,
    finished_at_ms = :now_ms,
    lease_until_ms = null,
    retry_at_ms = null,
    reason = null,
    outcome = :outcome,
    deaths = 0,
    success_watermark_ms = max(coalesce(success_watermark_ms, 0), :watermark_ms),
    cooldown_from_ms = case
        when retry_at_ms = 0 then null
        when :starts_cooldown then :now_ms
        else cooldown_from_ms
    end
where version = :version and kind = :kind and key = :key
    and status = 'running' and fence = :fence;

-- name: fail
update jobs set
    status = 'failed',
    finished_at_ms = :now_ms,
    lease_until_ms = null,
    retry_at_ms = case when retry_at_ms = 0 then :now_ms else :retry_at_ms end,
    attempts_left = max(attempts_left - :uses, 0),
    reason = :reason,
    outcome = null,
    -- The process outlived it, whatever came of it.
    deaths = 0,
    cooldown_from_ms = null
where version = :version and kind = :kind and key = :key
    and status = 'running' and fence = :fence;

-- name: enqueue
-- A running job goes on; the watermark only grows. What is urgent (a deletion, a correction, a
-- note) lifts the rest after a success; while a job runs a time of retry of 0 says that it came.
insert into jobs (
    version, kind, key, status, attempts_left, watermark_ms, success_watermark_ms
) values (:version, :kind, :key, 'pending', :attempts_max, :watermark_ms, 0)
on conflict (version, kind, key) do update set
    status = case when status = 'running' then status else 'pending' end,
    retry_at_ms = case
        when status <> 'running' then null
        when :urgent then 0
        else retry_at_ms
    end,
    attempts_left = max(attempts_left, :attempts_max),
    watermark_ms = max(coalesce(watermark_ms, 0) + 1, :watermark_ms),
    cooldown_from_ms = case when :urgent then null else cooldown_from_ms end;

-- name: lift_cooldown
update jobs set cooldown_from_ms = null where version = :version and kind = 'consolidation';

-- name: counts
-- What failed, or waits, of a thread that is not learned from any more counts as nothing.
select
    coalesce(sum(j.status = 'pending'), 0) as pending,
    coalesce(sum(j.status = 'running'), 0) as running,
    coalesce(sum(j.status = 'done'), 0) as done,
    coalesce(sum(j.status = 'failed' and not (j.kind = 'extraction' and j.attempts_left = 0)), 0)
        as failed,
    coalesce(sum(j.status = 'failed' and j.kind = 'extraction' and j.attempts_left = 0), 0)
        as exhausted
from jobs j left join threads t on j.kind = 'extraction' and t.thread_id = j.key
where j.version = :version and (:kind is null or j.kind = :kind)
    and (j.status in ('running', 'done') or coalesce(t.memory_mode, 'enabled') = 'enabled');

-- name: list
select * from jobs
where version = :version
order by coalesce(finished_at_ms, started_at_ms, 0) desc, key desc
limit :limit;

-- name: get
select * from jobs where version = :version and kind = :kind and key = :key;

-- name: prune
-- Extractions whose thread is gone, and those that ended so long ago that nobody asks any more.
delete from jobs
where (version, kind, key) in (
    select j.version, j.kind, j.key
    from jobs j left join threads t on t.thread_id = j.key
    where j.version = :version and j.kind = 'extraction' and j.status in ('done', 'failed')
        and (
            t.thread_id is null
            or (j.finished_at_ms < :before_ms and t.updated_at_ms < :before_ms)
        )
    order by coalesce(j.finished_at_ms, j.started_at_ms, 0)
    limit :limit
);

-- name: rules
select value from meta where key = 'extraction_rules_' || :version;

-- name: note_rules
insert into meta (key, value) values ('extraction_rules_' || :version, :rules)
on conflict (key) do update set value = excluded.value;

-- name: reopen
-- Given up under other rules: worth the full number of tries under these.
update jobs set attempts_left = :attempts_max, retry_at_ms = null
where version = :version and kind = 'extraction' and status = 'failed'
    and (reason = 'too_long' or attempts_left = 0);

-- name: delete_for_thread
delete from jobs where kind = 'extraction' and key = :key;

-- name: clear
delete from jobs where version = :version;
