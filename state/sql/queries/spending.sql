-- name: add
insert into spending (
    day, kind, job_key, version, model, input_tokens, cached_tokens, output_tokens, trigger, at_ms
) values (
    :day, :kind, :job_key, :version, :model, :input_tokens, :cached_tokens, :output_tokens,
    :trigger, :at_ms
);

-- name: total
select coalesce(sum(input_tokens + output_tokens), 0) as tokens
from spending where day = :day and kind = :kind;

-- name: rows
select * from spending where day = :day order by spending_id;

-- name: prune
delete from spending where day < :before_day;
