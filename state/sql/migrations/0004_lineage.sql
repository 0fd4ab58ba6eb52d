-- Where a thread comes from: which one spawned it, and whose file holds the beginning of its history.

alter table threads add column parent_thread_id text;
alter table threads add column history_base_id text;

create index threads_by_parent on threads (parent_thread_id) where parent_thread_id is not null;
create index threads_by_base on threads (history_base_id) where history_base_id is not null;

-- Files of threads that are on their way into the archive or out of it.
create table moves (
    thread_id text primary key,
    from_path text not null,
    to_path text not null,
    archived integer not null
) strict, without rowid;
