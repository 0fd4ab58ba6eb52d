-- The index of ranked search: where the units of published memory stand, and which words they hold.
-- It holds no text, only stems in the order of their unit, and can be made anew from the folders.

create table search_files (
    file_id integer primary key,
    version text not null,
    path text not null,
    -- What the file looked like on the disk; empty while its units are not all here.
    stamp text not null,
    digest blob not null,
    first_unit integer not null,
    units integer not null,
    words integer not null,
    unique (version, path)
) strict;

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
    stems blob not null
) strict;

create index search_units_by_file on search_units (file_id, unit_id);

-- In full: with less detail bm25 has nothing to go by and gives 0 for every row (measured).
create virtual table search_stems using fts5 (
    stems, content = '', detail = 'full', tokenize = 'ascii'
);
create virtual table search_vocabulary using fts5vocab (search_stems, row);
