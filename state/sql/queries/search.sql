-- name: made_by
select value from meta where key = 'search_made_by';

-- name: set_made_by
insert into meta (key, value) values ('search_made_by', :made_by)
on conflict (key) do update set value = excluded.value;

-- name: is_littered
select value from meta where key = 'search_littered';

-- name: set_littered
insert into meta (key, value) values ('search_littered', :littered)
on conflict (key) do update set value = excluded.value;

-- name: files
select file_id, path, stamp, digest, units, words from search_files where version = :version;

-- name: file
select file_id, first_unit, units from search_files where version = :version and path = :path;

-- name: any_unit
select stems from search_units order by unit_id desc limit 1;

-- name: last_unit
select max(unit_id) as unit_id from search_units where unit_id between :first and :last;

-- name: open_file
insert into search_files (version, path, stamp, digest, first_unit, units, words)
values (:version, :path, '', x'', :first_unit, 0, 0)
returning file_id;

-- name: close_file
update search_files
set stamp = :stamp, digest = :digest, first_unit = :first_unit, units = :units, words = :words
where file_id = :file_id;

-- name: restamp_file
update search_files set stamp = :stamp where file_id = :file_id;

-- name: unsettle_file
update search_files set stamp = '' where file_id = :file_id;

-- name: drop_file
delete from search_files where file_id = :file_id;

-- name: some_of_file
select unit_id, stems from search_units where file_id = :file_id order by unit_id limit :most;

-- name: drop_stems
insert into search_stems (search_stems, rowid, stems) values ('delete', :unit_id, :stems);

-- name: drop_unit
delete from search_units where unit_id = :unit_id;

-- name: add_unit
insert into search_units (
    unit_id, file_id, begin_byte, end_byte, first_line, last_line, mark, headings, at_ms,
    thread_ids, cwd, length, stems
)
values (
    :unit_id, :file_id, :begin_byte, :end_byte, :first_line, :last_line, :mark, :headings, :at_ms,
    :thread_ids, :cwd, :length, :packed
);

-- name: add_stems
insert into search_stems (rowid, stems) values (:unit_id, :stems);

-- name: merge
-- Work through so many pages of what was deleted; a negative number begins anew.
insert into search_stems (search_stems, rank) values ('merge', :pages);

-- name: changes
select total_changes() as changes;

-- name: clear_stems
insert into search_stems (search_stems) values ('delete-all');

-- name: drop_stems_table
drop table if exists search_stems;

-- name: drop_vocabulary_table
drop table if exists search_vocabulary;

-- name: make_stems_table
create virtual table search_stems using fts5 (
    stems, content = '', detail = 'full', tokenize = 'ascii'
);

-- name: make_vocabulary_table
create virtual table search_vocabulary using fts5vocab (search_stems, row);

-- name: clear_units
delete from search_units;

-- name: clear_files
delete from search_files;

-- name: frequencies
-- In how many units each of these stems stands, over all versions.
select v.term, v.doc from json_each(:stems) s
cross join search_vocabulary v on v.term = s.value;

-- name: candidates
-- The best of at most so many units that hold one of the stems, roughly in that order.
select unit_id from (
    select rowid as unit_id, bm25(search_stems) as badness from search_stems
    where search_stems match :match and rowid between :first and :last
    limit :looked_at
)
order by badness, unit_id desc limit :most;

-- name: candidates_and_neighbours
-- The same as rows, with the units around the very best.
with looked_at as materialized (
    select rowid as unit_id, bm25(search_stems) as badness from search_stems
    where search_stems match :match and rowid between :first and :last
    limit :looked_at
),
best as materialized (
    select unit_id, row_number() over (order by badness, unit_id desc) as place from looked_at
    order by place limit :most
),
wanted (unit_id) as (
    select unit_id from best
    union
    select b.unit_id + s.value from best b
    cross join json_each('[-3, -2, -1, 1, 2, 3]') s
    where b.place <= :centres
)
select u.*, f.path from wanted w
cross join search_units u on u.unit_id = w.unit_id
cross join search_files f on f.file_id = u.file_id
where f.version = :version;

-- name: units
select u.*, f.path from json_each(:unit_ids) i
cross join search_units u on u.unit_id = i.value
cross join search_files f on f.file_id = u.file_id
where f.version = :version;

-- name: usage
-- The threads that were cited most, and how often.
select thread_id, usage_count from outputs
where version = :version and usage_count > 0
order by usage_count desc limit :most;
