-- name: threads
-- For every thread that could be learned from and is not up to date, the first reason that holds it
-- back, and when the first of each kind may go on. Thread and jobs are of one state.
with open_ones as (
    select
        t.thread_id, t.memory_mode, t.archived, t.updated_at_ms,
        j.status, j.retry_at_ms, j.attempts_left, j.lease_until_ms, j.reason,
        t.updated_at_ms > coalesce(j.watermark_ms, -1) as newer,
        exists (
            select 1 from resets r
            where r.version = :version and r.at_ms >= t.updated_at_ms
                and coalesce(t.imported_at_ms, 0) <= r.at_ms
        ) as forgotten
    from threads t
    left join jobs j on j.version = :version and j.kind = 'extraction' and j.key = t.thread_id
    where t.root = 1 and t.preview <> ''
        and coalesce(j.success_watermark_ms, -1) < t.updated_at_ms
        and not exists (
            select 1 from outputs o
            where o.version = :version and o.thread_id = t.thread_id
                and o.source_updated_at_ms >= t.updated_at_ms
        )
),
judged as (
    select
        case
            when memory_mode <> 'enabled' then memory_mode
            when
                status = 'running'
                and lease_until_ms between :now_ms + 1 and :now_ms + :lease_max_ms
                then 'running'
            when forgotten then 'reset'
            when status = 'failed' and attempts_left = 0 and not newer then 'exhausted'
            when
                status = 'failed' and not newer
                and retry_at_ms between :now_ms + 1 and :now_ms + :retry_max_ms
                then
                case when reason = 'budget' then 'budget' else 'backoff' end
            when status in ('pending', 'running') then 'ready'
            when
                status = 'failed' and attempts_left > 0
                and retry_at_ms not between :now_ms + 1 and :now_ms + :retry_max_ms
                then 'ready'
            when archived then 'archived'
            when updated_at_ms between :now_ms - :idle_ms + 1 and :now_ms + :idle_ms then 'not_idle'
            when updated_at_ms < :now_ms - :age_ms then 'too_old'
            else 'ready'
        end as why,
        retry_at_ms, lease_until_ms, updated_at_ms
    from open_ones
)
select
    why,
    count(*) as number,
    case why
        when 'running' then min(lease_until_ms)
        when 'budget' then min(retry_at_ms)
        when 'backoff' then min(retry_at_ms)
        when 'not_idle' then min(updated_at_ms) + :idle_ms
    end as until_ms
from judged
group by why
order by why;

-- name: consolidation
-- The one consolidation of a version; null times are those that do not hold it back.
select
    status, reason, lease_until_ms, finished_at_ms,
    case
        when retry_at_ms between :now_ms + 1 and :now_ms + :retry_max_ms then retry_at_ms
    end as retry_at_ms,
    case
        when cooldown_from_ms <= :now_ms and cooldown_from_ms + :cooldown_ms > :now_ms
        then cooldown_from_ms + :cooldown_ms
    end as cooldown_until_ms
from jobs where version = :version and kind = 'consolidation';

-- name: ends
-- How the extractions of a version ended, by the rows they left: one for each thread.
select
    case
        when status = 'done' and outcome = 'learned' then 'succeeded'
        when status = 'done' then 'empty'
        when status = 'failed' then 'failed'
        else 'open'
    end as ended,
    case when status = 'failed' then reason when outcome like 'empty:%' then substr(outcome, 7) end
        as reason,
    count(*) as number,
    sum(fence is not null) as claimed
from jobs where version = :version and kind = 'extraction'
group by 1, 2;

-- name: editions
select count(*) as number from editions where version = :version and state = 'published';

-- name: eligible
-- Outputs that a consolidation would take if it had room for all.
select count(*) as number
from outputs o join threads t on t.thread_id = o.thread_id
where o.version = :version and t.memory_mode = 'enabled'
    and (trim(o.raw_memory, :blanks) <> '' or trim(o.rollout_summary, :blanks) <> '')
    and coalesce(
        o.last_usage_ms, max(o.source_updated_at_ms, coalesce(t.imported_at_ms, 0))
    ) >= :cutoff_ms;
