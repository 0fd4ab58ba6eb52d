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
select heading_stems, stems from search_units order by unit_id desc limit 1;

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
select unit_id, length, heading_stems, stems from search_units
where file_id = :file_id order by unit_id limit :most;

-- name: drop_stems
insert into search_stems (search_stems, rowid, stems) values ('delete', :place, :stems);

-- name: drop_unit
delete from search_units where unit_id = :unit_id;

-- name: add_unit
insert into search_units (
    unit_id, file_id, begin_byte, end_byte, first_line, last_line, mark, headings, at_ms,
    thread_ids, cwd, length, heading_stems, stems
)
values (
    :unit_id, :file_id, :begin_byte, :end_byte, :first_line, :last_line, :mark, :headings, :at_ms,
    :thread_ids, :cwd, :length, :heading_stems, :stems
);

-- name: add_stems
insert into search_stems (rowid, stems) values (:place, :stems);

-- name: merge
-- Work through so many pages of what was deleted; a negative number begins anew.
insert into search_stems (search_stems, rank) values ('merge', :pages);

-- name: changes
select total_changes() as changes;

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
select v.term, v.doc from json_each(:words) w
cross join search_vocabulary v on v.term = w.value;

-- name: best_by_index
-- The best of at most so many places that hold one of the stems, as the full-text index orders them.
select place from (
    select rowid as place, bm25(search_stems) as badness from search_stems
    where search_stems match :match and rowid between :first and :last
    limit :most
)
order by badness, place desc limit :best;

-- name: places
-- For each expression where it holds, the newest first, as one text: a row a place costs thrice that.
select l.key as number, (
    select group_concat(p.place) from (
        select rowid - :first as place from search_stems
        where search_stems match l.value and rowid between :first and :last
        order by rowid desc limit :most
    ) p
) as places
from json_each(:expressions) l;

-- name: units_and_neighbours
-- Units, and around some of them those beside them; the columns are those of a `UnitRow`.
with wanted (unit_id) as (
    select value from json_each(:unit_ids)
    union
    select c.value + s.value from json_each(:centres) c
    cross join json_each('[-3, -2, -1, 1, 2, 3]') s
)
select
    u.begin_byte, u.end_byte, u.first_line, u.last_line, u.mark, u.headings, u.at_ms, u.thread_ids,
    u.cwd, u.heading_stems, u.stems, u.length, f.path, u.unit_id, u.file_id,
    coalesce(case
        when u.thread_ids = '' then 0
        when instr(u.thread_ids, ' ') = 0 then (
            select usage_count from outputs where version = :version and thread_id = u.thread_ids
        )
        else (
            select max(o.usage_count)
            from json_each('["' || replace(u.thread_ids, ' ', '","') || '"]') t
            cross join outputs o on o.version = :version and o.thread_id = t.value
        )
    end, 0) as used
from wanted w
cross join search_units u on u.unit_id = w.unit_id
cross join search_files f on f.file_id = u.file_id
where f.version = :version;

-- name: usage
-- How often these threads were cited, those that were.
select o.thread_id, o.usage_count from json_each(:thread_ids) t
cross join outputs o on o.version = :version and o.thread_id = t.value
where o.usage_count > 0;
