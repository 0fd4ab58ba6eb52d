-- name: open_intent
insert into editions (version, fence, state, commit_id, staged, inputs, made_at_ms)
values (:version, :fence, 'open', :commit_id, :staged, :inputs, :made_at_ms)
returning edition_id;

-- name: open_ones
select * from editions where state = 'open' order by edition_id;

-- name: decide
-- An intent is decided once.
update editions set state = :state, decided_at_ms = :decided_at_ms
where edition_id = :edition_id and state = 'open';

-- name: latest
select * from editions where version = :version and state = 'published'
order by edition_id desc limit 1;

-- name: get
select * from editions where edition_id = :edition_id;

-- name: withdrawn
-- Of these threads, those that may not stand in memory any more: deleted, polluted or disabled.
select s.value as thread_id from json_each(:thread_ids) s
where not exists (
    select 1 from threads t
    join outputs o on o.thread_id = t.thread_id and o.version = :version
    where t.thread_id = s.value and t.memory_mode = 'enabled'
)
order by s.value;

-- name: removed
-- Every thread that ever left the memory of a version, the latest first.
select r.value as thread_id, max(e.edition_id) as edition_id
from editions e, json_each(e.inputs, '$.removed') r
where e.version = :version and e.state = 'published'
group by r.value
order by edition_id desc
limit :limit;

-- name: withheld
-- What was taken from threads that are polluted or disabled now.
select o.thread_id, o.raw_memory, o.rollout_summary
from outputs o join threads t on t.thread_id = o.thread_id
where o.version = :version and t.memory_mode <> 'enabled'
order by o.generated_at_ms desc
limit :limit;
