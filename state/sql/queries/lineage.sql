-- name: bases
-- The threads whose files hold the beginning of this one's history, the nearest first.
with recursive chain (thread_id, rollout_path, base_id, depth) as (
    select thread_id, rollout_path, history_base_id, 0 from threads where thread_id = :thread_id
    union all
    select t.thread_id, t.rollout_path, t.history_base_id, c.depth + 1
    from chain c join threads t on t.thread_id = c.base_id
    where c.depth < :depth_max
)
select thread_id, rollout_path from chain where depth > 0 order by depth;

-- name: forks_on
-- The threads whose history begins in this one's file.
select * from threads where history_base_id = :thread_id order by thread_id;

-- name: set_base
update threads set history_base_id = :base_id where thread_id = :thread_id;

-- name: descendants
-- Every thread that this one spawned, and those they spawned.
with recursive spawned (thread_id) as (
    select thread_id from threads where parent_thread_id = :thread_id
    union
    select t.thread_id from spawned s join threads t on t.parent_thread_id = s.thread_id
    limit :limit
)
select t.* from threads t join spawned s on s.thread_id = t.thread_id
where t.thread_id <> :thread_id
order by t.thread_id;

-- name: begin_move
insert into moves (thread_id, from_path, to_path, archived)
values (:thread_id, :from_path, :to_path, :archived)
on conflict (thread_id) do update set
    from_path = excluded.from_path, to_path = excluded.to_path, archived = excluded.archived;

-- name: end_move
delete from moves where thread_id = :thread_id;

-- name: moves
select * from moves order by thread_id;
