-- By what a thread took in outside context; the row goes when a person lets it be learned from again.
create table outside_sources (
    thread_id text primary key,
    kind text not null,
    name text not null,
    at_ms integer not null
) strict, without rowid;
