-- name: ask
-- A person wants this thread heard now: what was tried before starts anew. What runs goes on, and
-- what was heard up to this state of the thread stays as it is.
insert into jobs (version, kind, key, status, attempts_left)
select :version, 'extraction', :key, 'pending', :attempts_max
where not exists (
    select 1 from outputs
    where version = :version and thread_id = :key and source_updated_at_ms >= :watermark_ms
)
on conflict (version, kind, key) do update set
    status = 'pending',
    retry_at_ms = null,
    attempts_left = max(attempts_left, :attempts_max)
where status <> 'running' and coalesce(success_watermark_ms, -1) < :watermark_ms;

-- name: due
-- Threads whose extraction was asked for, given back, left by a dead owner, or may be tried again:
-- work once begun ends, however old its thread is by now. A reset takes the jobs along that were
-- there, so what stands here of an older thread a person asked for since. A time further ahead than
-- any delay is long was written by a clock that was wrong, here and below.
select t.* from jobs j indexed by jobs_open
join threads t on t.thread_id = j.key
where j.version = :version and j.kind = 'extraction' and j.status <> 'done'
    and (
        j.status = 'pending'
        or (
            j.status = 'failed' and j.attempts_left > 0
            and j.retry_at_ms not between :now_ms + 1 and :now_ms + :retry_max_ms
        )
        or (
            j.status = 'running'
            and j.lease_until_ms not between :now_ms + 1 and :now_ms + :lease_max_ms
        )
    )
    and t.memory_mode = 'enabled' and t.root = 1 and t.preview <> ''
    and t.thread_id not in (select value from json_each(:exclude))
order by coalesce(j.started_at_ms, 0), j.key
limit :limit;

-- name: consolidation_due
-- Whether something was handed on that no cooldown or delay holds back.
select 1 from jobs indexed by jobs_open
where version = :version and kind = 'consolidation' and status <> 'done'
    and (
        (
            status = 'pending'
            and (
                cooldown_from_ms is null
                or cooldown_from_ms > :now_ms
                or cooldown_from_ms + :cooldown_ms <= :now_ms
            )
        )
        or (
            status = 'failed'
            and retry_at_ms not between :now_ms + 1 and :now_ms + :retry_max_ms
        )
        or (
            status = 'running'
            and lease_until_ms not between :now_ms + 1 and :now_ms + :lease_max_ms
        )
    );

-- name: next_at
-- The next time at which there may be work that is not there now.
select min(at_ms) as at_ms from (
    select min(retry_at_ms) as at_ms from jobs indexed by jobs_open
    where version = :version and status = 'failed' and status <> 'done'
        and retry_at_ms between :now_ms + 1 and :now_ms + :retry_max_ms
        and (attempts_left > 0 or kind = 'consolidation')
    union all
    select min(updated_at_ms) + :idle_ms from threads
    where memory_mode = 'enabled' and archived = 0 and root = 1 and preview <> ''
        and updated_at_ms between :now_ms - :idle_ms + 1 and :now_ms + :idle_ms
    union all
    select cooldown_from_ms + :cooldown_ms from jobs
    where version = :version and kind = 'consolidation' and status = 'pending'
        and cooldown_from_ms <= :now_ms and cooldown_from_ms + :cooldown_ms > :now_ms
);
