-- name: mishap
select value from meta where key = 'mishap';

-- name: note_mishap
insert into meta (key, value) values ('mishap', :value)
on conflict (key) do update set value = excluded.value;

-- name: journal_sequence
select value from meta where key = 'journal_sequence';

-- name: note_sequence
insert into meta (key, value) values ('journal_sequence', :sequence)
on conflict (key) do update set value = excluded.value;

-- name: untold
-- Threads of which something stands in no transcript.
select thread_id, name, memory_mode, use_memories, imported_from, imported_digest, imported_at_ms
from threads
where name is not null or memory_mode <> 'enabled' or use_memories = 0
    or imported_digest is not null
order by thread_id;

-- name: raise_fence
-- Above every fence of the database that was lost: no old claim or copy fits a new one.
update meta set value = max(value, :fence) where key = 'fence';

-- name: known_threads
select thread_id, updated_at_ms from threads;
