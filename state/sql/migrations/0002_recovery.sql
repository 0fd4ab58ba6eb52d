-- What recovery needs: how often a process died over a job, and up to when memory was reset.

alter table jobs add column deaths integer not null default 0;

create index jobs_suspected on jobs (version, kind) where deaths > 0 and status = 'running';

-- What was said in threads up to then is not learned again.
create table resets (
    version text primary key,
    at_ms integer not null
) strict, without rowid;
