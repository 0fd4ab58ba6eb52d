-- name: put_source
-- The first source counts: it is the one that barred the thread.
insert into outside_sources (thread_id, kind, name, at_ms)
values (:thread_id, :kind, :name, :at_ms)
on conflict (thread_id) do nothing;

-- name: source
select kind, name, at_ms from outside_sources where thread_id = :thread_id;

-- name: sources
select thread_id, kind, name, at_ms from outside_sources order by thread_id;

-- name: drop_source
delete from outside_sources where thread_id = :thread_id;
