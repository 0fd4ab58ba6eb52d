-- Stems are kept as numbers of four bytes, which are compared without being unpacked, and a place in
-- the full-text index says beside its unit how long that is. The index is made anew from the folders.

drop table search_vocabulary;
drop table search_stems;
drop table search_units;
delete from search_files;
delete from meta where key = 'search_made_by';

create table search_units (
    unit_id integer primary key,
    file_id integer not null references search_files (file_id),
    begin_byte integer not null,
    end_byte integer not null,
    first_line integer not null,
    last_line integer not null,
    mark blob not null,
    headings text not null,
    at_ms integer,
    thread_ids text not null,
    cwd text not null,
    length integer not null,
    heading_stems blob not null,
    stems blob not null
) strict;

create index search_units_by_file on search_units (file_id, unit_id);

-- In full: with less detail bm25 has nothing to go by and gives 0 for every row (measured).
create virtual table search_stems using fts5 (
    stems, content = '', detail = 'full', tokenize = 'ascii'
);
create virtual table search_vocabulary using fts5vocab (search_stems, row);
